from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._base.flows import ports_between

Central = t.Callable[..., t.Any]

# source, target, port: allowed?
FLOWS = [
    ("a member reaches the others for Raft", "northbound", "northbound", 6643, True),
    ("and asks them before it creates a cluster", "southbound", "southbound", 16642, True),
    ("also a member of before there were relays", "southbound", "southbound", 6642, True),
    ("no other database is let in for Raft", "northbound", "southbound", 6644, False),
    ("nor for anything else", "southbound", "northbound", 6641, False),
    ("northd reaches the Northbound database", "northd", "northbound", 6641, True),
    ("northd reaches the Southbound database", "northd", "southbound", 16642, True),
    ("northd of before reaches it until it has moved", "northd", "southbound", 6642, True),
    ("northd is no member", "northd", "northbound", 6643, False),
    ("the observer reaches the Northbound database", "observer", "northbound", 6641, True),
    ("the observer reaches the Southbound database", "observer", "southbound", 16642, True),
    ("the observer of before reaches it until it has moved", "observer", "southbound", 6642, True),
    ("the observer is no member", "observer", "southbound", 6644, False),
    ("nobody reaches northd", "northbound", "northd", 6641, False),
    ("nobody reaches the observer", "northd", "observer", 443, False),
]


def allows(rules: list[dict[str, t.Any]], direction: str, peer: str, port: int, protocol: str = "TCP") -> bool:
    """What a policy does with pods of ours."""
    for rule in rules:
        peers = rule.get(direction)
        component = {
            p["podSelector"]["matchLabels"]["app.kubernetes.io/component"] for p in peers or [] if "podSelector" in p
        }
        everybody = peers is None
        ports = {(p.get("port", port), p["protocol"]) for p in rule["ports"]}
        if (everybody or peer in component) and (port, protocol) in ports:
            return True
    return False


def policy(manifests: t.Any, component: str) -> dict[str, t.Any]:
    spec: dict[str, t.Any] = manifests.named("NetworkPolicy", f"prod-{component}")["spec"]
    assert spec["policyTypes"] == ["Ingress", "Egress"]
    assert spec["podSelector"]["matchLabels"]["app.kubernetes.io/component"] == component
    return spec


@pytest.mark.parametrize(
    ("source", "target", "port", "allowed"), [row[1:] for row in FLOWS], ids=[row[0] for row in FLOWS]
)
def test_flows(central: Central, source: str, target: str, port: int, allowed: bool) -> None:
    manifests = central()
    egress = allows(policy(manifests, source).get("egress", []), "to", target, port)
    ingress = allows(policy(manifests, target).get("ingress", []), "from", source, port)
    if allowed:
        assert (egress, ingress) == (True, True)
    else:
        assert not (egress and ingress)


@pytest.mark.parametrize("database", ["northbound", "southbound"])
def test_only_members_reach_the_raft_port(central: Central, database: str) -> None:
    raft = {"northbound": 6643, "southbound": 6644}[database]
    rules = [r for r in policy(central(), database)["ingress"] if raft in {p.get("port", raft) for p in r["ports"]}]
    assert [rule["from"][0]["podSelector"]["matchLabels"]["app.kubernetes.io/component"] for rule in rules] == [
        database
    ]


@pytest.mark.parametrize("component", ["northbound", "southbound", "northd", "observer"])
@pytest.mark.parametrize("protocol", ["UDP", "TCP"])
def test_everybody_resolves_names(central: Central, component: str, protocol: str) -> None:
    assert allows(policy(central(), component)["egress"], "to", "dns", 53, protocol)


@pytest.mark.parametrize(
    ("component", "reaches"), [("northbound", False), ("southbound", False), ("northd", True), ("observer", True)]
)
@pytest.mark.parametrize("port", [443, 6443, 9443])
def test_who_reaches_the_api_server(central: Central, component: str, reaches: bool, port: int) -> None:
    assert allows(policy(central(), component)["egress"], "to", "api", port) is reaches


@pytest.mark.parametrize("kind", ["ClusterIP", "NodePort", "LoadBalancer"])
@pytest.mark.parametrize(("database", "client"), [("northbound", 6641), ("southbound", 6642)])
def test_clients_come_from_anywhere(central: Central, kind: str, database: str, client: int) -> None:
    """Those with the network of a node are found by no selector."""
    rules = policy(central({database: {"service": {"type": kind}}}), database)["ingress"]
    assert [rule for rule in rules if "from" not in rule] == [{"ports": [{"port": client, "protocol": "TCP"}]}]
    assert all("podSelector" in peer for rule in rules for peer in rule.get("from", []))


@pytest.mark.parametrize(("database", "client"), [("northbound", 6641), ("southbound", 6642)])
def test_clients_come_from_the_named_networks_alone(central: Central, database: str, client: int) -> None:
    networks = ["192.0.2.0/24", "2001:db8::/64"]
    rules = policy(central({database: {"service": {"allowedCidrs": networks}}}), database)["ingress"]
    assert all(rule["from"] for rule in rules), "an empty list would let everybody in"
    assert allows(rules, "from", "observer", client)
    (outside,) = [rule for rule in rules if "ipBlock" in rule["from"][0]]
    assert outside == {
        "from": [{"ipBlock": {"cidr": network}} for network in networks],
        "ports": [{"port": client, "protocol": "TCP"}],
    }
    # Pods of the control plane need no entry, and the Raft port gets none.
    assert allows(rules, "from", "northd", {"northbound": 6641, "southbound": 16642}[database])
    assert allows(rules, "from", database, {"northbound": 6643, "southbound": 6644}[database])


def test_the_port_without_a_role_is_for_those_who_are_named(central: Central) -> None:
    named = {"allowedCidrs": ["192.0.2.0/24"], "allowedNamespaces": ["openstack"]}
    for connection, expected in (
        ({}, []),
        (
            named,
            [
                {"ipBlock": {"cidr": "192.0.2.0/24"}},
                {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "openstack"}}},
            ],
        ),
    ):
        manifests = central({"neutronIntegration": {"sbConnection": connection}})
        rules = [
            rule
            for rule in policy(manifests, "southbound")["ingress"]
            if 16642 in {port["port"] for port in rule["ports"]}
        ]
        assert all(rule["from"] for rule in rules)
        assert [peer for rule in rules for peer in rule["from"] if "podSelector" not in peer] == expected
        assert {port["port"] for rule in rules for port in rule["ports"]} == {6642, 16642, 6644}


def test_ports_are_those_of_the_flows_between_machines(central: Central) -> None:
    manifests = central()
    for database in ("northbound", "southbound"):
        rules = policy(manifests, database)["ingress"]
        from_members = {p["port"] for rule in rules for p in rule["ports"]}
        from_anywhere = {p["port"] for rule in rules if "from" not in rule for p in rule["ports"]}
        assert from_members <= set(ports_between("central", "central"))
        assert from_anywhere <= {*ports_between("client", "central"), *ports_between("chassis", "central")}
