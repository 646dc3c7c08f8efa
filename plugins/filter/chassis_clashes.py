# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: chassis_clashes
short_description: Hypervisors that would fight for a chassis name or a tunnel address
version_added: "0.1.0"
description:
  - Two hosts with one system id move its ports to and fro for ever, two with one encapsulation address crash newer versions of ovn-controller.
  - The Southbound database shows such a clash only when the first of them is registered. In the inventory it can be seen before.
options:
  _input:
    description: C(hostvars), or any mapping of host names to variables.
    type: dict
    required: true
  hosts:
    description:
      - The hosts, usually C(groups['ovn_hypervisors']). Those that are declared C(absent) or C(gone) do not count, nor do Kubernetes clusters. Positional.
    type: list
    elements: str
    required: true
  registered:
    description:
      - Rows of the tables C(Chassis) and C(Encap) of the Southbound database, as RV(c5c3.ovn.ovn_database_info#module:tables). Each of O(hosts) that is no
        chassis yet is compared with them.
    type: dict
    default: {}
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Refuse clashes
  ansible.builtin.assert:
    that: hostvars | c5c3.ovn.chassis_clashes(groups['ovn_hypervisors']) | length == 0
"""

RETURN = r"""
_value:
  description:
    - One sentence for each name or address that more than one host has, for each host whose name or address another registered chassis has, and for each
      machine that cannot have an C(OVNChassis) by its name.
  type: list
  elements: str
  sample: ["compute1, compute2 have the same encapsulation address 192.0.2.21"]
"""

import typing as t
from types import MappingProxyType

from ..module_utils._base.inventory import system_id_of, tunnel_ends_of
from ..module_utils._chassis.registration import LocalChassis, Rows, registered_clash
from ..module_utils._hypervisors.machine_names import name_problem
from ..module_utils._roles.cluster_source import encapsulation_types_of
from ..module_utils._roles.variables import Hostvars, Variables, backend_of, first_value, is_true


def chassis_clashes(hostvars: Hostvars, hosts: t.Iterable[str], registered: Rows = MappingProxyType({})) -> list[str]:
    owners: dict[str, list[str]] = {}
    others: list[str] = []
    for host in hosts:
        variables = hostvars[host]
        if variables.get("ovn_hypervisor_state", "present") != "present":
            continue
        if backend_of(variables) == "kubernetes":  # a whole cluster: the nodes have the names and addresses
            continue
        owners.setdefault(f"system id {system_id_of(host, variables)}", []).append(host)
        for address in tunnel_ends_of(host, variables):
            owners.setdefault(f"encapsulation address {address}", []).append(host)
        if variables.get("ovn_hypervisor_kubeconfig") or variables.get("ovn_hypervisor_context"):
            others += [problem.rstrip(".")] if (problem := name_problem(host)) else []
        clash = _registered_clash(host, variables, registered)
        others += [clash.rstrip(".")] if clash else []
    clashes = [f"{', '.join(names)} have the same {thing}" for thing, names in sorted(owners.items()) if len(names) > 1]
    return clashes + others


def _registered_clash(host: str, variables: Variables, registered: Rows) -> str:
    ends = tunnel_ends_of(host, variables)
    tunnels = frozenset((kind, ip) for kind in encapsulation_types_of(variables) for ip in ends)
    local = LocalChassis(system_id_of(host, variables), str(first_value(variables, "ovn_hypervisor_hostname")), tunnels)
    takeover = is_true(variables, "ovn_hypervisor_allow_takeover")
    return registered_clash(local, registered, allow_takeover=takeover)


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"chassis_clashes": chassis_clashes}
