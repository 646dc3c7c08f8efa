from __future__ import annotations

import datetime
import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._hypervisors.nodes import Node
from ansible_collections.c5c3.ovn.plugins.module_utils._hypervisors.observed_state import add_address
from ansible_collections.c5c3.ovn.plugins.module_utils._hypervisors.resources import (
    chassis_facts,
    chassis_manifest,
    declared_settings,
    foreign_fields,
    is_ours,
    nodes_of_others,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._hypervisors.settings import Chassis
from ansible_collections.c5c3.ovn.plugins.module_utils._hypervisors.southbound import registry_of

NODE = Node("n1", "uid-1", {}, {}, ("192.0.2.1",), True)
CHASSIS = Chassis(NODE, "c1", "n1", ("geneve",), ("192.0.2.1",), (), {})
UNKNOWN = CHASSIS._replace(ips=None)


def registry(nb_cfg: int = 0, answered: int = 0, stamp: int = 0, ip: str = "192.0.2.1", owner: str = "") -> t.Any:
    options = {"ovn-cms-options": f"c5c3-ovn-owner={owner}"} if owner else {}
    return registry_of(
        {
            "Chassis": [{"name": "c1", "hostname": "n1", "other_config": options}],
            "Encap": [{"chassis_name": "c1", "type": "geneve", "ip": ip}],
            "Chassis_Private": [{"name": "c1", "nb_cfg": answered, "nb_cfg_timestamp": stamp}],
            "SB_Global": [{"nb_cfg": nb_cfg}],
        }
    )


EMPTY = registry_of({"Chassis": [], "Encap": [], "Chassis_Private": [], "SB_Global": []})


def facts_of(*arguments: t.Any) -> t.Any:
    now = datetime.datetime.fromtimestamp(1700000000, datetime.timezone.utc)
    return chassis_facts(*arguments, now=now, interval=60, has_agent=True)


def resource(manager: str, spec: dict[str, t.Any], **entry: t.Any) -> dict[str, t.Any]:
    managed = {"manager": manager, "fieldsV1": {"f:spec": {f"f:{key}": {} for key in spec}}, **entry}
    return {"metadata": {"name": "n1", "managedFields": [managed]}, "spec": spec}


@pytest.mark.parametrize(
    ("live", "fields"),
    [
        pytest.param(resource("c5c3.ovn", {"hostname": "x"}), set(), id="ours"),
        pytest.param(
            resource("kubectl-edit", {"hostname": "x", "systemId": "y"}), {"hostname", "systemId"}, id="theirs"
        ),
        pytest.param(
            resource("other-manager", {"hostname": "x"}, subresource="status"), set(), id="a status says nothing"
        ),
        pytest.param({"metadata": {}}, set(), id="no field manager"),
    ],
)
def test_foreign_fields(live: dict[str, t.Any], fields: set[str]) -> None:
    assert foreign_fields(live) == fields


def test_what_others_declare_becomes_settings() -> None:
    spec = {
        "systemId": "c9",
        "bridgeMappings": [{"physicalNetwork": "p", "bridge": "br-ex", "ports": ["eth1"]}],
        "encapsulation": {"type": "vxlan", "ip": "192.0.2.9"},
    }
    assert declared_settings(resource("other-manager", spec)) == {
        "system_id": "c9",
        "bridge_mappings": [{"physical_network": "p", "bridge": "br-ex", "ports": ["eth1"]}],
        "encapsulation": {"type": ["vxlan"], "ip": ["192.0.2.9"]},
    }
    assert declared_settings(resource("c5c3.ovn", spec)) == {}


LAST = {"metadata": {}, "spec": {"encapsulation": {"ip": "198.51.100.7"}}}


@pytest.mark.parametrize(
    ("chassis", "live", "seen", "ip"),
    [
        pytest.param(CHASSIS, None, None, "192.0.2.1", id="known from the node"),
        pytest.param(UNKNOWN, None, None, None, id="it is not known yet"),
        pytest.param(UNKNOWN, None, registry(ip="198.51.100.1"), "198.51.100.1", id="known since it is registered"),
        pytest.param(UNKNOWN, None, registry(owner="other"), None, id="the row of a namesake does not count"),
        pytest.param(UNKNOWN, None, registry()._replace(owner="ours"), None, id="nor does a machine of that name"),
        pytest.param(UNKNOWN, LAST, None, "198.51.100.7", id="known from the last run"),
        pytest.param(UNKNOWN, LAST, registry(), "192.0.2.1", id="a new one since the last run"),
        pytest.param(UNKNOWN, LAST, registry(owner="other"), "198.51.100.7", id="a namesake does not change it"),
    ],
)
def test_the_address_of_the_resource(chassis: Chassis, live: t.Any, seen: t.Any, ip: str | None) -> None:
    manifest = chassis_manifest(chassis, live, seen, name="ovn", namespace="net")
    assert (manifest and manifest["spec"]["encapsulation"]["ip"]) == ip


def test_an_expected_resource_lacks_only_its_address() -> None:
    manifest = chassis_manifest(UNKNOWN, None, None, name="ovn", namespace="net", expected=True)
    assert manifest
    assert manifest["spec"]["encapsulation"] == {"type": "geneve"}


@pytest.mark.parametrize(
    ("name", "namespace", "ours", "held"),
    [
        pytest.param("ovn", "net", True, False, id="ours"),
        pytest.param("ovn", "other", False, True, id="another namespace"),
        pytest.param("other", "net", False, True, id="another OVNCluster"),
    ],
)
def test_whose_a_resource_is(name: str, namespace: str, ours: bool, held: bool) -> None:
    found = chassis_manifest(CHASSIS, None, None, name=name, namespace=namespace)
    assert found
    assert is_ours(found, "ovn", "net") is ours
    problems = nodes_of_others({"n1": found}, ["n1", "n2"], "ovn", "net")
    assert bool(problems) is held
    assert not held or f"OVNCluster {name} in namespace {namespace}" in problems[0]


@pytest.mark.parametrize(
    ("key", "value", "ours"),
    [
        pytest.param("app.kubernetes.io/part-of", None, True, id="made before this label"),
        pytest.param("app.kubernetes.io/name", "other", True, id="another value of a label that names no owner"),
        pytest.param("app.kubernetes.io/managed-by", None, False, id="not managed"),
        pytest.param("app.kubernetes.io/instance", None, False, id="no OVNCluster"),
        pytest.param("ovn.c5c3.io/namespace", None, False, id="no namespace"),
        pytest.param("ovn.c5c3.io/machine", "compute1", False, id="of a machine, which other runs delete"),
    ],
)
def test_is_ours_compares_the_labels_that_name_the_owner(key: str, value: str | None, ours: bool) -> None:
    found = chassis_manifest(CHASSIS, None, None, name="ovn", namespace="net")
    assert found
    found["metadata"]["labels"] |= {key: value}
    assert is_ours(found, "ovn", "net") is ours


def test_a_resource_that_somebody_else_made_holds_no_node() -> None:
    assert nodes_of_others({"n1": {"metadata": {"labels": {}}}}, ["n1"], "ovn", "net") == []


def test_fields_of_others_are_not_sent() -> None:
    mappings = ({"physical_network": "p", "bridge": "br-ex"},)
    live = resource("other-manager", {"bridgeMappings": [{"physicalNetwork": "p", "bridge": "br-ex"}]})
    manifest = chassis_manifest(CHASSIS._replace(bridge_mappings=mappings), live, None, name="ovn", namespace="net")
    assert manifest
    assert "bridgeMappings" not in manifest["spec"]
    assert manifest["metadata"]["ownerReferences"][0]["uid"] == "uid-1"


@pytest.mark.parametrize(
    ("chassis", "seen", "expected"),
    [
        pytest.param(CHASSIS, None, (None, None), id="the database was not asked"),
        pytest.param(CHASSIS, EMPTY, (False, False), id="no row"),
        pytest.param(CHASSIS, registry(), (True, True), id="registered, no heartbeat ever"),
        pytest.param(CHASSIS, registry(nb_cfg=5, answered=4), (True, False), id="late"),
        pytest.param(
            CHASSIS,
            registry(nb_cfg=5, answered=900),
            (True, False),
            id="answered before the database was created again",
        ),
        pytest.param(CHASSIS, registry(ip="192.0.2.8"), (False, True), id="registered with another address"),
        pytest.param(UNKNOWN, registry(ip="192.0.2.8"), (True, True), id="any address where only the node knows it"),
    ],
)
def test_chassis_facts(chassis: Chassis, seen: t.Any, expected: tuple[t.Any, t.Any]) -> None:
    found = facts_of(chassis, seen, {})
    assert (found.registered, found.alive) == expected
    assert found.has_agent


@pytest.mark.parametrize(
    ("age", "alive"),
    [
        pytest.param(0, True, id="just now"),
        pytest.param(90, True, id="there is still time to answer the next one"),
        pytest.param(91, False, id="late"),
        pytest.param(-1, False, id="its clock is ahead"),
        pytest.param(-3600, False, id="an hour ahead"),
    ],
)
def test_a_chassis_that_has_answered_just_now_has_time_for_the_next_heartbeat(age: int, alive: bool) -> None:
    late = registry(nb_cfg=5, answered=4, stamp=1700000000000 - age * 1000)
    assert facts_of(CHASSIS, late, {}).alive is alive
    # Who has answered the last one is alive whatever its clock says.
    assert facts_of(CHASSIS, registry(nb_cfg=5, answered=5, stamp=1700000000000 - age * 1000), {}).alive


@pytest.mark.parametrize(
    ("stamps", "alive"),
    [
        pytest.param([29, 28], True, id="there is still time to answer"),
        pytest.param([29, 29], False, id="they answered a second after the heartbeat"),
        pytest.param([31, 32], False, id="others answered longer ago than the time to answer"),
        pytest.param([3600, 5, 4], True, id="one clock is behind"),
    ],
)
def test_chassis_without_answer_is_dead_once_time_to_answer_is_over(stamps: list[int], alive: bool) -> None:
    rows = [{"name": "c1", "nb_cfg": 4, "nb_cfg_timestamp": 1700000000000 - 65 * 1000}]
    rows += [
        {"name": f"c{index}", "nb_cfg": 5, "nb_cfg_timestamp": 1700000000000 - age * 1000}
        for index, age in enumerate(stamps, 2)
    ]
    tables = {"Chassis": [{"name": "c1", "hostname": "n1"}], "Encap": [], "SB_Global": [{"nb_cfg": 5}]}
    assert facts_of(CHASSIS, registry_of({**tables, "Chassis_Private": rows}), {}).alive is alive


def test_the_heartbeat_is_a_moment() -> None:
    found = facts_of(CHASSIS, registry(stamp=1700000000000), None)
    assert found.heartbeat == datetime.datetime(2023, 11, 14, 22, 13, 20, tzinfo=datetime.timezone.utc)
    assert found.pods is None
    assert facts_of(CHASSIS, registry(stamp=2**63 - 1), None).heartbeat is None


@pytest.mark.parametrize(
    ("before", "ip", "after"),
    [
        pytest.param({}, None, {}, id="nothing to note"),
        pytest.param({}, "192.0.2.1", {"n1": {"192.0.2.1"}}, id="the first one"),
        pytest.param({"n1": {"192.0.2.1", "192.0.2.2"}}, "192.0.2.1", {"n1": {"192.0.2.1", "192.0.2.2"}}, id="known"),
        pytest.param({"n1": {"192.0.2.1"}}, "192.0.2.9", {"n1": {"192.0.2.9"}}, id="another one takes its place"),
    ],
)
def test_noted_addresses(before: dict[str, set[str]], ip: str | None, after: dict[str, set[str]]) -> None:
    add_address(before, "n1", ip)
    assert before == after


@pytest.mark.parametrize(
    ("before", "ip", "after"),
    [({}, None, {"later"}), ({"n1": {"192.0.2.1"}}, None, {"192.0.2.1"}), ({}, "192.0.2.1", {"192.0.2.1"})],
    ids=["nothing is known", "it was noted before", "it is told now"],
)
def test_what_is_foreseen_takes_the_place_of_nothing_only(
    before: dict[str, set[str]], ip: str | None, after: set[str]
) -> None:
    add_address(before, "n1", ip, later="later")
    assert before["n1"] == after


@pytest.mark.parametrize(
    ("owner", "message"),
    [("ours", None), ("", "its row is not marked as ours yet"), ("other", "its row is of another host")],
)
def test_a_row_that_is_not_ours_yet(owner: str, message: str | None) -> None:
    assert registry(owner=owner)._replace(owner="ours").registration_problem(UNKNOWN) == message


def test_a_row_of_another_cluster_is_no_registration() -> None:
    assert registry(owner="ours")._replace(owner="ours").registration_problem(UNKNOWN) is None
    assert registry(owner="other")._replace(owner="ours").registration_problem(UNKNOWN) == "its row is of another host"
