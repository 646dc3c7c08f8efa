# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: verify_apart
short_description: Databases whose members have to be read again before they can be compared
version_added: "0.1.0"
description:
  - Members are compared by what they hold at one log index. Those on several hosts are read at slightly different moments, so what is written in
    between keeps them from being compared. This filter of the role P(c5c3.ovn.ovn_verify#role) says where that happened.
options:
  _input:
    description: C(hostvars), with the results that the entry point C(member) of the role registered.
    type: dict
    required: true
  hosts:
    description: The central hosts that were asked. Positional.
    type: list
    elements: str
    required: true
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Show what has to be read again
  ansible.builtin.debug:
    msg: "{{ hostvars | c5c3.ovn.verify_apart(groups['ovn_central']) }}"
"""

RETURN = r"""
_value:
  description: Names of the databases.
  type: list
  elements: str
  sample: ["southbound"]
"""

import typing as t

from ..module_utils._databases import DATABASES
from ..module_utils._raft.contents import compare
from ..module_utils._report.databases import contents_in, contents_results
from ..plugin_utils._filters import as_filter


@as_filter
def verify_apart(hostvars: t.Mapping[str, t.Mapping[str, t.Any]], hosts: t.Sequence[str]) -> list[str]:
    results = {name: contents_results(hostvars[name].get("ovn_verify_contents_read"), None) for name in hosts}
    return [
        database
        for database in DATABASES
        if compare(
            {
                member: contents
                for found in results.values()
                for member, contents in contents_in(found.get(database)).items()
            }
        ).apart
    ]


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"verify_apart": verify_apart}
