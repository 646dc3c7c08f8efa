# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: verify_again
short_description: What central hosts have to be asked again before the report
version_added: "0.1.0"
description:
  - Members are compared by what they hold at one log index. Those on several hosts are read at slightly different moments, so what is written in
    between keeps them from being compared. And the first call has little time for large databases and for a northd that connects.
  - This filter of the role P(c5c3.ovn.ovn_verify#role) says what needs another call, on all hosts at the same time.
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
  limits:
    description: How long the calls may take, C(limits) of P(c5c3.ovn.verify_desired#filter). Positional.
    type: dict
    required: true
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Show what has to be asked again
  ansible.builtin.debug:
    msg: "{{ hostvars | c5c3.ovn.verify_again(groups['ovn_central'], limits) }}"
"""

RETURN = r"""
_value:
  description: C(needed) (whether there is anything), and C(databases) (whose contents are read again).
  type: dict
  sample: {"needed": true, "databases": ["southbound"]}
"""

import typing as t

from ..module_utils._report.again import databases_to_read_again, is_northd_connecting
from ..plugin_utils._filters import as_filter


@as_filter
def verify_again(
    hostvars: t.Mapping[str, t.Mapping[str, t.Any]],
    hosts: t.Sequence[str],
    limits: t.Mapping[str, t.Mapping[str, float]],
) -> dict[str, t.Any]:
    infos = [hostvars[name].get("ovn_verify_info") or {} for name in hosts]
    first, again = limits["first"], limits["again"]
    databases = databases_to_read_again(infos, unread=again["contents"] > first["contents"])
    awaited = again["northd"] > 0 and is_northd_connecting(infos)
    return {"needed": awaited or bool(databases), "databases": databases}


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"verify_again": verify_again}
