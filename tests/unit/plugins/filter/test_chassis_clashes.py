"""Clashes between hypervisors that the inventory alone shows."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.filter.chassis_clashes import chassis_clashes


@pytest.mark.parametrize(
    ("inventory", "expected"),
    [
        pytest.param({"a": {"ansible_host": "192.0.2.1"}, "b": {"ansible_host": "192.0.2.2"}}, [], id="all different"),
        pytest.param({"a": {}, "b": {}}, [], id="nothing known but names"),
        pytest.param(
            {"a": {"ovn_system_id": "x"}, "b": {"ovn_system_id": "x"}},
            ["a, b have the same system id x"],
            id="one system id",
        ),
        pytest.param(
            {"a": {"ovn_system_id": "b"}, "b": {}}, ["a, b have the same system id b"], id="the name of another host"
        ),
        pytest.param(
            {"a": {"ovn_encapsulation_ip": "192.0.2.1"}, "b": {"ansible_host": "192.0.2.1"}},
            ["a, b have the same encapsulation address 192.0.2.1"],
            id="one address, given in two ways",
        ),
        pytest.param(
            {"a": {"ovn_encapsulation_ip": ["192.0.2.1", "192.0.2.2"]}, "b": {"ovn_encapsulation_ip": "192.0.2.2"}},
            ["a, b have the same encapsulation address 192.0.2.2"],
            id="one of several addresses",
        ),
        pytest.param(
            {"a": {"ovn_system_id": "x", "ovn_hypervisor_state": "gone"}, "b": {"ovn_system_id": "x"}},
            [],
            id="a successor takes the name of a dead host",
        ),
    ],
)
def test_clashes(inventory: dict[str, dict[str, t.Any]], expected: list[str]) -> None:
    assert chassis_clashes(inventory, list(inventory)) == expected


def test_clusters_do_not_count_their_nodes_have_the_names() -> None:
    cluster = {"ovn_backend": "kubernetes", "ansible_host": "127.0.0.1"}
    assert chassis_clashes({"rack1": cluster, "rack2": cluster}, ["rack1", "rack2"]) == []


def test_a_machine_with_an_object_needs_a_name_for_it() -> None:
    bad = {"Compute_1": {"ovn_hypervisor_kubeconfig": "k", "ovn_encapsulation_ip": "192.0.2.1"}}
    (problem,) = chassis_clashes(bad, bad)
    assert "Machine Compute_1 cannot have an OVNChassis" in problem
    assert chassis_clashes({"Compute_1": {"ovn_encapsulation_ip": "192.0.2.1"}}, bad) == []
    assert chassis_clashes({"Compute_1": {**bad["Compute_1"], "ovn_hypervisor_state": "absent"}}, bad) == []
