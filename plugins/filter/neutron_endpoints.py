# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: neutron_endpoints
short_description: Where Neutron reaches the databases
version_added: "0.1.0"
description:
  - Lists the ports without a role of all members, for the role P(c5c3.ovn.ovn_neutron#role).
positional: central_hosts, given
options:
  _input:
    description: C(hostvars), or any mapping of host names to variables.
    type: dict
    required: true
  central_hosts:
    description: C(groups['ovn_central']).
    type: list
    elements: str
    required: true
  given:
    description: C(northbound_endpoints) and C(southbound_endpoints), which count if they are not empty.
    type: dict
    required: true
  tls:
    description: Whether the endpoints of machines are V(ssl:) (true) or V(tcp:).
    type: bool
    default: true
  answer:
    description: What M(c5c3.ovn.ovn_cluster_info) has returned, if the control plane runs in Kubernetes.
    type: dict
  inside:
    description: Whether Neutron runs in the same Kubernetes cluster as the control plane.
    type: bool
    default: false
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Show where Neutron reaches the Northbound database
  ansible.builtin.debug:
    msg: "{{ (hostvars | c5c3.ovn.neutron_endpoints(groups['ovn_central'], {})).northbound }}"
"""

RETURN = r"""
_value:
  description: Endpoints by database, C(northbound) and C(southbound).
  type: dict
  sample: {"northbound": ["ssl:192.0.2.11:6641"], "southbound": ["ssl:192.0.2.11:16642"]}
"""

import typing as t

from ..module_utils._roles.neutron import neutron_endpoints
from ..plugin_utils._filters import as_filter


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"neutron_endpoints": as_filter(neutron_endpoints)}
