"""ovn_cluster on a real API server: input, rights and records that refuse a run, which then has changed nothing."""

from __future__ import annotations

import base64
import json
import sys
import time
import typing as t

import _control_plane
import pytest
from _control_plane import (
    CID,
    OTHER_CID,
    PLACES,
    SPEC,
    ControlPlane,
    hypervisors,
)
from conftest import until

from ansible_collections.c5c3.ovn.plugins.module_utils._api.names import CLIENT_CA_KEY
from ansible_collections.c5c3.ovn.plugins.module_utils._api.schema_validator import validator_class
from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import Refused
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.client import Cluster
from ansible_collections.c5c3.ovn.plugins.modules import ovn_cluster, ovn_precheck_kubernetes

plane, kubelet = _control_plane.plane, _control_plane.kubelet  # fixtures


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"definition": {"spec": SPEC}}, ["spec", "definition"]),
        ({"spec": None}, ["does not exist in namespace", "spec or definition"]),
        ({"spec": None, "definition": {"apiVersion": "v1", "kind": "ConfigMap"}}, ["not a ovn.c5c3.io/v1alpha1"]),
        ({"spec": {"northbound": {"replicas": 2}}}, ["spec.northbound.replicas"]),
        ({"spec": {"tls": {"ciphers": "NONE-SUCH"}}}, ["spec.tls.ciphers", "OpenSSL knows none of these ciphers"]),
        ({"wait_timeout": 0}, ["wait_timeout"]),
        ({"northbound_cluster_id": "no-uuid"}, ["northbound_cluster_id", "no-uuid"]),
    ],
    ids=lambda value: str(value)[:60] if isinstance(value, dict) else "",
)
def test_bad_input_changes_nothing(plane: ControlPlane, options: dict[str, t.Any], words: list[str]) -> None:
    refused = plane(may_fail=True, **options)
    assert refused.failed
    for word in words:
        assert word in refused["msg"]
    assert not refused.get("changed")
    assert plane.ours() == {}


def test_a_secret_without_the_cas_that_the_southbound_is_to_let_in(plane: ControlPlane) -> None:
    """Relays would let in nobody. A Secret that comes later is no reason: pods wait for it."""
    declared: dict[str, t.Any] = {"spec": {"tls": {"southboundClientCaKey": "clients.crt"}}}
    plane.make("Secret", "ovn-tls", data={"ca.crt": "YQ=="})
    for check in (True, False):
        refused = plane(check=check, may_fail=True, **declared)
        assert f"Secret {plane.namespace}/ovn-tls has no clients.crt" in refused["msg"]
        assert "the relays of the Southbound would let in nobody" in refused["msg"]
    # That of ovn_pki would be only predicted, but this one is somebody else's.
    of_ovn_pki = {"spec": {"tls": {"southboundClientCaKey": CLIENT_CA_KEY}}}
    assert f"has no {CLIENT_CA_KEY}" in plane(check=True, may_fail=True, **of_ovn_pki)["msg"]
    assert plane.ours() == {}
    plane.remove("Secret", "ovn-tls")
    plane.make("Secret", "ovn-tls", data={"ca.crt": "YQ=="}, labels={"app.kubernetes.io/managed-by": "c5c3.ovn"})
    assert plane(check=True, **of_ovn_pki)["changed"]
    plane.remove("Secret", "ovn-tls")
    plane.begin(**declared)
    assert "/tls/clients.crt" in json.dumps(plane.get("StatefulSet", "ovn-southbound"))
    assert "/tls/clients.crt" not in json.dumps(plane.get("StatefulSet", "ovn-northbound"))
    # Also of a Secret that has had it.
    plane.make("Secret", "ovn-tls", data={"ca.crt": "YQ=="})
    assert "has no clients.crt" in plane(may_fail=True, **declared)["msg"]


def test_a_secret_of_another_owner_without_the_cas_of_chassis(plane: ControlPlane) -> None:
    """Relays would refuse everybody with a certificate of these CAs."""
    central, chassis = (
        f"-----BEGIN CERTIFICATE-----\n{text}\n-----END CERTIFICATE-----\n" for text in ("YWE=", "YmI=")
    )
    encoded = {
        name: base64.b64encode(text.encode()).decode() for name, text in (("a", central), ("ab", central + chassis))
    }
    plane.make("Secret", "ovn-tls", data={"ca.crt": encoded["a"], CLIENT_CA_KEY: encoded["ab"]})
    plane.begin(spec={"tls": {"southboundClientCaKey": CLIENT_CA_KEY}})
    before = plane.get("StatefulSet", "ovn-southbound")["metadata"]["resourceVersion"]
    plane.make("Secret", "given", data={"ca.crt": encoded["a"], "all.crt": encoded["a"]})
    given: dict[str, t.Any] = {"certSecretRef": {"name": "given"}}
    for tls in ({}, given, {**given, "southboundClientCaKey": "all.crt"}):
        for check in (True, False):
            refused = plane(check=check, may_fail=True, spec={"tls": tls})
            assert (
                f"The relays of the Southbound let in 1 CA of {CLIENT_CA_KEY} in Secret {plane.namespace}/ovn-tls"
                in refused["msg"]
            )
    assert plane.get("StatefulSet", "ovn-southbound")["metadata"]["resourceVersion"] == before
    # What everybody trusts is as dear to the members of the Northbound.
    plane.make("ConfigMap", "trusted", data={"ca.crt": chassis})
    trusted = {"southboundClientCaKey": CLIENT_CA_KEY, "caConfigMapRef": {"name": "trusted"}}
    for check in (True, False):
        refused = plane(check=check, may_fail=True, spec={"tls": trusted})
        assert f"members of the Northbound let in 1 CA of ca.crt in Secret {plane.namespace}/ovn-tls" in refused["msg"]
    plane.remove("Secret", "given")
    plane.make("Secret", "given", data={"ca.crt": encoded["ab"]})
    assert plane(check=True, spec={"tls": {"certSecretRef": {"name": "given"}}})["changed"]


@pytest.mark.parametrize(
    ("module", "options"),
    [(ovn_cluster, {"spec": SPEC}), (ovn_precheck_kubernetes, {"kind": "cluster", "spec": SPEC})],
    ids=["run", "precheck"],
)
def test_without_the_library_that_checks_specifications(
    plane: ControlPlane, module: t.Any, options: dict[str, t.Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    validator_class.cache_clear()
    monkeypatch.setitem(sys.modules, "jsonschema", None)
    refused = plane.module(module, options, False, True)
    assert refused.failed
    assert "the control node needs the Python library jsonschema" in refused["msg"]
    assert plane.ours() == {}


def test_a_namespace_that_the_user_may_not_create(plane: ControlPlane) -> None:
    """He may look at everything, and write into another namespace only."""
    group = "rbac.authorization.k8s.io"
    role = f"/apis/{group}/v1/clusterroles"
    binding = f"/apis/{group}/v1/clusterrolebindings"
    name = f"reads-{plane.namespace}"
    rules = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list"]}]
    plane.late()  # the kinds are there
    plane.server.request("POST", role, {"metadata": {"name": name}, "rules": rules})
    subject = {"apiGroup": group, "kind": "User", "name": "somebody"}
    reference = {"apiGroup": group, "kind": "ClusterRole", "name": name}
    plane.server.request("POST", binding, {"metadata": {"name": name}, "roleRef": reference, "subjects": [subject]})
    low = Cluster({"kubeconfig": plane.server.low_kubeconfig})

    def may_look() -> bool:
        try:
            return bool(low.list("v1", "Namespace"))
        except Refused:
            return False

    try:
        until(may_look, "the rights, which the API server notices a moment later")
        refused = plane(may_fail=True, kubeconfig=plane.server.low_kubeconfig, namespace=f"{plane.namespace}-forbidden")
    finally:
        for path in (binding, role):
            plane.server.request("DELETE", f"{path}/{name}")
    assert f"Namespace {plane.namespace}-forbidden" in refused["msg"]
    assert 'verb "patch"' in refused["msg"] or 'verb "create"' in refused["msg"]


def test_a_definition_of_a_newer_version_stays(plane: ControlPlane) -> None:
    plane.late()
    place = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/ovnclusters.ovn.c5c3.io"
    key = "ovn.c5c3.io/schema-revision"
    old = json.loads(plane.server.request("GET", place))["metadata"]["annotations"][key]
    plane.server.request("PATCH", place, {"metadata": {"annotations": {key: "999"}}})
    try:
        refused = plane(may_fail=True)
        assert "newer version" in refused["msg"]
        assert "ovnclusters.ovn.c5c3.io" in refused["msg"]
    finally:
        plane.server.request("PATCH", place, {"metadata": {"annotations": {key: old}}})


def test_another_run_is_named(plane: ControlPlane) -> None:
    now = time.strftime("%Y-%m-%dT%H:%M:%S.000000Z", time.gmtime())
    manifest = {
        "metadata": {"name": "ovn-run", "annotations": {"ovn.c5c3.io/step": "restart ovn-northbound-1"}},
        "spec": {"holderIdentity": "somebody on host process 1", "leaseDurationSeconds": 600, "renewTime": now},
    }
    plane.server.request("POST", PLACES["Lease"].format(plane.namespace), manifest)
    plane.make("ServiceAccount", "ovn-left-over", labels=hypervisors())
    for state in ("present", "absent"):
        refused = plane(may_fail=True, state=state)
        for word in ("somebody on host process 1", "restart ovn-northbound-1", "break_lock", "ovn-run"):
            assert word in refused["msg"], state
    plane.remove("ServiceAccount", "ovn-left-over")
    assert plane.get("Lease", "ovn-run")["spec"]["holderIdentity"] == "somebody on host process 1"
    assert plane.ours() == {}
    plane.late(break_lock=True)
    assert not plane.get("Lease", "ovn-run")["spec"].get("holderIdentity")


def test_a_run_in_check_mode_takes_no_lease(plane: ControlPlane) -> None:
    plane.late()
    before = plane.get("Lease", "ovn-run")
    plane(check=True)
    assert plane.get("Lease", "ovn-run") == before


def test_a_bad_record_is_refused_and_nothing_is_changed(plane: ControlPlane) -> None:
    plane.record(cid=CID, without=("cid", "members"))
    before = plane.ours()
    for check in (True, False):
        refused = plane(check=check, may_fail=True)
        assert refused.failed
        assert "lacks cid, members" in refused["msg"]
        assert "northbound" in refused["msg"], "the object"
        assert "othing was changed" in refused["msg"]
        assert plane.ours() == before


def test_a_cluster_id_that_is_not_the_declared_one(plane: ControlPlane) -> None:
    plane.record(cid=CID)
    refused = plane(may_fail=True, northbound_cluster_id=OTHER_CID)
    assert CID in refused["msg"]
    assert OTHER_CID in refused["msg"]
    assert plane.recorded("northbound")["cid"] == CID


def test_a_recorded_cluster_is_never_created_again(plane: ControlPlane) -> None:
    """Its pods are gone, its id is known: they join or wait, and the record gives no permission."""
    plane.record(cid=CID)
    ran = plane(may_fail=True)
    assert ran.failed
    assert plane.recorded("northbound")["cid"] == CID
    assert plane.recorded("northbound")["permit"] is None
    assert not any("create the northbound" in step for step in ran.get("steps", []))


def test_what_an_older_control_plane_left_stops_the_creation_of_another(plane: ControlPlane) -> None:
    """A volume outlives its claim, the status of the resource outlives everything. Nothing is created, nothing is changed."""
    name = f"left-{plane.namespace}"
    reference = {"namespace": plane.namespace, "name": "data-ovn-northbound-1"}
    spec = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "persistentVolumeReclaimPolicy": "Retain",
        "hostPath": {"path": "/nowhere"},
        "claimRef": reference,
    }
    plane.server.request("POST", "/api/v1/persistentvolumes", {"metadata": {"name": name}, "spec": spec})
    plane.server.request("PATCH", f"/api/v1/persistentvolumes/{name}/status", {"status": {"phase": "Released"}})
    try:
        for check in (True, False):
            refused = plane(may_fail=True, check=check)
            assert f"PersistentVolume {name} (Released) was that of data-ovn-northbound-1" in refused["msg"]
            assert "new_cluster=true" in refused["msg"]
            assert plane.ours() == {}
        plane.begin(new_cluster=True)
        assert plane.recorded("northbound")["permit"]["member"] == "ovn-northbound-0"
    finally:
        plane.server.request("DELETE", f"/api/v1/persistentvolumes/{name}")
    # The same namespace, when somebody has deleted everything but the resource.
    plane.patch("OVNCluster", "ovn/status", {"status": {"southbound": {"clusterId": CID}}})
    plane.remove("ConfigMap", "ovn-southbound-record")
    plane.remove("StatefulSet", "ovn-southbound")
    refused = plane(may_fail=True)
    assert f"the status of OVNCluster ovn names cluster {CID}" in refused["msg"]
    assert "southbound is not created" in refused["msg"]


def test_an_open_permission_of_a_killed_run_is_used_again(plane: ControlPlane) -> None:
    permit = {
        "member": "ovn-northbound-0",
        "run": "a run that was killed",
        "time": "2026-01-01T00:00:00Z",
        "file": None,
    }
    plane.record(permit=permit)
    plane.begin()
    assert plane.recorded("northbound")["permit"]["member"] == "ovn-northbound-0"
    assert plane.recorded("northbound")["cid"] is None


def confirmed_members(namespace: str) -> dict[str, t.Any]:
    names = [f"ovn-northbound-{index}" for index in range(3)]
    members = {
        name: {
            "address": f"tcp:{name}.ovn-northbound.{namespace}.svc.cluster.local:6643",
            "state": "confirmed",
            "sid": f"{name[-1]}1111111-1111-4111-8111-111111111111",
            "past_sids": [],
            "next_address": None,
            "away": None,
        }
        for name in names
    }
    return {"members": members}


def test_forbidden_bootstrap(plane: ControlPlane) -> None:
    refused = plane(may_fail=True, bootstrap="forbid")
    assert "bootstrap is forbid" in refused["msg"]
    assert plane.ours() == {}


def test_members_are_not_dropped_by_leaving_them_out(plane: ControlPlane) -> None:
    plane.record(cid=CID, **confirmed_members(plane.namespace))
    before = plane.ours()
    refused = plane(may_fail=True, spec={**SPEC, "northbound": {"replicas": 1}})
    assert "ovn-northbound-1, ovn-northbound-2 is a recorded member" in refused["msg"]
    assert plane.ours() == before


def test_a_record_on_hold_is_left_alone(plane: ControlPlane) -> None:
    plane.record(hold=True)
    before = plane.ours()
    assert "on hold" in plane(may_fail=True)["msg"]
    assert plane.ours() == before


def test_one_control_plane_a_namespace(plane: ControlPlane) -> None:
    plane.late()
    before = plane.ours()
    refused = plane(may_fail=True, name="other")
    assert f"Namespace {plane.namespace} has the OVNCluster ovn already" in refused["msg"]
    assert plane.ours() == before
