# SPDX-License-Identifier: GPL-3.0-or-later
"""Services of the databases. None of them picks a leader: clients get all members and find the leader themselves."""

from __future__ import annotations

from .._api.names import Object, database_name, member_name, selector
from .._base.databases import PORTS, Database
from .config import ManifestContext


def services(context: ManifestContext, database: Database) -> list[Object]:
    """Return the headless Service for the names of the pods, one Service for each member, and one in front of all."""
    members = [_member(context, database, index) for index in range(context.members(database))]
    return [_headless(context, database), *members, _in_front(context, database)]


def _headless(context: ManifestContext, database: Database) -> Object:
    ports = PORTS[database]
    return context.manifest(
        "v1",
        "Service",
        database_name(context.name, database),
        database,
        spec={
            "clusterIP": "None",
            **families(context),
            # Without quorum no member is ready; without names they would never find each other again.
            "publishNotReadyAddresses": True,
            "selector": selector(context.name, database),
            "ports": [*(_port(*one) for one in ports.for_clients.items()), _port("raft", ports.raft)],
        },
    )


def _member(context: ManifestContext, database: Database, index: int) -> Object:
    """Return the Service of a member, never with the Raft port: a Raft address has to be local to its member."""
    service, name = context.spec.database(database).service, member_name(context.name, database, index)
    ports = [_port(*one) for one in PORTS[database].for_clients.items()]
    if database == "southbound" and not context.spec.has_unrestricted_services:
        ports = ports[:1]
    connection = context.spec.neutron_integration.sb_connection
    numbers = [service.node_ports, connection.node_ports if database == "southbound" else ()]
    for port, declared in zip(ports, numbers):
        if index < len(declared):
            port["nodePort"] = declared[index]
    outside: Object = {"externalTrafficPolicy": service.external_traffic_policy} if service.exposed else {}
    more = connection.allowed_cidrs if database == "southbound" else ()
    networks = [*service.allowed_cidrs, *more]  # of both ports: policies tell them apart
    if service.type == "LoadBalancer" and service.allowed_cidrs:
        outside["loadBalancerSourceRanges"] = list(dict.fromkeys(networks))
    return context.manifest(
        "v1",
        "Service",
        name,
        database,
        metadata={"annotations": dict(service.annotations)} if service.annotations else {},
        spec={
            "type": service.type,
            **families(context),
            **outside,
            "publishNotReadyAddresses": True,
            "selector": {**selector(context.name, database), "statefulset.kubernetes.io/pod-name": name},
            "ports": ports,
        },
    )


def _in_front(context: ManifestContext, database: Database) -> Object:
    """Return the Service for clients in this Kubernetes cluster that are configured with one name. It leads to ready members, without a role."""
    service = context.spec.neutron_integration.service(database)
    return context.manifest(
        "v1",
        "Service",
        service.name,
        database,
        spec={
            "type": "ClusterIP",
            **families(context),
            "selector": selector(context.name, database),
            "ports": [{**_port("client", service.port), "targetPort": PORTS[database].unrestricted}],
        },
    )


def families(context: ManifestContext) -> Object:
    """Return the fields of a Service that say which families of addresses it has."""
    network = context.spec.network
    return {
        **({"ipFamilyPolicy": network.ip_family_policy} if network.ip_family_policy else {}),
        **({"ipFamilies": list(network.ip_families)} if network.ip_families else {}),
    }


def _port(name: str, number: int) -> Object:
    return {"name": name, "port": number, "targetPort": number, "protocol": "TCP"}
