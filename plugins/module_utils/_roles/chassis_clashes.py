# SPDX-License-Identifier: GPL-3.0-or-later
"""Machines whose chassis would have the name or an address of another one, in the inventory or in the Southbound database. Pure."""

from __future__ import annotations

import typing as t
from types import MappingProxyType

from .._base.inventory import as_list, system_id_of, tunnel_ends_of
from .._chassis.registration import LocalChassis, Rows, registered_clash
from .cluster_source import encapsulation_types_of
from .variables import Hostvars, Variables, backend_of, first_value, is_true


def chassis_clashes(
    hostvars: Hostvars, hosts: t.Iterable[str], name_problem: t.Callable[[str], str] = lambda name: ""
) -> list[str]:
    """Return a sentence for each name or address that several machines have, and for each machine that cannot have an OVNChassis by its name.

    `name_problem` says why a machine of a name cannot have one.
    """
    owners: dict[str, list[str]] = {}
    others: list[str] = []
    for host in hosts:
        variables = hostvars[host]
        if first_value(variables, "ovn_hypervisor_state", default="present") != "present":
            continue
        if backend_of(variables) == "kubernetes":  # a whole cluster: the nodes have the names and addresses
            continue
        owners.setdefault(f"system id {system_id_of(host, variables)}", []).append(host)
        for address in tunnel_ends_of(host, variables):
            owners.setdefault(f"encapsulation address {address}", []).append(host)
        if is_true(variables, "ovn_hypervisor_resource"):
            others += [problem.rstrip(".")] if (problem := name_problem(host)) else []
    clashes = [f"{', '.join(names)} have the same {thing}" for thing, names in sorted(owners.items()) if len(names) > 1]
    return clashes + others


def registered_problem(host: str, variables: Variables, registered: Rows = MappingProxyType({})) -> str:
    """Return which registered chassis has the name or an address of this machine, empty if none has."""
    ends = tunnel_ends_of(host, variables)
    tunnels = frozenset((kind, ip) for kind in encapsulation_types_of(variables) for ip in ends)
    local = LocalChassis(system_id_of(host, variables), str(first_value(variables, "ovn_hypervisor_hostname")), tunnels)
    permit = as_list(first_value(variables, "ovn_hypervisor_permit"))
    clash = registered_clash(local, registered, allow_takeover="takeover" in permit)
    return f"{clash.rstrip('.')}. Nothing was changed." if clash else ""
