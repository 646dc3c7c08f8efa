"""Machines whose OVNChassis are in one cluster are handled by the first of them."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._roles.machine_resources import (
    heartbeat_interval,
    machine_resources,
)

Object = dict[str, t.Any]


def machine(name: str, kubeconfig: t.Any = "a", **more: t.Any) -> Object:
    return {"ovn_kubeconfig": kubeconfig, "ovn_hypervisor_check": {"resource": {"name": name}}, **more}


HOSTS: dict[str, Object] = {
    "without": {},
    "a1": machine("a1"),
    "b1": machine("b1", "b"),
    "a2": machine("a2"),
    "context": machine("context", ovn_context="x"),
    "blue": machine("blue", ovn_cluster_name="blue"),
    "content1": machine("content1", {"kind": "Config"}),
    "content2": machine("content2", {"kind": "Config"}),
}


@pytest.mark.parametrize(
    ("host", "names"),
    [
        ("without", []),
        ("a1", ["a1", "a2"]),
        ("a2", []),
        ("b1", ["b1"]),
        ("context", ["context"]),
        ("blue", ["blue"]),
        ("content1", ["content1", "content2"]),
        ("content2", []),
    ],
)
def test_the_first_machine_of_a_cluster_applies_all(host: str, names: list[str]) -> None:
    assert [one["name"] for one in machine_resources(HOSTS, HOSTS, host)] == names


def test_who_failed_before_is_left_out() -> None:
    left = [host for host in HOSTS if host != "a1"]
    assert [one["name"] for one in machine_resources(HOSTS, left, "a2")] == ["a2"]


def test_machine_whose_step_failed_is_left_out() -> None:
    hosts = {**HOSTS, "a1": machine("a1", ovn_hypervisor_check={"failed": True, "msg": "no"})}
    assert machine_resources(hosts, hosts, "a1") == []
    assert [one["name"] for one in machine_resources(hosts, hosts, "a2")] == ["a2"]


def test_each_batch_of_a_play_applies_its_own() -> None:
    hosts = {name: machine(name) for name in ("m1", "m2")}
    applied = [machine_resources(hosts, [name], name) for name in hosts]
    assert [[one["name"] for one in batch] for batch in applied] == [["m1"], ["m2"]]


@pytest.mark.parametrize(
    ("declared", "hostname"),
    [({"hostname": "declared"}, "declared"), ({}, "recorded")],
    ids=["declared", "as Open vSwitch has recorded it"],
)
def test_host_name(declared: Object, hostname: str) -> None:
    check = {"resource": {"name": "m1", **declared}}
    hosts = {"m1": machine("m1", ovn_hypervisor_check=check, ovn_hypervisor_chassis={"hostname": "recorded"})}
    assert machine_resources(hosts, hosts, "m1") == [{"name": "m1", "hostname": hostname}]


@pytest.mark.parametrize(
    ("variables", "central", "seconds"),
    [
        ({}, {}, 60),
        ({}, {"ovn_central_heartbeat_interval": 30}, 30),
        ({}, {"ovn_central_heartbeat_interval": 30, "ovn_cluster_spec": {"heartbeatInterval": 20}}, 20),
        ({"ovn_verify_cluster_resource": {"spec": {}}}, {"ovn_cluster_spec": ""}, 60),
        ({"ovn_verify_cluster_resource": {"spec": {"heartbeatInterval": 10}}}, {}, 10),
    ],
    ids=["default", "central hosts", "declared cluster", "resource without it", "resource"],
)
def test_heartbeat_interval(variables: Object, central: Object, seconds: int) -> None:
    hostvars = {"m1": variables, "c1": central}
    assert heartbeat_interval("m1", variables, hostvars, {"ovn_central": ["c1"]}) == seconds
