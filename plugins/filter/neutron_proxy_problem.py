# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: neutron_proxy_problem
short_description: Why the leader proxy of a Neutron has to stay where it is
version_added: "0.1.0"
description:
  - Says whether a run of the role P(c5c3.ovn.ovn_neutron#role) would take the leader proxy away from a Neutron that nobody restarts.
positional: given, desired
options:
  _input:
    description: Text of the unit file of the proxy, empty without one.
    type: str
    required: true
  given:
    description: The role's options without their prefix, and C(host).
    type: dict
    required: true
  desired:
    description: The value of P(c5c3.ovn.neutron_desired#filter).
    type: dict
    required: true
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Check that Neutron keeps its databases
  ansible.builtin.assert:
    that: problem == ''
    fail_msg: "{{ problem }}"
  vars:
    problem: "{{ unit | c5c3.ovn.neutron_proxy_problem(_ovn_neutron_given, _ovn_neutron_desired) }}"
"""

RETURN = r"""
_value:
  description: What is wrong and what to do; empty if nothing is wrong.
  type: str
  sample: ""
"""

import typing as t

from ..module_utils._roles.neutron_proxy import proxy_problem
from ..plugin_utils._filters import as_filter


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"neutron_proxy_problem": as_filter(proxy_problem)}
