"""An OVNCluster that another client has applied and keeps: a run takes it as it is, and writes its status alone."""

from __future__ import annotations

import typing as t

import _control_plane
import _rights
import pytest
from _control_plane import PLACES, WHOLE, ControlPlane, touched
from _pods_on_api import Kubelet
from _rights import Operator, Requests

from ansible_collections.c5c3.ovn.plugins.module_utils._api.crds import custom_resource_definitions
from ansible_collections.c5c3.ovn.plugins.module_utils._api.names import API_VERSION
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.apply import converge
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.client import Cluster
from ansible_collections.c5c3.ovn.plugins.module_utils._precheck_kubernetes.rights import (
    RIGHTS,
    needed_rights,
    roles,
)
from ansible_collections.c5c3.ovn.plugins.modules import ovn_precheck_kubernetes

plane, kubelet, operator = _control_plane.plane, _control_plane.kubelet, _rights.operator  # fixtures

SOURCE: dict[str, t.Any] = {"spec": None, "spec_from": "resource"}
WRITING = {("ovn.c5c3.io", "ovnclusters", verb) for verb in ("create", "patch", "delete")}


def define(plane: ControlPlane) -> None:
    converge(Cluster({"kubeconfig": plane.server.kubeconfig}), custom_resource_definitions(), {}, check_mode=False)


def apply(plane: ControlPlane, spec: dict[str, t.Any], manager: str = "kustomize-controller") -> None:
    """As Flux does it."""
    place = f"{PLACES['OVNCluster'].format(plane.namespace)}/ovn?fieldManager={manager}"
    content = {"apiVersion": API_VERSION, "kind": "OVNCluster", "metadata": {"name": "ovn"}, "spec": spec}
    plane.server.request("APPLY", place, content)


def managers(resource: t.Any) -> dict[tuple[str, str], t.Any]:
    """What each client owns outside the status."""
    return {
        (entry["manager"], entry.get("subresource", "")): entry["fieldsV1"]
        for entry in resource["metadata"]["managedFields"]
        if entry.get("subresource") != "status"
    }


@pytest.fixture
def granted(plane: ControlPlane, operator: Operator) -> Operator:
    """It may not write an OVNCluster."""
    define(plane)
    operator.grant(*roles("cluster", operator.name, plane.namespace, own_resource=False))
    rights = [right for right in RIGHTS["cluster"] if right.need not in ("namespace", "definitions")]
    operator.await_denied(rights, plane.namespace, WRITING)
    return operator


def test_a_resource_of_another_client_is_rolled_out_and_stays_as_it_is(
    plane: ControlPlane, kubelet: Kubelet, granted: Operator, monkeypatch: pytest.MonkeyPatch
) -> None:
    apply(plane, WHOLE)
    applied = plane.get("OVNCluster", "ovn")
    requests = Requests(monkeypatch)
    options = {**SOURCE, "kubeconfig": granted.kubeconfig, "wait": False, "wait_timeout": 120}

    predicted = plane(check=True, **options)
    assert touched(predicted)["StatefulSet ovn-northbound"] == "created"
    assert "OVNCluster ovn" not in touched(predicted)
    assert plane.get("OVNCluster", "ovn") == applied
    first = plane(**options)
    assert first["northbound"]["verdict"] == first["southbound"]["verdict"] == "healthy"
    assert set(touched(first)) == set(touched(predicted))
    rolled_out = plane.get("OVNCluster", "ovn")
    assert managers(rolled_out) == managers(applied)
    assert rolled_out["metadata"]["generation"] == applied["metadata"]["generation"]
    assert rolled_out["spec"] == applied["spec"]
    assert rolled_out["status"]["conditions"]

    second = plane(**options)
    assert not second["changed"]
    assert not plane(check=True, **options)["changed"]

    # An edit by its owner
    apply(plane, {**WHOLE, "northd": {"replicas": 1}})
    predicted = plane(check=True, **options)
    third = plane(**options)
    assert third["changed"]
    assert touched(third) == touched(predicted)
    assert plane.get("Deployment", "ovn-northd")["spec"]["replicas"] == 1
    resource = plane.get("OVNCluster", "ovn")
    assert resource["metadata"]["generation"] == applied["metadata"]["generation"] + 1
    assert {manager for manager, _subresource in managers(resource)} == {"kustomize-controller"}
    assert not plane(**options)["changed"]
    assert requests.forbidden == []
    assert requests.accesses.isdisjoint(WRITING)


@pytest.mark.parametrize("check", [False, True])
def test_a_resource_that_does_not_exist_is_refused(plane: ControlPlane, check: bool) -> None:
    define(plane)
    ran = plane(check=check, may_fail=True, **SOURCE)
    assert "OVNCluster ovn does not exist in namespace" in ran["msg"]
    assert "Apply it there first" in ran["msg"]
    assert plane.ours() == {}


def test_a_resource_of_another_client_is_not_deleted(plane: ControlPlane) -> None:
    define(plane)
    apply(plane, WHOLE)
    ran = plane(may_fail=True, state="absent", **SOURCE)
    assert "Delete it with that client" in ran["msg"]
    assert plane.get("OVNCluster", "ovn")["spec"]


def test_the_precheck_asks_for_no_right_to_write_it(plane: ControlPlane, granted: Operator) -> None:
    def codes(**options: t.Any) -> dict[str, str]:
        given = {"kubeconfig": granted.kubeconfig, "kind": "cluster", **options}
        found = plane.module(ovn_precheck_kubernetes, given, False, False)["findings"]
        return {one["code"]: one["object"] for one in found if one["code"] in ("resource_missing", "permission_missing")}

    assert codes(spec_from="resource") == {"resource_missing": f"OVNCluster {plane.namespace}/ovn"}
    apply(plane, WHOLE)
    assert codes(spec_from="resource") == {}
    assert codes(spec=WHOLE) == {"permission_missing": f"ovnclusters.ovn.c5c3.io in namespace {plane.namespace}"}
    assert {right.resource for right in needed_rights("cluster", {"own resource"})} == {"ovnclusters"}
