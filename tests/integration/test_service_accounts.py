"""Accounts that somebody else makes, on a real API server: they are used as they are, their absence stops a run, and no run changes or deletes them."""

from __future__ import annotations

import typing as t

import _control_plane
import pytest
from _apiserver import ApiServer
from _control_plane import SPEC, ControlPlane, touched
from _hypervisors import Hypervisors, hypervisor_cluster
from conftest import RunModule

from ansible_collections.c5c3.ovn.plugins.modules import ovn_precheck_kubernetes

plane = _control_plane.plane  # fixture
CENTRAL = {part: {"serviceAccountName": "team"} for part in ("northbound", "southbound", "northd", "observer")}
GIVEN: dict[str, t.Any] = {**SPEC, **CENTRAL}
OURS = {f"ServiceAccount ovn-{part}" for part in CENTRAL}


def accounts(plane: ControlPlane) -> set[str]:
    return {name for name in plane.ours() if name.startswith("ServiceAccount ")}


@pytest.fixture
def chassis(api_server: ApiServer, namespace: str, run_module: RunModule) -> t.Iterator[Hypervisors]:
    with hypervisor_cluster(api_server, namespace, run_module) as made:
        yield made


def test_a_missing_account_stops_the_run_and_the_precheck_names_it(plane: ControlPlane) -> None:
    spec = {**SPEC, "northd": {"serviceAccountName": "team"}}
    for check in (True, False):
        refused = plane(check=check, may_fail=True, spec=spec)
        assert (
            f"ServiceAccount {plane.namespace}/team (spec.northd.serviceAccountName) does not exist" in refused["msg"]
        )
    assert plane.ours() == {}
    found = plane.module(ovn_precheck_kubernetes, {"kind": "cluster", "spec": spec}, False, False)["findings"]
    (finding,) = [one for one in found if one["code"] == "account_missing"]
    assert finding["object"] == f"ServiceAccount {plane.namespace}/team"
    plane.make("ServiceAccount", "team")
    found = plane.module(ovn_precheck_kubernetes, {"kind": "cluster", "spec": spec}, False, False)["findings"]
    assert "account_missing" not in {one["code"] for one in found}


def test_a_given_account_has_the_pods_and_their_rights_and_stays(plane: ControlPlane) -> None:
    plane.make("ServiceAccount", "team", labels={"app.kubernetes.io/instance": "ovn"})
    before = plane.get("ServiceAccount", "team")
    plane.late(spec=GIVEN)
    assert accounts(plane) == set()
    for kind, name in (
        ("StatefulSet", "ovn-northbound"),
        ("StatefulSet", "ovn-southbound"),
    ):
        assert plane.get(kind, name)["spec"]["template"]["spec"]["serviceAccountName"] == "team"
    for name in ("ovn-northd", "ovn-observer"):
        (subject,) = plane.get("RoleBinding", name)["subjects"]
        assert (subject["kind"], subject["name"]) == ("ServiceAccount", "team")
    plane(state="absent")
    assert plane.get("ServiceAccount", "team") == before


def test_ours_take_over_and_the_other_way_round(plane: ControlPlane) -> None:
    plane.make("ServiceAccount", "team")
    before = plane.get("ServiceAccount", "team")
    plane.late(spec=GIVEN)
    ran = plane.late()
    assert accounts(plane) == OURS
    assert {name for name, done in touched(ran).items() if name.startswith("ServiceAccount")} == OURS
    assert plane.get("RoleBinding", "ovn-northd")["subjects"][0]["name"] == "ovn-northd"
    assert plane.get("ServiceAccount", "team") == before


def test_accounts_of_hypervisors(chassis: Hypervisors) -> None:
    chassis.node("worker-1", "192.0.2.21")
    spec = {"controller": {"serviceAccountName": "agents"}, "ovs": {"serviceAccountName": "switches"}}
    refused = chassis(may_fail=True, spec=spec)
    assert "agents (spec.controller.serviceAccountName)" in refused["msg"]
    assert "switches (spec.ovs.serviceAccountName)" in refused["msg"]
    assert chassis.chassis() == {}
    place = f"/api/v1/namespaces/{chassis.namespace}/serviceaccounts"
    for name in ("agents", "switches"):
        chassis.server.request("POST", place, {"metadata": {"name": name}})
    before = {name: chassis.get(f"{place}/{name}") for name in ("agents", "switches")}
    chassis(spec=spec)
    names = {one["metadata"]["name"] for one in chassis.get(place)["items"]}
    assert not names & {"ovs", "ovn-controller"}
    sets = chassis.get(f"/apis/apps/v1/namespaces/{chassis.namespace}/daemonsets")["items"]
    assert {one["metadata"]["name"]: one["spec"]["template"]["spec"]["serviceAccountName"] for one in sets} == {
        "ovs": "switches",
        "ovn-controller": "agents",
    }
    policies = chassis.get(
        f"/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/c5c3-ovn-chassis-status-{chassis.namespace}"
    )
    assert f"{chassis.namespace}:agents" in policies["spec"]["matchConditions"][0]["expression"]
    assert not chassis(spec=spec)["changed"]
    chassis(state="absent", spec=spec)
    assert {name: chassis.get(f"{place}/{name}") for name in before} == before
