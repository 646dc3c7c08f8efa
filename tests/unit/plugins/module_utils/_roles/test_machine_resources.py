"""Machines whose OVNChassis are in one cluster are handled by the first of them."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._roles.machine_resources import machine_resources

Object = dict[str, t.Any]


def machine(name: str, kubeconfig: t.Any = "a", **more: t.Any) -> Object:
    return {"ovn_hypervisor_kubeconfig": kubeconfig, "ovn_hypervisor_resource": {"chassis": {"name": name}}, **more}


HOSTS: dict[str, Object] = {
    "without": {},
    "a1": machine("a1"),
    "b1": machine("b1", "b"),
    "a2": machine("a2"),
    "context": machine("context", ovn_hypervisor_context="x"),
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
    hosts = {**HOSTS, "a1": machine("a1", ovn_hypervisor_resource={"failed": True, "msg": "no"})}
    assert machine_resources(hosts, hosts, "a1") == []
    assert [one["name"] for one in machine_resources(hosts, hosts, "a2")] == ["a2"]


def test_each_batch_of_a_play_applies_its_own() -> None:
    hosts = {name: machine(name) for name in ("m1", "m2")}
    applied = [machine_resources(hosts, [name], name) for name in hosts]
    assert [[one["name"] for one in batch] for batch in applied] == [["m1"], ["m2"]]
