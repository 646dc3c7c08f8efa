# SPDX-License-Identifier: GPL-3.0-or-later
"""Which pods may connect to which: one table of flows, and the NetworkPolicies that follow from it."""

from __future__ import annotations

import dataclasses
import typing as t

from .._api.names import Component, Object, selector
from .._base.databases import DATABASES, PORTS, Database
from .config import ManifestContext

_NAMESPACE = "kubernetes.io/metadata.name"  # label that the API server gives each namespace
Peer = t.Union[Component, t.Literal["anywhere"]]

_TCP: tuple[str, ...] = ("TCP",)
# Resolvers in pods listen on 5353 in some distributions. Policies see the port behind the Service.
_DNS = (53, 5353)
# The port of an API server behind its Service is unknown here: all ports.
_API: tuple[int, ...] = ()
_PODS: tuple[Component, ...] = ("northbound", "southbound", "northd", "observer")
_PROXY: Component = "leader-proxy"


@dataclasses.dataclass(frozen=True)
class Flow:
    source: Peer
    target: Peer
    ports: tuple[int, ...]  # none: all
    protocols: tuple[str, ...] = _TCP
    networks: tuple[str, ...] = ()  # where "anywhere" is; none: everywhere
    namespaces: tuple[str, ...] = ()  # besides


def flows(context: ManifestContext) -> list[Flow]:
    """Return every connection that a pod of the control plane opens or accepts."""
    table: list[Flow] = []
    for database in DATABASES:
        ports = PORTS[database]
        # Both directions: one is enough for Raft, so a rule for half of it would be noticed only when the leader changes.
        # Ports of clients: relays have theirs from there, and before a member creates a cluster, it asks all others whether there is one. northd and the
        # observer of an earlier version use the port of chassis until they have moved, and the observer looks at the certificates that relays have.
        clients = tuple(sorted(set(ports.for_clients.values())))
        table.append(Flow(database, database, (*clients, ports.raft)))
        table += [Flow(component, database, clients) for component in ("northd", "observer")]
        # Chassis and many clients of the Northbound database have the network of their node, which no selector of pods finds, and traffic
        # through a port of a node looks as if it came from there. Certificates decide which clients may connect, and networks if any are named.
        connection = context.spec.neutron_integration.sb_connection
        named = (connection.allowed_cidrs, connection.allowed_namespaces)
        by_client = (
            _of_northbound(context) if database == "northbound" else (context.spec.southbound.service.allowed_cidrs,)
        )
        table.append(Flow("anywhere", database, (ports.client,), _TCP, *by_client))
        if ports.unrestricted != ports.client and any(named):
            table.append(Flow("anywhere", database, (ports.unrestricted,), _TCP, *named))
    if context.spec.leader_proxy.enabled:
        table += _of_leader_proxy(context)
    if context.spec.metrics_port:
        table.append(Flow("anywhere", "observer", (context.spec.metrics_port,)))
    for component in _components(context):
        table.append(Flow(component, "anywhere", _DNS, ("UDP", "TCP")))
    table += [Flow(component, "anywhere", _API) for component in ("northd", "observer")]
    return table


def _of_northbound(context: ManifestContext) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return networks and namespaces of its clients: everybody, or, if networks are named, these and the pods that may connect to the port without a role."""
    networks = context.spec.northbound.service.allowed_cidrs
    return networks, context.spec.neutron_integration.sb_connection.allowed_namespaces if networks else ()


def _of_leader_proxy(context: ManifestContext) -> list[Flow]:
    """Return its connections: it lets in whom a member lets in, and whom the specification names as a client of the port without a role."""
    connection = context.spec.neutron_integration.sb_connection
    clients: dict[Database, tuple[tuple[str, ...], tuple[str, ...]]] = {
        "northbound": _of_northbound(context),
        "southbound": (connection.allowed_cidrs, connection.allowed_namespaces),
    }
    table = []
    for database, named in clients.items():
        ports = (PORTS[database].unrestricted,)
        table.append(Flow(_PROXY, database, ports))
        table.append(Flow("anywhere", _PROXY, ports, _TCP, *named))
    return table


def _components(context: ManifestContext) -> tuple[Component, ...]:
    return (*_PODS, _PROXY) if context.spec.leader_proxy.enabled else _PODS


def network_policies(context: ManifestContext) -> list[Object]:
    table = flows(context)
    return [_policy(context, component, table) for component in _components(context)]


def _policy(context: ManifestContext, component: Component, table: list[Flow]) -> Object:
    ingress = [_rule(context, "from", flow.source, flow) for flow in table if flow.target == component]
    egress = [_rule(context, "to", flow.target, flow) for flow in table if flow.source == component]
    rules = {key: value for key, value in (("ingress", ingress), ("egress", egress)) if value}
    return context.manifest(
        "networking.k8s.io/v1",
        "NetworkPolicy",
        f"{context.name}-{component}",
        component,
        spec={
            "podSelector": {"matchLabels": selector(context.name, component)},
            "policyTypes": ["Ingress", "Egress"],
            **rules,
        },
    )


def _rule(context: ManifestContext, direction: str, peer: Peer, flow: Flow) -> Object:
    ports: list[Object] = [{"port": port, "protocol": name} for port in flow.ports for name in flow.protocols]
    ports = ports or [{"protocol": name} for name in flow.protocols]
    if peer == "anywhere":
        blocks: list[Object] = [{"ipBlock": {"cidr": network}} for network in flow.networks]
        blocks += [{"namespaceSelector": {"matchLabels": {_NAMESPACE: name}}} for name in flow.namespaces]
        return {direction: blocks, "ports": ports} if blocks else {"ports": ports}
    return {direction: [{"podSelector": {"matchLabels": selector(context.name, peer)}}], "ports": ports}
