"""OVNChassis of machines: what is checked before anything is written, and what is written."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import InvalidInput
from ansible_collections.c5c3.ovn.plugins.module_utils._hypervisors.machines import (
    conflicts,
    hostname_of,
    machines_from,
    manifest_of,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._hypervisors.resources import nodes_of_others

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
        ([given(name="a..b")], "single dots"),
        ([given(name="a" * 64)], "at most 63 characters"),
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
    found = manifest_of(machine, "c1.example", "blue", "ovn-system")
    assert found["spec"] == {
        "hostname": "c1.example",
        "systemId": "compute1",
        "bridgeMappings": [{"physicalNetwork": "physnet1", "bridge": "br-ex", "ports": ["eth1"]}],
        "encapsulation": {"type": "geneve", "ip": "198.51.100.21"},
    }
    assert "ownerReferences" not in found["metadata"]
    assert found["metadata"]["labels"]["ovn.c5c3.io/machine"] == "compute1"
    (problem,) = nodes_of_others({"compute1": found}, ["compute1", "worker-1"], "blue", "ovn-system")
    assert "Node compute1 has the name of machine compute1" in problem


LABELS = {
    "ovn.c5c3.io/machine": "compute1",
    "app.kubernetes.io/instance": "ovn",
    "ovn.c5c3.io/namespace": "ovn-system",
}


@pytest.mark.parametrize("state", ["present", "absent"])
@pytest.mark.parametrize(
    ("labels", "spec", "message"),
    [
        pytest.param(LABELS, {}, "", id="its own"),
        pytest.param({**LABELS, "app.kubernetes.io/instance": "x"}, {}, 'of OVNCluster "x"', id="of another cluster"),
        pytest.param(
            {**LABELS, "ovn.c5c3.io/namespace": "b"}, {}, 'in namespace "b", not of ovn-system/ovn', id="of another inventory"
        ),
        pytest.param(
            LABELS, {"systemId": "x"}, 'is that of the chassis "x", and the machine compute1 is "compute1"', id="another chassis"
        ),
    ],
)  # fmt: skip
def test_an_object_that_is_there(labels: Object, spec: Object, message: str, state: str) -> None:
    resource = {"metadata": {"labels": labels}, "spec": {"systemId": "compute1", "hostname": "c1", **spec}}
    machines = machines_from([given(state=state, hostname="c1")])
    found = " ".join(conflicts(machines, {"compute1": resource}, None, "ovn", "ovn-system"))
    assert message in found
    assert bool(message) is bool(found)


@pytest.mark.parametrize(("state", "refused"), [("present", True), ("absent", False)])
def test_an_object_of_a_node(state: str, refused: bool) -> None:
    resources: dict[str, Object] = {"compute1": {"metadata": {"labels": {}}}}
    found = conflicts(machines_from([given(state=state)]), resources, None, "ovn", "ovn-system")
    assert ["is not that of a machine" in one for one in found] == ([True] if refused else [])


def test_a_host_name_is_that_of_the_machine() -> None:
    (machine,) = machines_from([given()])
    recorded = {"metadata": {"labels": LABELS}, "spec": {"systemId": "compute1", "hostname": "wrong"}}
    assert hostname_of(machine, None, None) == ""
    assert hostname_of(machine, recorded, None) == "wrong"
    assert conflicts([machine], {"compute1": recorded}, None, "ovn", "ovn-system") == []
    real = machine._replace(hostname="c1.example")
    assert hostname_of(real, recorded, None) == "c1.example"
    (problem,) = conflicts([real], {"compute1": recorded}, None, "ovn", "ovn-system")
    assert 'has the host name "wrong", and the machine compute1 has "c1.example"' in problem
    assert "Run with ovn_hypervisor_state=absent for the machine, then with present." in problem
    assert conflicts([real._replace(present=False)], {"compute1": recorded}, None, "ovn", "ovn-system") == []


@pytest.mark.parametrize("mappings", [None, []])
def test_without_bridge_mappings_the_field_is_not_claimed(mappings: list[Object] | None) -> None:
    (machine,) = machines_from([given(bridge_mappings=mappings)])
    assert "bridgeMappings" not in manifest_of(machine, "c1", "ovn", "ovn-system")["spec"]
