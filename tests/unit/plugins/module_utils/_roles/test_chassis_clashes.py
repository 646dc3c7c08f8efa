"""Clashes between hypervisors that the inventory alone shows."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._hypervisors.machines import name_problem
from ansible_collections.c5c3.ovn.plugins.module_utils._roles.chassis_clashes import chassis_clashes, registered_problem


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
    bad = {"Compute_1": {"ovn_hypervisor_resource": "yes", "ovn_encapsulation_ip": "192.0.2.1"}}
    (problem,) = chassis_clashes(bad, bad, name_problem)
    assert "Machine Compute_1 cannot have an OVNChassis" in problem
    assert chassis_clashes({"Compute_1": {"ovn_encapsulation_ip": "192.0.2.1"}}, bad, name_problem) == []
    assert (
        chassis_clashes({"Compute_1": {**bad["Compute_1"], "ovn_hypervisor_state": "absent"}}, bad, name_problem) == []
    )


REGISTERED = {
    "Chassis": [{"name": "former", "hostname": "n1"}, {"name": "c2", "hostname": "n2"}],
    "Encap": [
        {"chassis_name": "former", "type": "geneve", "ip": "192.0.2.1"},
        {"chassis_name": "c2", "type": "geneve", "ip": "192.0.2.2"},
    ],
}


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        pytest.param({"ovn_encapsulation_ip": "192.0.2.9"}, "", id="free name and address"),
        pytest.param({"ovn_encapsulation_ip": "192.0.2.1"}, 'belongs to chassis "former"', id="another name"),
        pytest.param({"ovn_system_id": "former", "ansible_host": "192.0.2.1"}, "", id="the same chassis"),
        pytest.param(
            {"ovn_system_id": "c2", "ansible_host": "192.0.2.9"},
            'already has a chassis "c2" of host n2',
            id="the name of another host",
        ),
        pytest.param(
            {"ovn_system_id": "c2", "ansible_host": "192.0.2.9", "ovn_hypervisor_hostname": "n2"},
            "",
            id="the same host with another address",
        ),
        pytest.param(
            {"ovn_system_id": "c2", "ansible_host": "192.0.2.9", "ovn_hypervisor_permit": "takeover"},
            "",
            id="taken over",
        ),
    ],
)
def test_registered_chassis_is_compared(variables: dict[str, t.Any], expected: str) -> None:
    found = registered_problem("h1", variables, REGISTERED)
    assert bool(found) == bool(expected)
    assert expected in found
    assert not found or found.endswith(". Nothing was changed.")
