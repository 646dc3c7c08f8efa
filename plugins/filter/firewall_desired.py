# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: firewall_desired
short_description: The ports of a machine and who may send to them, from the inventory
version_added: "0.1.0"
description:
  - Computes for P(c5c3.ovn.ovn_central#role) and P(c5c3.ovn.ovn_hypervisor#role) the firewall of a machine, for both of its roles at once.
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
  role:
    description: The role that asks. On a central host V(ovn_hypervisor) only lets sources in; table and unit are those of V(ovn_central) there.
    type: str
    choices: [ovn_central, ovn_hypervisor]
    default: ovn_central
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Show who may connect to which port of this host
  ansible.builtin.debug:
    msg: "{{ (hostvars | c5c3.ovn.firewall_desired(groups, inventory_hostname, {'ovn_firewall': 'managed'})).options }}"
"""

RETURN = r"""
_value:
  description:
    - C(options) are those of M(c5c3.ovn.ovn_firewall), C(unit_files) and C(units) those of M(c5c3.ovn.ovn_units).
    - C(printed) are the ports of a role whose rules are only to be shown, C(packages) what the machine needs.
  type: dict
  sample:
    options:
      state: present
      ports: [{"protocol": "tcp", "port": 6643, "sources": ["192.0.2.11", "192.0.2.12"]}]
      purge: true
      keep_for: {"files": [], "units": []}
    unit_files: [{"path": "/etc/systemd/system/c5c3-ovn-firewall.service", "content": "[Unit] ..."}]
    units: [{"name": "c5c3-ovn-firewall.service", "enabled": true, "state": "started"}]
    printed: []
    packages: [nftables]
"""

import typing as t

from ..module_utils._roles.firewall import desired_firewall
from ..plugin_utils._filters import as_filter


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"firewall_desired": as_filter(desired_firewall)}
