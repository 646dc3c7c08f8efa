# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: neutron_helm_problem
short_description: Why clusters cannot share a file with overrides for Helm
version_added: "0.1.0"
description:
  - Says whether another host would write the file on the control node that the role P(c5c3.ovn.ovn_neutron#role) writes for this one.
positional: hosts, host, path
options:
  _input:
    description: C(hostvars), or any mapping of host names to variables.
    type: dict
    required: true
  hosts:
    description: C(groups['ovn_controllers']).
    type: list
    elements: str
    required: true
  host:
    description: Name of this host.
    type: str
    required: true
  path:
    description: The file, empty for none.
    type: str
    required: true
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Check that each cluster has overrides of its own
  ansible.builtin.assert:
    that: problem == ''
    fail_msg: "{{ problem }}"
  vars:
    problem: "{{ hostvars | c5c3.ovn.neutron_helm_problem(groups['ovn_controllers'], inventory_hostname, ovn_neutron_helm_file) }}"
"""

RETURN = r"""
_value:
  description: What is wrong and what to do; empty if nothing is wrong.
  type: str
  sample: ""
"""

import typing as t

from ..module_utils._roles.neutron_helm import helm_problem
from ..plugin_utils._filters import as_filter


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"neutron_helm_problem": as_filter(helm_problem)}
