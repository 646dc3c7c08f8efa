"""Accounts that somebody else makes, on a real API server: they are used as they are, their absence stops a run, and no run changes or deletes them."""

from __future__ import annotations

import typing as t

import _control_plane
import pytest
from _control_plane import SPEC, ControlPlane
from _hypervisors import Hypervisors

from ansible_collections.c5c3.ovn.plugins.modules import ovn_precheck_kubernetes

plane = _control_plane.plane  # fixture
CENTRAL = {part: {"serviceAccountName": "team"} for part in ("northbound", "southbound", "northd", "observer")}
GIVEN: dict[str, t.Any] = {**SPEC, **CENTRAL}
STATUS = "c5c3-ovn-chassis-status"
OURS = {f"ServiceAccount ovn-{part}" for part in CENTRAL}


def accounts(plane: ControlPlane) -> set[str]:
    return {name for name in plane.ours() if name.startswith("ServiceAccount ")}


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


@pytest.mark.parametrize("first", ["given", "ours"])
def test_accounts_of_workloads_that_exist_are_not_changed(plane: ControlPlane, first: str) -> None:
    """In either direction, and in check mode as well; after the removal they can be chosen again."""
    plane.make("ServiceAccount", "team")
    team = plane.get("ServiceAccount", "team")
    before, after = (GIVEN, SPEC) if first == "given" else (SPEC, GIVEN)
    plane.late(spec=before)
    there = plane.ours()
    for check in (True, False):
        refused = plane(check=check, may_fail=True, spec=after)
        assert refused.failed
        for text in ("StatefulSet", "different moments", "To go on as before", "Nothing was changed"):
            assert text in refused["msg"]
        existing, declared = ("team", "ovn-northbound") if first == "given" else ("ovn-northbound", "team")
        assert (
            f"ovn-northbound has the ServiceAccount {existing}, and spec.northbound.serviceAccountName asks for {declared}"
            in refused["msg"]
        )
        assert plane.ours() == there
    plane(state="absent")
    plane.late(spec=after)
    assert accounts(plane) == (OURS if first == "given" else set())
    assert plane.get("ServiceAccount", "team") == team


def test_accounts_of_hypervisors(hypervisors: Hypervisors) -> None:
    hypervisors.node("worker-1", "192.0.2.21")
    spec = {"controller": {"serviceAccountName": "agents"}, "ovs": {"serviceAccountName": "switches"}}
    refused = hypervisors(may_fail=True, spec=spec)
    assert "agents (spec.controller.serviceAccountName)" in refused["msg"]
    assert "switches (spec.ovs.serviceAccountName)" in refused["msg"]
    assert hypervisors.chassis() == {}
    place = f"/api/v1/namespaces/{hypervisors.namespace}/serviceaccounts"
    for name in ("agents", "switches"):
        hypervisors.server.request("POST", place, {"metadata": {"name": name}})
    before = {name: hypervisors.get(f"{place}/{name}") for name in ("agents", "switches")}
    hypervisors(spec=spec)
    names = {one["metadata"]["name"] for one in hypervisors.get(place)["items"]}
    assert not names & {"ovs", "ovn-controller"}
    sets = hypervisors.get(f"/apis/apps/v1/namespaces/{hypervisors.namespace}/daemonsets")["items"]
    assert {one["metadata"]["name"]: one["spec"]["template"]["spec"]["serviceAccountName"] for one in sets} == {
        "ovs": "switches",
        "ovn-controller": "agents",
    }
    policies = hypervisors.get(
        f"/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/c5c3-ovn-chassis-status-{hypervisors.namespace}"
    )
    assert f"{hypervisors.namespace}:agents" in policies["spec"]["matchConditions"][0]["expression"]
    assert not hypervisors(spec=spec)["changed"]
    rights = hypervisors.get(f"/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/{STATUS}-{hypervisors.namespace}")
    for check in (True, False):
        refused = hypervisors(may_fail=True, check=check)
        assert "DaemonSet" in refused["msg"]
        assert (
            "has the ServiceAccount agents, and spec.controller.serviceAccountName asks for ovn-controller"
            in refused["msg"]
        )
        assert "Nothing was changed." in refused["msg"]
        assert rights == hypervisors.get(
            f"/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/{STATUS}-{hypervisors.namespace}"
        )
    hypervisors(state="absent", spec=spec)
    assert {name: hypervisors.get(f"{place}/{name}") for name in before} == before
    hypervisors()
    refused = hypervisors(may_fail=True, spec=spec)
    assert (
        "has the ServiceAccount ovn-controller, and spec.controller.serviceAccountName asks for agents"
        in refused["msg"]
    )
