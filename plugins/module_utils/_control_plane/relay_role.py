# SPDX-License-Identifier: GPL-3.0-or-later
"""What it means for chassis when the relays give them a role, or take it away: the inventory may decide it by a hypervisor cluster that comes or goes. Pure."""

from __future__ import annotations

import typing as t

from .desired import DesiredCluster


def role_change(before: t.Mapping[str, t.Any] | None, desired: DesiredCluster) -> str:
    """Return what changes for chassis with the role of the relays, empty if nothing does. `before` is the specification until now, None without one."""
    if before is None:
        return ""
    had = bool((before.get("relay") or {}).get("rbac")) and (before.get("tls") or {}).get("enabled", True)
    has = desired.spec.relay.rbac and desired.spec.tls.enabled
    if has and not had:
        return (
            f"relay.rbac of OVNCluster {desired.name}: chassis get the role ovn-controller. Each writes what is its own, by the name in its certificate, which "
            "has to be its system id; with another one it writes nothing. Look with c5c3.ovn.verify whether all of them are alive."
        )
    if had and not has:
        return (
            f"relay.rbac of OVNCluster {desired.name}: chassis lose the role ovn-controller, also those on machines. Whoever owns one can write all of the "
            "Southbound. If it is for nodes that share a certificate, set ovn_node_certificates to own."
        )
    return ""
