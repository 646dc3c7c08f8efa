# SPDX-License-Identifier: GPL-3.0-or-later
"""Where clients reach the members of a database, inside the Kubernetes cluster and outside. Pure."""

from __future__ import annotations

import ipaddress
import typing as t

from .._base.databases import DATABASES, PORTS, Database
from .names import Object, member_host, member_name
from .outside_addresses import addresses_of_node, host_of_pod, split_endpoint

if t.TYPE_CHECKING:
    from .database_spec import Service
    from .spec import ClusterSpec


# `client` is the port of chassis, where they may have a role; the Northbound database has one port for all.
ClientListener = t.Literal["client", "unrestricted"]


def inside_endpoints(
    database: Database,
    members: int,
    *,
    name: str,
    namespace: str,
    cluster_domain: str,
    tls: bool,
    listener: ClientListener = "client",
) -> list[str]:
    """Return the endpoints of the first `members` members for clients in the same Kubernetes cluster."""
    hosts = (
        member_host(name, database, index, namespace=namespace, cluster_domain=cluster_domain)
        for index in range(members)
    )
    port = PORTS[database].client if listener == "client" else PORTS[database].unrestricted
    return [f"{'ssl' if tls else 'tcp'}:{host}:{port}" for host in hosts]


def service_endpoint(spec: ClusterSpec, database: Database, cluster_domain: str) -> str:
    """Return the endpoint of the Service in front of all members, without a role. The name is full: OVS resolves names itself and ignores search domains."""
    service = spec.neutron_integration.service(database)
    scheme = "ssl" if spec.tls.enabled else "tcp"
    return f"{scheme}:{service.name}.{spec.namespace}.svc.{cluster_domain}:{service.port}"


def cluster_ip_endpoints(
    spec: ClusterSpec, services: t.Iterable[Object], database: Database, listener: ClientListener = "client"
) -> list[str]:
    """Return the endpoints of all members at the addresses of their Services; none if a Service lacks its address or this port.

    For clients inside that cannot resolve names. The Service of a member that is exposed for chassis alone has no port without a role.
    """
    by_name = {service["metadata"]["name"]: service for service in services}
    port_name = listener if listener in PORTS[database].for_clients else "client"
    members = range(spec.database(database).replicas)
    found = [
        _at_cluster_ip(spec, by_name.get(member_name(spec.name, database, index), {}), port_name) for index in members
    ]
    return found if all(found) else []


def proxy_endpoints(spec: ClusterSpec, service: Object) -> dict[Database, str]:
    """Return the endpoints of the leader proxy at the address of its Service, empty texts if that has none."""
    return {database: _at_cluster_ip(spec, service, database) for database in DATABASES}


def _at_cluster_ip(spec: ClusterSpec, service: Object, port_name: str) -> str:
    host, port = (service.get("spec") or {}).get("clusterIP") or "", _port_named(service, port_name)
    if host in ("", "None") or port is None:
        return ""
    return f"{'ssl' if spec.tls.enabled else 'tcp'}:{f'[{host}]' if ':' in host else host}:{port['port']}"


def outside_endpoints(
    spec: ClusterSpec,
    services: t.Iterable[Object],
    nodes: t.Iterable[Object],
    pods: t.Mapping[str, Object] | None = None,
    before: t.Mapping[str, str] | None = None,
    listener: ClientListener = "client",
) -> dict[Database, list[str]]:
    """Return the endpoints of each member for clients outside the Kubernetes cluster, from Services and Nodes; none for a database that is not exposed.

    Each member is reached through the node that carries its pod, so that a dead node costs one address where it costs one member. Between two
    pods it keeps the address that it had `before` (each database to its endpoints). A declared name counts in place of an address. A member whose
    Service has no such port or no address yet is left out, so a list that is shorter than the number of members is not complete.
    """
    by_name = {service["metadata"]["name"]: service for service in services}
    result: dict[Database, list[str]] = {}
    nodes = _by_usefulness(nodes)
    for database in DATABASES:
        settings = spec.database(database)
        port_name = listener if listener in PORTS[database].for_clients else "client"
        result[database] = []
        ports = _NodePorts(nodes, pods or {}, (before or {}).get(database, ""))
        ports.reserve(member_name(spec.name, database, index) for index in range(settings.replicas))
        for index in range(settings.replicas):
            service = by_name.get(member_name(spec.name, database, index), {})
            place: tuple[str, int] | None
            if index < len(settings.service.hostnames):
                place = _named(service, port_name, settings.service, index)
            elif settings.service.type == "LoadBalancer":
                place = _of_load_balancer(service, port_name)
            elif settings.service.type == "NodePort":
                place = ports.place(service, port_name, member_name(spec.name, database, index), index)
            else:
                place = None
            if place:
                host, port = place
                host = f"[{host}]" if ":" in host else host
                result[database].append(f"{'ssl' if spec.tls.enabled else 'tcp'}:{host}:{port}")
    return result


def _by_usefulness(nodes: t.Iterable[Object]) -> list[Object]:
    """Return ready nodes first; among them the oldest first, so that a new node does not change the addresses that clients have."""

    def key(node: Object) -> tuple[bool, str, str]:
        return not _is_ready(node), str(node["metadata"].get("creationTimestamp") or ""), node["metadata"]["name"]

    return sorted(nodes, key=key)


def _named(service: Object, port_name: str, settings: Service, index: int) -> tuple[str, int] | None:
    """Return the declared name of a member with the port of its Service, also before a load balancer has an address: who declares it knows what it leads to."""
    port = (_port_named(service, port_name) or {}).get("port" if settings.type == "LoadBalancer" else "nodePort")
    return (settings.hostnames[index], port) if port else None


def _of_load_balancer(service: Object, port_name: str) -> tuple[str, int] | None:
    host, port = balancer_host(service), _port_named(service, port_name)
    return (host, port["port"]) if host and port else None


def balancer_host(service: Object) -> str:
    """Return the address or name that a load balancer has given the Service; empty without one. An entry may have neither."""
    entries = ((service.get("status") or {}).get("loadBalancer") or {}).get("ingress") or ()
    return next(filter(None, (one.get("ip") or one.get("hostname") or "" for one in entries)), "")


def _port_named(service: Object, name: str) -> Object | None:
    return next((one for one in (service.get("spec") or {}).get("ports") or () if one.get("name") == name), None)


class _NodePorts:
    """Through which node each member of one database is reached."""

    def __init__(self, nodes: list[Object], pods: t.Mapping[str, Object], before: str) -> None:
        self.nodes = nodes
        self.pods = pods
        self.homes = {name: str(pod["spec"].get("nodeName") or "") for name, pod in pods.items()}
        ready = [node for node in nodes if _is_ready(node)]
        self.usable = ready or nodes
        known = [split_endpoint(endpoint) for endpoint in before.split(",") if endpoint]
        self.before = {port: host for _scheme, host, port in known}
        self.taken: set[str] = set()  # names of nodes

    def reserve(self, members: t.Iterable[str]) -> None:
        self.taken = {self.homes[member] for member in members if self.homes.get(member)}

    def place(self, service: Object, port_name: str, member: str, index: int) -> tuple[str, int] | None:
        spec = service.get("spec") or {}
        port = (_port_named(service, port_name) or {}).get("nodePort")
        family = 6 if (spec.get("ipFamilies") or ["IPv4"])[0] == "IPv6" else 4
        addresses = {node["metadata"]["name"]: _internal_address(node, family) for node in self.nodes}
        host = host_of_pod(self.pods.get(member), ipv6=family == 6) or addresses.get(self.homes.get(member, ""))
        if host is None and (known := self.before.get(str(port))) in addresses.values():
            host = known
        return (host or self._spread(addresses, index), port) if port and any(addresses.values()) else None

    def _spread(self, addresses: t.Mapping[str, str | None], index: int) -> str:
        """Return the node for a member without one: another node than those of the others, as far as there are enough."""
        names = [name for node in self.usable if addresses[(name := node["metadata"]["name"])]]
        names = names or [name for name, address in addresses.items() if address]
        first = names[index % len(names)]
        name = next((one for one in [first, *names] if one not in self.taken), first)
        self.taken.add(name)
        return t.cast(str, addresses[name])


def _is_ready(node: Object) -> bool:
    conditions = (node.get("status") or {}).get("conditions") or []
    return any(c.get("type") == "Ready" and c.get("status") == "True" for c in conditions)


def _internal_address(node: Object, family: int) -> str | None:
    return next(
        (a for a in addresses_of_node(node).get("InternalIP", ()) if ipaddress.ip_address(a).version == family), None
    )
