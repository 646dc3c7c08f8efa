# SPDX-License-Identifier: GPL-3.0-or-later
"""A control plane that others run: what the inventory says of it, and which runs that forbids. Pure."""

from __future__ import annotations

import typing as t

from .variables import Hostvars, Variables, backend_of, is_true


def is_managed(central: Variables) -> bool:
    """Return whether this collection runs the control plane of this central host: the shared variable `ovn_central_managed`."""
    return is_true(central, "ovn_central_managed", default=True)


def foreign_central_problem(hosts: t.Sequence[str], hostvars: Hostvars, changes: bool = False) -> str:
    """Return why a run cannot go on with these central hosts, empty if it can. `changes`: it would change the control plane, not only read it."""
    central = {host: hostvars[host] for host in hosts}
    foreign = [host for host, variables in central.items() if not is_managed(variables)]
    if not foreign:
        return ""
    if len(foreign) < len(hosts):
        ours = ", ".join(host for host in hosts if host not in foreign)
        return f"ovn_central_managed is false for {', '.join(foreign)}, but not for {ours}. Set it for all hosts of ovn_central, or for none."
    in_kubernetes = [host for host, variables in central.items() if backend_of(variables) == "kubernetes"]
    if in_kubernetes:
        return (
            f"ovn_central_managed is false for {', '.join(in_kubernetes)}, which is a Kubernetes cluster with an OVNCluster of ours (ovn_backend). "
            "To look at an OVN of others in Kubernetes, name its endpoints for a host with ansible_connection: local (docs/foreign-ovn.md)."
        )
    if changes:
        return (
            f"Others run the control plane on {', '.join(foreign)} (ovn_central_managed is false), so it is only read. Look at it with c5c3.ovn.status or "
            "c5c3.ovn.verify, connect hypervisors to it with c5c3.ovn.hypervisors. To take it over, take ovn_central_managed out of the inventory and run "
            "c5c3.ovn.adopt."
        )
    return ""
