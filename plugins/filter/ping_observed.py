# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: ping_observed
short_description: Guests and reports of all hosts in the connectivity test
version_added: "0.1.0"
description:
  - Collects what the role P(c5c3.ovn.ovn_ping#role) has registered on each host.
options:
  _input:
    description: C(hostvars). The facts C(ovn_ping_guests) and C(ovn_ping_result) are read.
    type: dict
    required: true
  hosts:
    description: The hosts, usually C(ansible_play_hosts). Positional.
    type: list
    elements: str
    required: true
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Show the report
  ansible.builtin.debug:
    msg: "{{ (hostvars | c5c3.ovn.ping_observed(ansible_play_hosts)).report }}"
"""

RETURN = r"""
_value:
  description: The C(guests) of all hosts, and the lines of the C(report).
  type: dict
  sample: {"guests": [], "report": ["compute1 -> compute2: 5 of 5 answers"]}
"""

import typing as t

from ..module_utils._roles.ping import collect
from ..plugin_utils._filters import as_filter


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"ping_observed": as_filter(collect)}
