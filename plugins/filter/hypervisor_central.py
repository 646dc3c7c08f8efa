# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: hypervisor_central
short_description: What a hypervisor has to know of the control plane
version_added: "0.1.0"
description:
  - Finds out for the role P(c5c3.ovn.ovn_hypervisor#role) where the control plane runs, its endpoints, and whether they can be reached.
options:
  _input:
    description: C(hostvars), or any mapping of host names to variables.
    type: dict
    required: true
  given:
    description:
      - The role's options without their prefix - C(backend), C(central_host), C(tls), C(kubeconfig) and C(context). Also C(host), C(central_hosts)
        (C(groups['ovn_central'])), C(ovn_southbound_rbac), C(ovn_southbound_endpoints), C(ovn_northbound_endpoints) and C(answer), the result of
        M(c5c3.ovn.ovn_cluster_info) if it was asked. Positional.
    type: dict
    required: true
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Show the endpoints of the Southbound database
  ansible.builtin.debug:
    msg: "{{ (hostvars | c5c3.ovn.hypervisor_central(_ovn_hypervisor_given)).southbound }}"
"""

RETURN = r"""
_value:
  description:
    - C(is_cluster) says whether the control plane runs in Kubernetes, C(asked) whether its cluster says where the databases are, C(published) whether the
      role C(ovn_central) has already read that in this run, as the fact C(ovn_central_endpoints).
    - C(northbound) and C(southbound) are endpoints. Those of a control plane in Kubernetes come from its answer and are empty before.
    - C(northbound_socket) and C(southbound_socket) are the endpoints of the members on the central host itself, empty in Kubernetes.
    - C(problem) says why the answer is of no use and what to do, empty if it is.
  type: dict
  sample:
    is_cluster: false
    asked: false
    published: false
    northbound: ["ssl:192.0.2.11:6641"]
    southbound: ["ssl:192.0.2.11:6642"]
    northbound_socket: unix:/run/ovn/ovnnb_db.sock
    southbound_socket: unix:/run/ovn/ovnsb_db.sock
    problem: ""
"""

import typing as t

from ..module_utils._roles.hypervisor import find_control_plane
from ..plugin_utils._filters import as_filter


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"hypervisor_central": as_filter(find_control_plane)}
