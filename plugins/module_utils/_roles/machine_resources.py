# SPDX-License-Identifier: GPL-3.0-or-later
"""Which machine applies the OVNChassis of those that are in the same Kubernetes cluster. Pure."""

from __future__ import annotations

import typing as t

from .options import plain
from .variables import Hostvars, Variables, first_value

FACT = "ovn_hypervisor_resource"  # what the OVNChassis of a machine should be, as ovn_chassis_resources takes it


def machine_resources(hostvars: Hostvars, hosts: t.Iterable[str], host: str) -> list[dict[str, t.Any]]:
    """Return what `host` applies: all of its cluster if it is the first of its machines among `hosts`, else nothing."""
    recorded = {name: variables for name in hosts if (variables := hostvars[name]).get(FACT)}
    if host not in recorded:
        return []
    ours = _place(recorded[host])
    same = [name for name, variables in recorded.items() if _place(variables) == ours]
    return [_given(recorded[name][FACT]) for name in same] if same[0] == host else []


def _given(declared: Variables) -> dict[str, t.Any]:
    """Return it without what is not declared, which Ansible may have made an empty text of. An empty list is declared."""
    return {key: value for key, value in plain(declared).items() if value is not None and value != ""}


def _place(variables: Variables) -> list[t.Any]:
    """Return the cluster and the OVNCluster in it, with the Secret that the call reads."""
    own = [
        plain(first_value(variables, f"ovn_hypervisor_{option}", f"ovn_{option}"))
        for option in ("kubeconfig", "context")
    ]
    return [*own, *(first_value(variables, option) for option in ("ovn_namespace", "ovn_cluster_name"))]
