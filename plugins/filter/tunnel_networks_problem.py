# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: tunnel_networks_problem
short_description: Which hypervisors the networks of tunnels leave out
version_added: "0.1.0"
description:
  - Tells the role P(c5c3.ovn.ovn_hypervisor#role) which machines of the group C(ovn_hypervisors) have tunnels that end outside of
    O(c5c3.ovn.ovn_hypervisor#role:main:ovn_hypervisor_tunnel_networks). The others would drop their packets.
options:
  _input:
    description: C(hostvars), or any mapping of host names to variables.
    type: dict
    required: true
  groups:
    description: C(groups), or any mapping of group names to host names. Positional.
    type: dict
    required: true
  host:
    description: The machine. Positional.
    type: str
    required: true
  given:
    description: Options of the role that count more than the variables of the host, with their prefix. Positional.
    type: dict
    default: {}
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Check the networks of tunnels
  ansible.builtin.assert:
    that: (hostvars | c5c3.ovn.tunnel_networks_problem(groups, inventory_hostname)) | length == 0
  run_once: true
"""

RETURN = r"""
_value:
  description: The machines with their addresses and what to do, empty if there is none.
  type: str
"""

import typing as t

from ..module_utils._roles.firewall import tunnel_networks_problem
from ..plugin_utils._filters import as_filter


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"tunnel_networks_problem": as_filter(tunnel_networks_problem)}
