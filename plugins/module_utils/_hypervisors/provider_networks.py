# SPDX-License-Identifier: GPL-3.0-or-later
"""Nodes whose desired state lets no packet out to a provider network: neither OVN nor Neutron says so. Pure."""

from __future__ import annotations

import typing as t

from .._api.chassis_settings import Settings
from .._base.sentences import list_names
from .nodes import BRIDGE_MAPPINGS, GATEWAY
from .settings import Chassis

if t.TYPE_CHECKING:
    from .._api.spec import ClusterSpec


def network_warnings(spec: ClusterSpec, default: Settings, chassis: t.Iterable[Chassis]) -> list[str]:
    """Return a message for the gateways without a bridge mapping, and one for the nodes of each set of bridges without a declared port."""
    is_host = spec.ovs.mode == "host"  # bridges and their ports are up to the owner of that Open vSwitch
    unmapped: list[str] = []
    without_port: dict[str, list[str]] = {}
    for one in chassis:
        if one.own.get("gateway", default.get("gateway")) and not one.bridge_mappings:
            unmapped.append(one.node.name)
        bridges = [] if is_host else _bridges_without_port(spec, default, one)
        if bridges:
            without_port.setdefault(", ".join(bridges), []).append(one.node.name)
    found = []
    if unmapped:
        unless = ", unless somebody else sets ovn-bridge-mappings there" if is_host else ""
        found.append(
            f"Gateways without a bridge mapping: nodes {list_names(unmapped)} (spec.gateway.nodeSelector, or annotation {GATEWAY}). Routers that are scheduled "
            f"there reach no provider network. Set spec.bridgeMappings or the annotation {BRIDGE_MAPPINGS}{unless}, or let them be no gateways."
        )
    found += [
        f"Bridges without a declared port on nodes {list_names(nodes)}: {bridges}. Unless somebody else adds one there (a bond, DPDK), what is sent to these "
        f"provider networks stays on the node. Name the port in spec.bridgeMappings (ports), or in the annotation {BRIDGE_MAPPINGS} (physnet1:br-ex:eth1). "
        "The chassis agent knows what is on the bridge: see its log (kubectl logs PODNAME -c agent)."
        for bridges, nodes in without_port.items()
    ]
    return found


def _bridges_without_port(spec: ClusterSpec, default: Settings, one: Chassis) -> list[str]:
    """Return the bridges of its mappings with no declared port, each with its network. Ports are devices: a bond or a DPDK port others add."""
    declared = one.own.get("bridges", default.get("bridges")) or []
    with_ports = {bridge.get("name") for bridge in declared if bridge.get("ports")}
    with_ports |= {mapping["bridge"] for mapping in one.bridge_mappings if mapping.get("ports")}
    if spec.ovs.underlay:
        with_ports.add(spec.ovs.underlay.bridge)
    return [
        f"{mapping['bridge']} ({mapping['physical_network']})"
        for mapping in one.bridge_mappings
        if mapping["bridge"] not in with_ports
    ]
