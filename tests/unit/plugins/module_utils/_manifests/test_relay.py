"""The relay beside each Southbound member."""

from __future__ import annotations

import json
import typing as t

import pytest

Central = t.Callable[..., t.Any]
SHARED = {"tls": {"southboundClientCaKey": "client-ca.crt"}}


def relay_of(central: Central, raw: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
    (relay,) = central(raw or SHARED).pod("StatefulSet", "prod-southbound")["initContainers"]
    return t.cast("dict[str, t.Any]", relay)


def words_after(relay: dict[str, t.Any], option: str) -> str:
    words = relay["command"]
    return str(words[words.index(option) + 1])


def test_it_alone_trusts_chassis(central: Central) -> None:
    assert words_after(relay_of(central), "-C") == "/tls/client-ca.crt"
    pod = central(SHARED).pod("StatefulSet", "prod-southbound")
    (member,) = pod["containers"]
    assert {one["value"] for one in member["env"] if one["name"] == "OVN_CA_CERTIFICATE"} == {"/tls/ca.crt"}


def test_ports_are_of_one_container_each(central: Central) -> None:
    pod = central().pod("StatefulSet", "prod-southbound")
    ports = {
        one["name"]: [port["containerPort"] for port in one["ports"]]
        for one in (*pod["initContainers"], *pod["containers"])
    }
    assert ports == {"relay": [6642], "database": [16642, 6644]}


def test_it_starts_before_the_member_and_ends_after_it(central: Central) -> None:
    """A sidecar: Kubernetes waits for its startup probe, and ends it last. A hook would end it first."""
    relay = relay_of(central)
    assert relay["restartPolicy"] == "Always"
    assert relay["startupProbe"]["exec"]["command"] == ["sh", "/scripts/ovn-relay-launcher", "alive"]
    assert "lifecycle" not in relay


def test_a_busy_relay_is_left_alone_as_long_as_a_busy_member(central: Central) -> None:
    (member,) = central(SHARED).pod("StatefulSet", "prod-southbound")["containers"]
    patience = {
        kind: [one[kind]["periodSeconds"] * one[kind]["failureThreshold"] for one in (relay_of(central), member)]
        for kind in ("startupProbe", "livenessProbe")
    }
    assert patience == {"startupProbe": [600, 600], "livenessProbe": [300, 300]}


def test_it_does_not_decide_whether_the_pod_of_its_member_is_ready(central: Central) -> None:
    """Neutron does not need it, and a node has to be drained although it is broken."""
    assert "readinessProbe" not in relay_of(central)


def test_it_shares_no_directory_with_the_member_but_what_is_read(central: Central) -> None:
    """The member's socket gives all rights."""
    pod = central().pod("StatefulSet", "prod-southbound")
    mounts = {mount["name"]: mount for mount in pod["initContainers"][0]["volumeMounts"]}
    of_member = {mount["name"]: mount for mount in pod["containers"][0]["volumeMounts"]}
    common = mounts.keys() & of_member.keys()
    assert common == {"scripts", "tls"}
    assert all(mounts[name]["readOnly"] for name in common)


@pytest.mark.parametrize(("rbac", "role"), [(True, "ovn-controller"), (False, "")])
def test_the_role_of_chassis(central: Central, rbac: bool, role: str) -> None:
    manifests = central({"relay": {"rbac": rbac}})
    found, update, listeners = manifests.named("ConfigMap", "prod-relay")["data"]["listeners"].splitlines()
    _database, row, _link = json.loads(listeners)
    assert (found, row["row"]["role"], row["row"]["target"]) == (role, role, "pssl:6642:[::]")
    assert json.loads(update)[1]["row"] == {"inactivity_probe": row["row"]["inactivity_probe"]}


@pytest.mark.parametrize("raw", [{"relay": {"rbac": True}}, {"southbound": {"inactivityProbe": 60000}}])
def test_what_relays_take_over_while_they_run_restarts_no_pod(central: Central, raw: dict[str, t.Any]) -> None:
    """R34: nor does a file that has grown, which makes the probe longer."""
    before, after = central(), central(raw)
    name = "prod-southbound"
    assert after.pod("StatefulSet", name) == before.pod("StatefulSet", name)
    assert after.named("ConfigMap", "prod-relay") != before.named("ConfigMap", "prod-relay")
    assert {"name": "listeners", "mountPath": "/listeners", "readOnly": True} in relay_of(central)["volumeMounts"]


def test_without_tls_there_is_nothing_to_follow(central: Central) -> None:
    names = [one["metadata"]["name"] for one in central({"tls": {"enabled": False}}).of("ConfigMap")]
    assert "prod-relay" not in names


def test_another_size_restarts_no_relay(central: Central) -> None:
    assert relay_of(central, {"southbound": {"replicas": 1}}) == relay_of(central, {"southbound": {"replicas": 5}})
    source = relay_of(central)["command"][-1]
    assert source.startswith("relay:OVN_Southbound:ssl:prod-southbound-0.prod-southbound.net.svc.example.test:16642,")
    assert source.count(":16642") == 5


def test_without_tls_members_serve_chassis(central: Central) -> None:
    pod = central({"tls": {"enabled": False}}).pod("StatefulSet", "prod-southbound")
    assert "initContainers" not in pod
    assert [port["containerPort"] for port in pod["containers"][0]["ports"]] == [6642, 16642, 6644]


@pytest.mark.parametrize(("tls", "relays"), [(True, 3), (False, 0)])
def test_the_observer_looks_at_the_relays(central: Central, tls: bool, relays: int) -> None:
    (observer,) = central({"tls": {"enabled": tls}}).pod("Deployment", "prod-observer")["containers"]
    (told,) = [one["value"] for one in observer["env"] if one["name"] == "OVN_RELAYS"] or [""]
    assert told.count(":6642") == relays


def test_the_northbound_has_none(central: Central) -> None:
    assert "initContainers" not in central().pod("StatefulSet", "prod-northbound")


@pytest.mark.parametrize(
    ("service", "neutron", "ports"),
    [
        ({}, {}, ["client", "unrestricted"]),
        ({"type": "NodePort"}, {}, ["client"]),
        (
            {"type": "NodePort", "externalTrafficPolicy": "Local"},
            {"sbConnection": {"allowedCidrs": ["192.0.2.0/24"]}},
            ["client", "unrestricted"],
        ),
    ],
    ids=["inside", "outside without anybody named", "outside for those who are named"],
)
def test_which_ports_of_a_member_are_exposed(
    central: Central, service: dict[str, t.Any], neutron: dict[str, t.Any], ports: list[str]
) -> None:
    manifests = central({"southbound": {"service": service}, "neutronIntegration": neutron})
    found = manifests.named("Service", "prod-southbound-0")["spec"]["ports"]
    assert [port["name"] for port in found] == ports


def test_declared_node_ports_of_both(central: Central) -> None:
    service = {"type": "NodePort", "externalTrafficPolicy": "Local", "nodePorts": [30001, 30002, 30003]}
    neutron = {"sbConnection": {"allowedCidrs": ["192.0.2.0/24"], "nodePorts": [31001, 31002, 31003]}}
    manifests = central({"southbound": {"service": service}, "neutronIntegration": neutron})
    found = manifests.named("Service", "prod-southbound-1")["spec"]["ports"]
    assert [(port["port"], port["nodePort"]) for port in found] == [(6642, 30002), (16642, 31002)]


def test_a_load_balancer_lets_in_the_networks_of_both_ports(central: Central) -> None:
    service = {"type": "LoadBalancer", "externalTrafficPolicy": "Local", "allowedCidrs": ["198.51.100.0/24"]}
    neutron = {"sbConnection": {"allowedCidrs": ["192.0.2.0/24"]}}
    manifests = central({"southbound": {"service": service}, "neutronIntegration": neutron})
    spec = manifests.named("Service", "prod-southbound-0")["spec"]
    assert spec["loadBalancerSourceRanges"] == ["198.51.100.0/24", "192.0.2.0/24"]
