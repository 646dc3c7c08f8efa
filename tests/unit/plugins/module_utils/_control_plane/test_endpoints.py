"""Connection strings from Services and nodes."""

from __future__ import annotations

import typing as t

import pytest
from fake_cluster import FakeCluster

from ansible_collections.c5c3.ovn.plugins.module_utils._api.spec import parse_spec
from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import Refused
from ansible_collections.c5c3.ovn.plugins.module_utils._control_plane.endpoints import (
    ControlPlaneAddress,
    Endpoints,
    find_endpoints,
)

READY = [{"type": "Ready", "status": "True"}]


def node(number: int) -> dict[str, t.Any]:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": f"n{number}", "creationTimestamp": f"2026-01-0{number}T00:00:00Z"},
        "status": {"conditions": READY, "addresses": [{"type": "InternalIP", "address": f"192.0.2.{number}"}]},
    }


NODES = [node(number) for number in (1, 2, 3)]


def place(spec: dict[str, t.Any]) -> ControlPlaneAddress:
    return ControlPlaneAddress("ovn", "x", "cluster.local", parse_spec(spec, name="ovn", namespace="x"))


def find(cluster: FakeCluster, spec: dict[str, t.Any], services: t.Any = None) -> tuple[Endpoints, list[str]]:
    warnings: list[str] = []
    return find_endpoints(cluster, place(spec), warn=warnings.append, before={}, services=services), warnings


def node_port(index: int, port: int, unrestricted: int = 0) -> dict[str, t.Any]:
    labels = {"app.kubernetes.io/instance": "ovn"}
    metadata = {"name": f"ovn-southbound-{index}", "namespace": "x", "labels": labels}
    ports = [{"name": "client", "port": 6642, "nodePort": port}]
    if unrestricted:
        ports.append({"name": "unrestricted", "port": 16642, "nodePort": unrestricted})
    spec = {"ports": ports}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec}


EXPOSED = {"southbound": {"service": {"type": "NodePort"}}}


def test_inside() -> None:
    members = place({"northbound": {"replicas": 1}, "tls": {"enabled": False}}).inside("northbound")
    assert members == ["tcp:ovn-northbound-0.ovn-northbound.x.svc.cluster.local:6641"]
    assert len(place({}).inside("southbound")) == 3
    assert place({}).inside("southbound")[2] == "ssl:ovn-southbound-2.ovn-southbound.x.svc.cluster.local:6642"


def test_without_exposure_only_services_are_read() -> None:
    cluster = FakeCluster()
    found, warnings = find(cluster, {})
    assert [(call.verb, call.kind) for call in cluster.calls] == [("list", "Service")]
    assert warnings == []
    assert found.northbound == found.northbound_inside
    assert found.southbound == found.southbound_inside
    assert found.southbound_unrestricted == found.southbound_unrestricted_inside
    assert found.as_status() == {
        "northbound": found.northbound,
        "southbound": found.southbound,
        "southboundUnrestricted": found.southbound.replace(":6642", ":16642"),
        "serviceNorthbound": "ssl:ovn-nb.x.svc.cluster.local:6641",
        "serviceSouthbound": "ssl:ovn-sb.x.svc.cluster.local:6642",
    }


def test_services_in_front_of_all_members_are_named_as_they_are_declared() -> None:
    spec = {
        "tls": {"enabled": False},
        "neutronIntegration": {
            "nbConnection": {"service": {"name": "north", "port": 16641}},
            "sbConnection": {"service": {"name": "south"}},
        },
    }
    found, _warnings = find(FakeCluster(), spec)
    assert found.service_northbound == "tcp:north.x.svc.cluster.local:16641"
    assert found.service_southbound == "tcp:south.x.svc.cluster.local:6642"


@pytest.mark.parametrize(
    ("allowed", "outside"),
    [([], ""), (["192.0.2.0/24"], "ssl:192.0.2.1:31000,ssl:192.0.2.2:31001,ssl:192.0.2.3:31002")],
    ids=["for nobody outside", "for Neutron outside"],
)
def test_the_port_without_a_role_is_exposed_to_named_networks_alone(allowed: list[str], outside: str) -> None:
    services = [node_port(index, 30000 + index, 31000 + index) for index in range(3)]
    service = {"type": "NodePort", "externalTrafficPolicy": "Local"}
    neutron = {"sbConnection": {"allowedCidrs": allowed}}
    spec = {"southbound": {"service": service}, "neutronIntegration": neutron}
    found, _warnings = find(FakeCluster(*NODES, *services), spec)
    assert found.southbound == "ssl:192.0.2.1:30000,ssl:192.0.2.2:30001,ssl:192.0.2.3:30002"
    assert found.southbound_unrestricted == outside
    assert found.southbound_unrestricted_inside.count(":16642") == 3


def test_without_tls_the_exposed_port_has_no_role_either() -> None:
    services = [node_port(index, 30000 + index) for index in range(3)]
    service = {"type": "NodePort", "allowPlaintext": True}
    found, _warnings = find(
        FakeCluster(*NODES, *services), {"southbound": {"service": service}, "tls": {"enabled": False}}
    )
    assert (
        found.southbound_unrestricted
        == found.southbound
        == "tcp:192.0.2.1:30000,tcp:192.0.2.2:30001,tcp:192.0.2.3:30002"
    )


def test_each_member_behind_another_node() -> None:
    services = [node_port(index, 30000 + index) for index in range(3)]
    found, warnings = find(FakeCluster(*NODES, *services), EXPOSED)
    assert found.southbound == "ssl:192.0.2.1:30000,ssl:192.0.2.2:30001,ssl:192.0.2.3:30002"
    assert found.northbound == found.northbound_inside
    assert warnings == []


def test_services_that_are_known_are_not_read_again() -> None:
    cluster = FakeCluster(*NODES)
    find(cluster, EXPOSED, [node_port(0, 30000)])
    assert [call.kind for call in cluster.calls] == ["Pod", "Node"]


def test_names_need_neither_nodes_nor_pods() -> None:
    names = ["sb-0.example.com", "sb-1.example.com", "sb-2.example.com"]
    services = [node_port(index, 30000 + index, 31000 + index) for index in range(3)]
    service = {"type": "NodePort", "externalTrafficPolicy": "Local", "hostnames": names}
    neutron = {"sbConnection": {"allowedCidrs": ["192.0.2.0/24"]}}
    cluster = FakeCluster(*services)
    found, warnings = find(cluster, {"southbound": {"service": service}, "neutronIntegration": neutron})
    assert found.southbound == ",".join(f"ssl:{name}:{30000 + index}" for index, name in enumerate(names))
    assert found.southbound_unrestricted == ",".join(f"ssl:{name}:{31000 + index}" for index, name in enumerate(names))
    assert found.southbound_inside.startswith("ssl:ovn-southbound-0.ovn-southbound.x.svc")
    assert [call.kind for call in cluster.calls] == ["Service"]
    assert warnings == []


def test_a_name_that_leads_to_no_load_balancer_so_far_is_told() -> None:
    names = [f"sb-{index}.example.com" for index in range(3)]
    services = [node_port(index, 30000 + index) for index in range(3)]
    services[1]["status"] = {"loadBalancer": {"ingress": [{"ip": "192.0.2.9"}]}}
    spec = {"southbound": {"service": {"type": "LoadBalancer", "hostnames": names}}}
    found, warnings = find(FakeCluster(*services), spec)
    assert found.southbound == ",".join(f"ssl:{name}:6642" for name in names)
    (warning,) = warnings
    assert warning.startswith("Services ovn-southbound-0, ovn-southbound-2 in namespace x: ")
    assert warning.endswith("kubectl -n x describe service ovn-southbound-0.")
    for service in services:
        service["status"] = services[1]["status"]
    assert find(FakeCluster(*services), spec)[1] == []


def test_a_member_without_an_address_is_told() -> None:
    found, warnings = find(FakeCluster(node(1), node_port(0, 30000)), EXPOSED)
    assert found.southbound == "ssl:192.0.2.1:30000"
    assert "1 of 3 southbound members have an address of type NodePort" in warnings[0]


def test_who_may_not_look_at_nodes_gets_no_names_that_mean_nothing_outside() -> None:
    cluster = FakeCluster(*NODES, node_port(0, 30000))
    cluster.before("list", Refused("nodes is forbidden", http_status=403), kind="Node")
    found, warnings = find(cluster, EXPOSED)
    assert found.southbound == ""
    assert found.southbound_inside
    assert "nodes is forbidden" in warnings[0]


def at_cluster_ip(name: str, address: str, ports: dict[str, int]) -> dict[str, t.Any]:
    metadata = {"name": name, "namespace": "x", "labels": {"app.kubernetes.io/instance": "ovn"}}
    spec = {"clusterIP": address, "ports": [{"name": port, "port": number} for port, number in ports.items()]}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec}


SOUTHBOUND = {"client": 6642, "unrestricted": 16642}


@pytest.mark.parametrize(
    ("addresses", "ports", "northbound", "southbound"),
    [
        (
            ["10.96.0.1", "10.96.0.2", "10.96.0.3"],
            SOUTHBOUND,
            "ssl:10.96.0.1:6641,ssl:10.96.0.2:6641,ssl:10.96.0.3:6641",
            "ssl:10.96.0.1:16642,ssl:10.96.0.2:16642,ssl:10.96.0.3:16642",
        ),
        (["fd00::1"], SOUTHBOUND, "ssl:[fd00::1]:6641", "ssl:[fd00::1]:16642"),
        (["10.96.0.1", "", "10.96.0.3"], SOUTHBOUND, "", ""),
        (["10.96.0.1"], {"client": 6642}, "ssl:10.96.0.1:6641", ""),
    ],
    ids=["all", "IPv6", "not all have one", "exposed for chassis alone"],
)
def test_services_have_addresses_for_who_resolves_no_names(
    addresses: list[str], ports: dict[str, int], northbound: str, southbound: str
) -> None:
    spec = {database: {"replicas": len(addresses)} for database in ("northbound", "southbound")}
    services = [at_cluster_ip(f"ovn-northbound-{i}", one, {"client": 6641}) for i, one in enumerate(addresses)]
    services += [at_cluster_ip(f"ovn-southbound-{i}", one, ports) for i, one in enumerate(addresses)]
    found, _warnings = find(FakeCluster(), spec, services)
    assert found.northbound_cluster_ips == northbound
    assert found.southbound_unrestricted_cluster_ips == southbound
    assert found.as_status().get("northboundClusterIPs", "") == northbound
    assert found.as_status().get("southboundUnrestrictedClusterIPs", "") == southbound
