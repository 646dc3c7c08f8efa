# SPDX-License-Identifier: GPL-3.0-or-later
"""Which machine applies the OVNChassis of those that are in the same Kubernetes cluster. Pure."""

from __future__ import annotations

import typing as t

from .options import plain
from .variables import Hostvars, Variables, first_value

RESULT = "ovn_hypervisor_resource"  # of the step hypervisor_resource


def machine_resources(hostvars: Hostvars, hosts: t.Iterable[str], host: str) -> list[dict[str, t.Any]]:
    """Return what `host` applies: all of its cluster if it is the first of its machines among `hosts`, else nothing."""
    recorded = {name: hostvars[name] for name in hosts if (hostvars[name].get(RESULT) or {}).get("chassis")}
    if host not in recorded:
        return []
    ours = _place(recorded[host])
    same = [name for name, variables in recorded.items() if _place(variables) == ours]
    return [plain(recorded[name][RESULT]["chassis"]) for name in same] if same[0] == host else []


def _place(variables: Variables) -> list[t.Any]:
    """Return the cluster and the OVNCluster in it, with the Secret that the call reads."""
    own = [
        plain(first_value(variables, f"ovn_hypervisor_{option}", f"ovn_{option}"))
        for option in ("kubeconfig", "context")
    ]
    return [*own, *(first_value(variables, option) for option in ("ovn_namespace", "ovn_cluster_name"))]
