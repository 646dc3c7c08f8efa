# SPDX-License-Identifier: GPL-3.0-or-later
"""Where clients reach the databases: computed from the Services and Nodes each time. The status has what a run has published, which decides about the leader
proxy, and about members between two pods.
"""

from __future__ import annotations

import dataclasses
import typing as t

from .._api.endpoints import (
    ClientListener,
    balancer_host,
    cluster_ip_endpoints,
    inside_endpoints,
    outside_endpoints,
    service_endpoint,
)
from .._api.names import CLUSTER_IPS_STATUS, PROXY_STATUS, SERVICE_STATUS, UNRESTRICTED_STATUS, Object, member_name
from .._api.spec import ClusterSpec
from .._base.databases import DATABASES, Database
from .._base.errors import Refused
from .._kubernetes.client import Cluster
from .leader_proxy import publishable_endpoints, published_endpoints


@dataclasses.dataclass(frozen=True)
class Endpoints:
    """Comma-separated endpoints of all members, `ssl:HOST:PORT`. Where no Service is exposed, those for clients outside are those inside.

    Chassis connect to `southbound`, where they may have a role; `southbound_unrestricted` is for clients like Neutron. It is empty if members are exposed for
    chassis alone. `service_northbound` and `service_southbound` are one name for all ready members, for clients inside that cannot take a list.

    Clients inside that cannot resolve names take `…_cluster_ips`, which are empty until each member has one, or the leader proxy of their node, if it is
    published: `leader_proxy_northbound` and `leader_proxy_southbound`, one address each.
    """

    northbound: str = ""
    southbound: str = ""
    southbound_unrestricted: str = ""
    northbound_inside: str = ""
    southbound_inside: str = ""
    southbound_unrestricted_inside: str = ""
    service_northbound: str = ""
    service_southbound: str = ""
    northbound_cluster_ips: str = ""
    southbound_unrestricted_cluster_ips: str = ""
    leader_proxy_northbound: str = ""
    leader_proxy_southbound: str = ""

    def as_dict(self) -> dict[str, str]:
        return dataclasses.asdict(self)

    def as_status(self) -> dict[str, str]:
        """Return them by their names in the status of the OVNCluster."""
        if_known = {
            CLUSTER_IPS_STATUS["northbound"]: self.northbound_cluster_ips,
            CLUSTER_IPS_STATUS["southbound"]: self.southbound_unrestricted_cluster_ips,
            PROXY_STATUS["northbound"]: self.leader_proxy_northbound,
            PROXY_STATUS["southbound"]: self.leader_proxy_southbound,
        }
        return {
            "northbound": self.northbound,
            "southbound": self.southbound,
            UNRESTRICTED_STATUS: self.southbound_unrestricted,
            SERVICE_STATUS["northbound"]: self.service_northbound,
            SERVICE_STATUS["southbound"]: self.service_southbound,
            **{name: text for name, text in if_known.items() if text},
        }


@dataclasses.dataclass(frozen=True)
class ControlPlaneAddress:
    """What the endpoints inside a Kubernetes cluster are made of."""

    name: str
    namespace: str
    cluster_domain: str
    spec: ClusterSpec

    def inside(self, database: Database, listener: ClientListener = "client") -> list[str]:
        return inside_endpoints(
            database,
            self.spec.database(database).replicas,
            name=self.name,
            namespace=self.namespace,
            cluster_domain=self.cluster_domain,
            tls=self.spec.tls.enabled,
            listener=listener,
        )


def find_endpoints(
    cluster: Cluster,
    place: ControlPlaneAddress,
    *,
    warn: t.Callable[[str], None],
    before: t.Mapping[str, str],
    services: list[Object] | None = None,
    pods: t.Mapping[str, Object] | None = None,
    publish: bool = False,
) -> Endpoints:
    """Return the endpoints. `services` and `pods` (by name) are read if they are not given, `before` are the endpoints in the OVNCluster's status.

    `publish` is for a run, which writes them there: the leader proxy is among them as soon as it runs on all its nodes. Others get it when it is published.
    """
    spec = place.spec
    exposed = [spec.database(d).service for d in DATABASES if spec.database(d).service.exposed]
    if services is None:
        services = cluster.list("v1", "Service", place.namespace, labels=f"app.kubernetes.io/instance={place.name}")
    nodes: list[Object] = []
    if any(service.needs_nodes for service in exposed):
        pods = _database_pods(cluster, place) if pods is None else pods
        nodes = _nodes(cluster, warn)
    outside = outside_endpoints(spec, services, nodes, pods, before)
    unrestricted = unrestricted_inside = place.inside("southbound", "unrestricted")
    if spec.exposes_unrestricted:
        known = {"southbound": before.get(UNRESTRICTED_STATUS, "")}
        unrestricted = outside_endpoints(spec, services, nodes, pods, known, "unrestricted")["southbound"]
    elif spec.southbound.service.exposed:  # without TLS the exposed port has no role either
        unrestricted = [] if spec.tls.enabled else outside["southbound"]
    for message in _missing_addresses(place, outside, services):
        warn(message)
    proxy = (
        publishable_endpoints(cluster, spec, before, services)
        if publish
        else published_endpoints(spec, before, services)
    )
    return Endpoints(
        # Names of this cluster do not resolve outside: no endpoint for a moment is better than one that cuts off every chassis.
        **{d: ",".join(outside[d] if spec.database(d).service.exposed else place.inside(d)) for d in DATABASES},
        **{f"{d}_inside": ",".join(place.inside(d)) for d in DATABASES},
        southbound_unrestricted=",".join(unrestricted),
        southbound_unrestricted_inside=",".join(unrestricted_inside),
        **{f"service_{d}": service_endpoint(spec, d, place.cluster_domain) for d in DATABASES},
        northbound_cluster_ips=",".join(cluster_ip_endpoints(spec, services, "northbound")),
        southbound_unrestricted_cluster_ips=",".join(
            cluster_ip_endpoints(spec, services, "southbound", "unrestricted")
        ),
        **{f"leader_proxy_{d}": text for d, text in proxy.items()},
    )


def _database_pods(cluster: Cluster, place: ControlPlaneAddress) -> dict[str, Object]:
    ours = f"app.kubernetes.io/instance={place.name},app.kubernetes.io/component in (northbound,southbound)"
    return {pod["metadata"]["name"]: pod for pod in cluster.list("v1", "Pod", place.namespace, labels=ours)}


def _nodes(cluster: Cluster, warn: t.Callable[[str], None]) -> list[Object]:
    try:
        return cluster.list("v1", "Node")
    except Refused as e:
        warn(f"The addresses of the nodes are not known, so there is no endpoint for clients outside: {e}")
        return []


def _missing_addresses(
    place: ControlPlaneAddress, outside: t.Mapping[Database, t.Sequence[str]], services: list[Object]
) -> t.Iterator[str]:
    """Yield a warning for each database with members that clients outside do not reach yet, and one for the load balancers that have no address."""
    for d in DATABASES:
        database = place.spec.database(d)
        found = len(outside.get(d) or ())
        if database.service.exposed and found < database.replicas:
            yield (
                f"{found} of {database.replicas} {d} members have an address of type {database.service.type} for clients outside so far. "
                "Run again when the others have one."
            )
    if waiting := unbalanced_members(place.spec, services):
        several = len(waiting) > 1
        yield (
            f"{'Services' if several else 'Service'} {', '.join(waiting)} in namespace {place.namespace}: no load balancer has given "
            f"{'them' if several else 'it'} an address so far, so the declared {'names (hostnames) lead' if several else 'name (hostnames) leads'} nowhere. "
            f"See kubectl -n {place.namespace} describe service {waiting[0]}."
        )


def unbalanced_members(spec: ClusterSpec, services: t.Iterable[Object]) -> list[str]:
    """Return the Services of members with declared names whose load balancer has no address yet: their endpoints are known all the same."""
    by_name = {service["metadata"]["name"]: service for service in services}
    names = [
        member_name(spec.name, d, index)
        for d in DATABASES
        if spec.database(d).service.type == "LoadBalancer"
        for index, _name in enumerate(spec.database(d).service.hostnames)
    ]
    return [name for name in names if name in by_name and not balancer_host(by_name[name])]
