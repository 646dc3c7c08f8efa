from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._api.endpoints import inside_endpoints, outside_endpoints
from ansible_collections.c5c3.ovn.plugins.module_utils._api.names import owner_reference, raft_address
from ansible_collections.c5c3.ovn.plugins.module_utils._api.spec import parse_spec

WHERE: dict[str, t.Any] = {"name": "prod", "namespace": "net", "cluster_domain": "example.test"}


def node(name: str, *addresses: str, ready: bool = True, created: str = "2026-01-01T00:00:00Z") -> dict[str, t.Any]:
    return {
        "metadata": {"name": name, "creationTimestamp": created},
        "status": {
            "conditions": [{"type": "Ready", "status": "True" if ready else "Unknown"}],
            "addresses": [{"type": "Hostname", "address": name}]
            + [{"type": "InternalIP", "address": address} for address in addresses],
        },
    }


def member(database: str, index: int, port: int | None = None, **more: t.Any) -> dict[str, t.Any]:
    ports = {"name": "client", "port": 6641, **({"nodePort": port} if port else {})}
    return {"metadata": {"name": f"prod-{database}-{index}"}, "spec": {"ports": [ports], **more}}


def balanced(index: int, *ingress: dict[str, str]) -> dict[str, t.Any]:
    return {**member("northbound", index, 31000), "status": {"loadBalancer": {"ingress": list(ingress)}}}


def exposed(kind: str, **more: t.Any) -> dict[str, t.Any]:
    return {"northbound": {"service": {"type": kind}}, **more}


THREE = [member("northbound", index, 30001 + index) for index in range(3)]
SIX = [{**service, "spec": {**service["spec"], "ipFamilies": ["IPv6", "IPv4"]}} for service in THREE]
NODES = [node("b", "192.0.2.2"), node("a", "192.0.2.1"), node("c", "192.0.2.3")]

OUTSIDE = [
    ("ClusterIP is not outside", {}, THREE, NODES, []),
    (
        "another node for each member, by name",
        exposed("NodePort"),
        THREE,
        NODES,
        ["ssl:192.0.2.1:30001", "ssl:192.0.2.2:30002", "ssl:192.0.2.3:30003"],
    ),
    (
        "without TLS",
        {"northbound": {"service": {"type": "NodePort", "allowPlaintext": True}}, "tls": {"enabled": False}},
        THREE,
        NODES,
        ["tcp:192.0.2.1:30001", "tcp:192.0.2.2:30002", "tcp:192.0.2.3:30003"],
    ),
    (
        "a new node changes no address",
        exposed("NodePort"),
        THREE,
        [*NODES, node("0", "192.0.2.9", created="2026-02-01T00:00:00Z")],
        ["ssl:192.0.2.1:30001", "ssl:192.0.2.2:30002", "ssl:192.0.2.3:30003"],
    ),
    (
        "a node that is down is not used",
        exposed("NodePort"),
        THREE,
        [node("a", "192.0.2.1", ready=False), node("b", "192.0.2.2"), node("c", "192.0.2.3")],
        ["ssl:192.0.2.2:30001", "ssl:192.0.2.3:30002", "ssl:192.0.2.2:30003"],
    ),
    (
        "unless all are down",
        exposed("NodePort"),
        THREE,
        [node("a", "192.0.2.1", ready=False)],
        ["ssl:192.0.2.1:30001", "ssl:192.0.2.1:30002", "ssl:192.0.2.1:30003"],
    ),
    (
        "IPv6 in brackets",
        exposed("NodePort"),
        SIX,
        [node("a", "192.0.2.1", "2001:db8::1"), node("b", "2001:db8::2")],
        ["ssl:[2001:db8::1]:30001", "ssl:[2001:db8::2]:30002", "ssl:[2001:db8::1]:30003"],
    ),
    ("a node without an address of the Service's family", exposed("NodePort"), SIX, [node("a", "192.0.2.1")], []),
    (
        "a member without a port yet is left out",
        exposed("NodePort"),
        [member("northbound", 0), THREE[1]],
        NODES,
        ["ssl:192.0.2.2:30002"],
    ),
    ("no nodes", exposed("NodePort"), THREE, [], []),
    (
        "addresses of load balancers",
        exposed("LoadBalancer"),
        [
            balanced(0, {"ip": "192.0.2.50"}),
            balanced(1, {"hostname": "nb.example.com"}),
            balanced(2, {"ip": "2001:db8::5"}),
        ],
        [],
        ["ssl:192.0.2.50:6641", "ssl:nb.example.com:6641", "ssl:[2001:db8::5]:6641"],
    ),
    (
        "names in place of addresses of nodes",
        {
            "northbound": {
                "service": {"type": "NodePort", "hostnames": ["nb-0.example.com", "nb-1", "nb-0.example.com"]}
            }
        },
        THREE,
        NODES,
        ["ssl:nb-0.example.com:30001", "ssl:nb-1:30002", "ssl:nb-0.example.com:30003"],
    ),
    (
        "for names no node has to be known, but the port",
        {"northbound": {"service": {"type": "NodePort", "hostnames": ["a", "b", "c"]}}},
        [THREE[0], member("northbound", 1), THREE[2]],
        [],
        ["ssl:a:30001", "ssl:c:30003"],
    ),
    (
        "names in place of addresses of load balancers, also before there are any",
        {"northbound": {"service": {"type": "LoadBalancer", "hostnames": ["a", "b", "c"]}}},
        [balanced(0, {"ip": "192.0.2.50"}), balanced(1)],
        [],
        ["ssl:a:6641", "ssl:b:6641"],
    ),
    (
        "an entry of a load balancer without an address, or before the one that has it",
        exposed("LoadBalancer"),
        [balanced(0, {}), balanced(1, {"ip": ""}), balanced(2, {}, {"hostname": "nb-2"})],
        [],
        ["ssl:nb-2:6641"],
    ),
    (
        "an internal address that is none",
        exposed("NodePort"),
        THREE[:1],
        [node("a", "pending", "192.0.2.1")],
        ["ssl:192.0.2.1:30001"],
    ),
    ("a load balancer that has no address yet", exposed("LoadBalancer"), [balanced(0)], NODES, []),
]


@pytest.mark.parametrize(
    ("raw", "services", "nodes", "endpoints"), [row[1:] for row in OUTSIDE], ids=[row[0] for row in OUTSIDE]
)
def test_outside_endpoints(
    raw: dict[str, t.Any], services: list[dict[str, t.Any]], nodes: list[dict[str, t.Any]], endpoints: list[str]
) -> None:
    spec = parse_spec(raw, name="prod", namespace="net")
    assert outside_endpoints(spec, services, nodes) == {"northbound": endpoints, "southbound": []}


def pods(*homes: str) -> dict[str, dict[str, t.Any]]:
    return {f"prod-northbound-{n}": {"spec": {"nodeName": home} if home else {}} for n, home in enumerate(homes)}


FOUR = [*NODES, node("d", "192.0.2.4", created="2026-02-01T00:00:00Z")]
DEAD = [node(name, f"192.0.2.{n}", ready=name != "b") for n, name in enumerate("abcd", 1)]
BEFORE = "ssl:192.0.2.1:30001,ssl:192.0.2.2:30002,ssl:192.0.2.3:30003"


@pytest.mark.parametrize(
    ("nodes", "homes", "before", "hosts"),
    [
        (FOUR, ("c", "d", "a"), "", (3, 4, 1)),
        (FOUR, ("c", "d", "a"), BEFORE, (3, 4, 1)),
        (DEAD, ("c", "b", "a"), "", (3, 2, 1)),
        (FOUR, ("a", "", "c"), BEFORE, (1, 2, 3)),
        (DEAD, ("a", "", "c"), BEFORE, (1, 2, 3)),
        (DEAD, ("a", "d", "c"), BEFORE, (1, 4, 3)),
        (FOUR, ("b", "", "c"), "", (2, 1, 3)),
        (FOUR[1:], ("a", "", "c"), BEFORE, (1, 4, 3)),
        (FOUR, ("a", "a", "a"), "", (1, 1, 1)),
        (FOUR, ("a", "unknown", "c"), "", (1, 2, 3)),
    ],
    ids=[
        "each through its own node",
        "members that have moved",
        "a dead node that carries a member costs the address of this member alone",
        "a member between two pods keeps its address",
        "also if its node is dead",
        "until it has moved",
        "a member that nobody carries yet gets another node than the others",
        "the node of the old address is gone",
        "all on one node",
        "a node that nobody lists",
    ],
)
def test_a_member_is_reached_through_the_node_that_carries_it(
    nodes: list[dict[str, t.Any]], homes: tuple[str, ...], before: str, hosts: tuple[int, ...]
) -> None:
    spec = parse_spec(exposed("NodePort"), name="prod", namespace="net")
    found = outside_endpoints(spec, THREE, nodes, pods(*homes), {"northbound": before})["northbound"]
    assert found == [f"ssl:192.0.2.{host}:3000{n}" for n, host in enumerate(hosts, 1)]


def test_addresses_inside_are_full_names() -> None:
    assert inside_endpoints("southbound", 2, **WHERE, tls=True) == [
        "ssl:prod-southbound-0.prod-southbound.net.svc.example.test:6642",
        "ssl:prod-southbound-1.prod-southbound.net.svc.example.test:6642",
    ]
    assert (
        raft_address("northbound", 1, **WHERE, tls=False)
        == "tcp:prod-northbound-1.prod-northbound.net.svc.example.test:6643"
    )


def test_owner_reference_names_the_uid() -> None:
    owner = {"apiVersion": "ovn.c5c3.io/v1alpha1", "kind": "OVNCluster", "metadata": {"name": "prod", "uid": "u"}}
    assert owner_reference(owner)["uid"] == "u"
    assert owner_reference(owner)["controller"] is True
