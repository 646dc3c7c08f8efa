# SPDX-License-Identifier: GPL-3.0-or-later
"""OVNChassis of machines: which machine applies those that are in the same Kubernetes cluster, and how. Pure."""

from __future__ import annotations

import dataclasses
import typing as t

from .cluster_source import FACT
from .option_types import plain
from .variables import Groups, Hostvars, Variables, first_value, members_of

CHECK, CHASSIS = "ovn_hypervisor_check", "ovn_hypervisor_chassis"  # what the steps of these names have returned


@dataclasses.dataclass(frozen=True)
class ResourceOptions:
    """Options of the role and shared variables that say to which OVNCluster the chassis of a machine belongs."""

    kubeconfig: t.Any
    context: str
    tls: bool
    tls_secret: str | None
    cluster_name: str
    namespace: str
    force_conflicts: bool


def machine_resources(hostvars: Hostvars, hosts: t.Iterable[str], host: str) -> list[dict[str, t.Any]]:
    """Return what `host` applies: all of its cluster if it is the first of its machines among `hosts`, else nothing."""
    recorded = {name: hostvars[name] for name in hosts if (hostvars[name].get(CHECK) or {}).get("resource")}
    if host not in recorded:
        return []
    ours = _place(recorded[host])
    same = [name for name, variables in recorded.items() if _place(variables) == ours]
    return [_resource(recorded[name]) for name in same] if same[0] == host else []


def _resource(variables: Variables) -> dict[str, t.Any]:
    """Return what the check has resolved, with the name that Open vSwitch has recorded since if none is declared."""
    resource = plain(variables[CHECK]["resource"])
    hostname = (variables.get(CHASSIS) or {}).get("hostname")
    return {**({"hostname": hostname} if hostname else {}), **resource}


def _place(variables: Variables) -> list[t.Any]:
    """Return the cluster and the OVNCluster in it, with the Secret that the call reads."""
    place = ("ovn_kubeconfig", "ovn_context", "ovn_namespace", "ovn_cluster_name")
    return [plain(first_value(variables, option)) for option in place]


def heartbeat_interval(host: str, variables: Variables, hostvars: Hostvars, groups: Groups) -> t.Any:
    """Return the seconds between heartbeats: what the OVNCluster says, be it read in this run or declared, else the central hosts."""
    central = hostvars[next(iter(members_of(groups, "ovn_central")), host)]
    spec = first_value(variables, FACT, default={}).get("spec") or first_value(central, "ovn_cluster_spec", default={})
    return spec.get("heartbeatInterval") or first_value(central, "ovn_central_heartbeat_interval", default=60)
