"""OVNChassis of machines: what is checked before anything is written, and what is written."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._errors import InvalidInput
from ansible_collections.c5c3.ovn.plugins.module_utils._hypervisors.machines import (
    conflicts,
    hostname_of,
    machines_from,
    manifest_of,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._hypervisors.resources import is_ours, nodes_of_others

Object = dict[str, t.Any]


def given(**more: t.Any) -> Object:
    return {
        "name": "compute1",
        "state": "present",
        "system_id": None,
        "hostname": None,
        "encapsulation_type": ["geneve"],
        "encapsulation_ip": ["198.51.100.21", "198.51.100.22"],
        "bridge_mappings": None,
        **more,
    }


@pytest.mark.parametrize(
    ("chassis", "message"),
    [
        ([given(name="Compute_1")], "Machine Compute_1 cannot have an OVNChassis"),
        ([given(name="a" * 64)], "at most 63 of them"),
        ([given(encapsulation_ip=[])], "Machine compute1 has no encapsulation_ip"),
        ([given(), given()], "chassis names compute1 more than once"),
    ],
)
def test_what_cannot_have_an_object_is_refused(chassis: list[Object], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        machines_from(chassis)


def test_a_machine_that_goes_needs_no_address() -> None:
    assert not machines_from([given(state="absent", encapsulation_ip=None)])[0].present


def test_the_object_has_no_owner_and_is_not_that_of_a_node() -> None:
    mapping = {"physical_network": "physnet1", "bridge": "br-ex", "ports": ["eth1"]}
    (machine,) = machines_from([given(bridge_mappings=[mapping])])
    found = manifest_of(machine, "c1.example", "blue")
    assert found["spec"] == {
        "hostname": "c1.example",
        "systemId": "compute1",
        "bridgeMappings": [{"physicalNetwork": "physnet1", "bridge": "br-ex", "ports": ["eth1"]}],
        "encapsulation": {"type": "geneve", "ip": "198.51.100.21"},
    }
    assert "ownerReferences" not in found["metadata"]
    assert not is_ours(found, "blue", "ovn-system")
    (problem,) = nodes_of_others({"compute1": found}, ["compute1", "worker-1"], "blue", "ovn-system")
    assert "Node compute1 has the name of machine compute1" in problem


@pytest.mark.parametrize(
    ("labels", "state", "message"),
    [
        pytest.param({}, "present", "is not that of a machine", id="of a Node"),
        pytest.param({}, "absent", "", id="of a Node, and the machine goes"),
        pytest.param({"ovn.c5c3.io/machine": "compute1", "app.kubernetes.io/instance": "ovn"}, "present", "", id="its own"),
        pytest.param(
            {"ovn.c5c3.io/machine": "compute1", "app.kubernetes.io/instance": "x"}, "absent", 'of OVNCluster "x"', id="another's"
        ),
    ],
)  # fmt: skip
def test_an_object_that_is_there(labels: dict[str, str], state: str, message: str) -> None:
    found = " ".join(
        conflicts(machines_from([given(state=state)]), {"compute1": {"metadata": {"labels": labels}}}, "ovn")
    )
    assert message in found
    assert bool(message) is bool(found)


def test_a_host_name_stays_as_it_was_recorded() -> None:
    (machine,) = machines_from([given()])
    assert hostname_of(machine, None, None) == "compute1"
    assert hostname_of(machine, {"spec": {"hostname": "c1.example"}}, None) == "c1.example"
    assert hostname_of(machine._replace(hostname="given"), {"spec": {"hostname": "c1.example"}}, None) == "given"
