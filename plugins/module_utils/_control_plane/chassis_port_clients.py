# SPDX-License-Identifier: GPL-3.0-or-later
"""Who uses the port of chassis before the first relays take it over: clients that are no chassis, as Neutron, need the port without a role then, and it is open
to those alone whom the specification names.
"""

from __future__ import annotations

import ipaddress
import typing as t

from .._base.databases import DATABASE_NAMES, PORTS
from .._base.deadline import Deadline
from .._base.errors import OvnError, Refused, Unreachable
from .._chassis.southbound_rows import IDENTITY
from .._kubernetes.client import Cluster
from .._kubernetes.rollout_progress import CONTAINER, has_relay
from .._machine.connections import Address, EstablishedConnection, find_strangers, parse_connections
from .._machine.ruleset import PortFilter
from .._ovsdb.rows import select
from .database_pods import DatabasePods
from .desired import DesiredCluster
from .observed_state import ObservedCluster

_SECONDS = 30.0
_NEUTRON = "Name the namespaces of Neutron's pods in neutronIntegration.sbConnection.allowedNamespaces of OVNCluster {name}, or its networks in allowedCidrs"
_PORTS = (
    f"Relays take over port {PORTS['southbound'].client} of the Southbound, for chassis. "
    f"Other clients, as Neutron, need port {PORTS['southbound'].unrestricted}"
)


def check_clients(
    cluster: Cluster, desired: DesiredCluster, observed: ObservedCluster, warn: t.Callable[[str], object]
) -> None:
    """Raise `Refused` before the first relays if clients are connected for which the specification does not name a way in, and warn if they are not known."""
    there = observed.known_stateful_set("southbound")
    if not desired.spec.tls.enabled or there is None or has_relay(there["spec"]["template"]) or names_clients(desired):
        return
    try:
        found = unknown_clients(*_connections(cluster, desired))
    except OvnError as e:
        warn(f"{unnamed(desired.name)} Who is connected now is not known: {e}")
        return
    if found:
        raise Refused(refusal(desired.name, found))
    warn(unnamed(desired.name))


def names_clients(desired: DesiredCluster) -> bool:
    """Return whether the user has said who may use the port without a role, be it nobody."""
    connection = (desired.raw.get("neutronIntegration") or {}).get("sbConnection") or {}
    return not {"allowedNamespaces", "allowedCidrs"}.isdisjoint(connection)


def unknown_clients(connections: t.Iterable[EstablishedConnection], known: t.Iterable[str]) -> list[str]:
    """Return the addresses that are connected to the port of chassis, without the known ones."""
    addresses = {address for text in known if (address := _address(text))}
    networks = tuple(ipaddress.ip_network(address) for address in addresses)
    port = PortFilter("tcp", PORTS["southbound"].client, networks)
    return list(dict.fromkeys(address for _port, address in find_strangers([port], connections)))


def unnamed(name: str) -> str:
    """Return what happens where the specification names nobody."""
    return f"{_PORTS}, and nobody but pods of the control plane reaches it. {_NEUTRON.format(name=name)}."


def refusal(name: str, clients: t.Sequence[str]) -> str:
    more = f" and {len(clients) - 10} more" if len(clients) > 10 else ""
    return (
        f"{_PORTS}, and it is open to nobody but pods of the control plane: {', '.join(clients[:10])}{more} would be cut off, whose addresses are none of a "
        f"tunnel, a node or a pod of the control plane. {_NEUTRON.format(name=name)}; an empty list if all of them are chassis. Nothing was changed."
    )


def _connections(cluster: Cluster, desired: DesiredCluster) -> tuple[list[EstablishedConnection], list[str]]:
    """Return the connections of all Southbound members, and the addresses of chassis, nodes and pods of the control plane."""
    namespace, name = desired.namespace, desired.name
    southbound = DatabasePods(cluster, namespace, name, "southbound")
    connections: list[EstablishedConnection] = []
    for pod in southbound.pods:
        # Without IPv6 there is no second file, and the command fails after it has shown the first one.
        result = cluster.exec(namespace, pod, CONTAINER, ["cat", "/proc/net/tcp", "/proc/net/tcp6"])
        if not result.stdout:
            raise Unreachable(f"Pod {pod} does not show its connections: {result.stderr.strip()[-500:]}")
        connections += parse_connections(result.stdout)
    database = DATABASE_NAMES["southbound"]
    tables = southbound.ask(lambda server: select(server, database, {"Encap": IDENTITY["Encap"]}), Deadline(_SECONDS))
    known = [str(row["ip"]) for row in tables["Encap"]]
    for ours in cluster.list("v1", "Pod", namespace, labels=f"app.kubernetes.io/instance={name}"):
        known += [one.get("ip", "") for one in (ours.get("status") or {}).get("podIPs") or ()]
    try:
        nodes = cluster.list("v1", "Node")
    except Refused:  # then chassis are known by their tunnels alone
        nodes = []
    for node in nodes:
        known += [one.get("address", "") for one in (node.get("status") or {}).get("addresses") or ()]
    return connections, known


def _address(text: str) -> Address | None:
    """Return the address; None for what is none: nodes have names besides, and chassis write what they like."""
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None
