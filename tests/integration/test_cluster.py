"""ovn_cluster and ovn_cluster_info against a real API server. Nobody runs pods there: databases never come up, the objects around them do."""

from __future__ import annotations

import json
import pathlib
import socket
import threading
import time
import typing as t

import _control_plane
import pytest
from _control_plane import CID, PLACES, SIZES, SPEC, WHOLE, ControlPlane, actions, touched, warnings
from _pods_on_api import Controllers, Kubelet
from conftest import Ran, RunModule, until, within

from ansible_collections.c5c3.ovn.plugins.module_utils._errors import TimedOut
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.record import parse_record, render_files
from ansible_collections.c5c3.ovn.plugins.module_utils._rollout import control_plane, lease

plane, kubelet = _control_plane.plane, _control_plane.kubelet  # fixtures

OTHER_CID = "22222222-2222-4222-8222-222222222222"
# Written when both databases are in order, which they never are here.
LATER = {"Deployment ovn-northd", "Deployment ovn-observer", "ConfigMap ovn-config"}


# --- objects ----------------------------------------------------------------------------------------------------------


def test_check_mode_tells_what_is_then_created(plane: ControlPlane) -> None:
    plane.namespace += "-of-its-own"
    predicted = plane(check=True)
    assert predicted["changed"]
    assert plane.ours() == {}
    assert plane.namespace not in plane.server.request("GET", "/api/v1/namespaces").decode()
    assert any("create the northbound cluster on ovn-northbound-0" in step for step in predicted["steps"])

    first = plane.late()
    assert first["changed"]
    foreseen = {name for name, action in touched(predicted).items() if action == "created"}
    definitions = {name for name in foreseen if name.split()[0] in ("Namespace", "CustomResourceDefinition")}
    assert f"Namespace {plane.namespace}" in definitions
    assert set(plane.ours()) - {"Lease ovn-run"} == foreseen - definitions - LATER
    assert foreseen >= LATER
    assert {name for name, action in touched(first).items() if action == "created"} == foreseen - LATER
    # The databases are not there, and the message says what waits for what.
    assert "ovn-northbound-0" in first["msg"] or "ovn-southbound-0" in first["msg"]


def test_an_unchanged_control_plane_costs_no_write(plane: ControlPlane) -> None:
    plane.begin()
    before = plane.ours()
    again = plane(check=True)
    assert touched(again) == dict.fromkeys(LATER, "created")
    assert plane.ours() == before
    late = plane.late()
    assert touched(late) == {}
    after = plane.ours()
    assert {name for name in after if after[name] != before[name]} <= {"Lease ovn-run"}
    # 14 requests look at everything; the rest is the wait for pods that never come, and the Lease.
    assert again["requests"] <= len(before) + 10
    assert late["requests"] <= len(before) + 40


def test_drift_is_repaired(plane: ControlPlane) -> None:
    plane.begin()
    plane.patch("NetworkPolicy", "ovn-northbound", {"metadata": {"labels": {"app.kubernetes.io/part-of": None}}}, "x")
    ports = plane.get("Service", "ovn-nb")["spec"]["ports"]
    plane.patch("Service", "ovn-nb", {"spec": {"ports": [{**ports[0], "targetPort": 7000}]}}, "x")
    plane.remove("Service", "ovn-sb")
    drift = {"NetworkPolicy ovn-northbound": "changed", "Service ovn-nb": "changed", "Service ovn-sb": "created"}
    # Somebody set another port and so owns it. What is only missing needs no force.
    assert '"x" set .spec.ports' in plane(check=True, may_fail=True)["msg"]
    predicted = plane(check=True, force_conflicts=True)
    assert touched(predicted) == {**drift, **dict.fromkeys(LATER, "created")}
    assert predicted["diff"]["before"][f"Service {plane.namespace}/ovn-nb"]["spec"]["ports"][0]["targetPort"] == 7000
    assert touched(plane.late(force_conflicts=True)) == drift
    assert plane.get("Service", "ovn-nb")["spec"]["ports"] == ports
    assert plane.get("NetworkPolicy", "ovn-northbound")["metadata"]["labels"]["app.kubernetes.io/part-of"] == "ovn"


def test_another_manager_is_named_and_force_takes_over(plane: ControlPlane) -> None:
    plane.begin()
    plane.patch("PodDisruptionBudget", "ovn-northbound", {"spec": {"maxUnavailable": 2}}, manager="gitops")
    for check in (True, False):
        refused = plane(check=check, may_fail=True)
        assert refused.failed
        assert '"gitops"' in refused["msg"]
        assert "maxUnavailable" in refused["msg"]
        assert "force_conflicts" in refused["msg"]
    assert touched(plane.late(force_conflicts=True)) == {"PodDisruptionBudget ovn-northbound": "changed"}
    assert plane.get("PodDisruptionBudget", "ovn-northbound")["spec"]["maxUnavailable"] == 1


def test_a_definition_instead_of_a_specification(plane: ControlPlane) -> None:
    definition = {
        "apiVersion": "ovn.c5c3.io/v1alpha1",
        "kind": "OVNCluster",
        "metadata": {"name": "ovn", "namespace": plane.namespace, "labels": {"team": "network"}},
        "spec": SPEC,
    }
    plane.late(spec=None, definition=definition, namespace="ignored")
    plane.begin()
    plane.late(spec=None, definition=definition, namespace="ignored")
    resource = plane.get("OVNCluster", "ovn")
    assert resource["metadata"]["labels"]["team"] == "network"
    # Neither: what is there counts, and stays.
    assert touched(plane.late(spec=None)) == {}
    assert plane.get("OVNCluster", "ovn")["metadata"]["labels"]["team"] == "network"
    gone = plane(spec=None, definition=definition, namespace="ignored", state="absent")
    assert "OVNCluster ovn" in touched(gone)


def test_from_nothing_to_databases_that_run_and_stay_untouched(plane: ControlPlane, kubelet: Kubelet) -> None:
    """What was foreseen is what was done. Then nothing is written, and all of it costs less than a request an object."""
    options: dict[str, t.Any] = {"spec": WHOLE, "wait": False, "wait_timeout": 120}
    predicted = plane(check=True, **options)
    first = plane(**options)
    made = {
        name for name in plane.ours() if not name.startswith("PersistentVolumeClaim ")
    }  # those are the controller's
    assert made - {"Lease ovn-run"} == {
        name for name in touched(predicted) if name.split()[0] not in ("Namespace", "CustomResourceDefinition")
    }
    assert first["steps"] == predicted["steps"]
    assert first["northbound"]["verdict"] == first["southbound"]["verdict"] == "healthy"
    for database, size in SIZES.items():
        record = plane.recorded(database)
        assert record["cid"] == kubelet.members[f"ovn-{database}-0"].cid
        assert record["permit"] is None
        assert [m["state"] for m in record["members"].values()] == ["confirmed"] * size
    assert first["cluster"]["status"]["conditions"]

    before = plane.ours()
    again = plane(**options)
    assert not again["changed"]
    assert again["steps"] == []
    assert plane.ours() == before
    assert again["requests"] <= len(again["objects"])

    kept = {name: member.cid for name, member in kubelet.members.items()}
    slower = {**WHOLE, "northbound": {"replicas": 3, "electionTimer": 3000}}
    changed = plane(**{**options, "spec": slower})
    assert touched(changed) == {"OVNCluster ovn": "changed"}
    assert changed["steps"] == ["northbound: change the election timer from 2000 to 3000 ms"]
    assert {name: member.cid for name, member in kubelet.members.items()} == kept


def test_what_is_cut_off_is_finished_and_a_lost_record_is_read_from_the_members(
    plane: ControlPlane, kubelet: Kubelet
) -> None:
    """Runs with too little time end in words. However many there are, they create one cluster."""
    options: dict[str, t.Any] = {"spec": WHOLE, "wait": False, "may_fail": True}
    for attempt in range(20):
        ran = plane(**options, wait_timeout=2 + attempt / 2)
        if not ran.failed:
            break
        assert "run again" in ran["msg"].lower(), ran["msg"]
    assert not ran.failed, ran["msg"]
    cids = {database: kubelet.members[f"ovn-{database}-0"].cid for database in SIZES}
    assert {database: plane.recorded(database)["cid"] for database in SIZES} == cids
    assert len({member.cid for name, member in kubelet.members.items() if "north" in name}) == 1

    plane.remove("ConfigMap", "ovn-northbound-record")
    found = plane(**options, wait_timeout=60)
    assert not found.failed, found["msg"]
    assert plane.recorded("northbound")["cid"] == cids["northbound"]
    assert plane.recorded("northbound")["permit"] is None
    wrong = plane(**options, northbound_cluster_id=OTHER_CID)
    assert wrong.failed
    assert OTHER_CID in wrong["msg"]
    assert cids["northbound"] in wrong["msg"]


def recreated(plane: ControlPlane, kubelet: Kubelet, database: str) -> None:
    """Somebody deleted the StatefulSet with its pods; the claims stay."""
    place = f"{PLACES['StatefulSet'].format(plane.namespace)}/ovn-{database}"
    plane.server.request("DELETE", place, {"propagationPolicy": "Orphan"})
    kubelet.orphaned(plane.namespace, f"ovn-{database}")
    for index in range(SIZES[database]):
        kubelet.deleted(f"ovn-{database}-{index}")


def test_a_member_that_joined_before_its_run_was_killed_is_confirmed_and_not_removed(
    plane: ControlPlane, kubelet: Kubelet
) -> None:
    """The record still says that it is expected, its pod is gone, and its claim holds a voter of the cluster (R26)."""
    options: dict[str, t.Any] = {"spec": WHOLE, "wait": False, "wait_timeout": 120}
    plane(**options)
    before = plane.recorded("northbound")
    last = before["members"]["ovn-northbound-2"]
    unconfirmed = {**before, "revision": before["revision"] + 1}
    unconfirmed["members"] = {**before["members"], "ovn-northbound-2": {**last, "state": "expected", "sid": None}}
    data = plane.get("ConfigMap", "ovn-northbound-record")["data"]
    written = render_files(parse_record(unconfirmed), int(data.get("election_timer") or 2000))
    plane.patch("ConfigMap", "ovn-northbound-record", {"data": written})
    recreated(plane, kubelet, "northbound")
    ran = plane(**options)
    assert not any("remove" in step for step in ran["steps"]), ran["steps"]
    assert plane.recorded("northbound")["members"]["ovn-northbound-2"] == last
    assert plane.get("StatefulSet", "ovn-northbound")["spec"]["replicas"] == 3
    assert ran["northbound"]["verdict"] == "healthy"


@pytest.fixture
def storage_class(plane: ControlPlane) -> t.Iterator[str]:
    """Its volumes can grow."""
    name, place = f"grows-{plane.namespace}", "/apis/storage.k8s.io/v1/storageclasses"
    content = {"metadata": {"name": name}, "provisioner": "example.com/none", "allowVolumeExpansion": True}
    plane.server.request("POST", place, content)
    yield name
    plane.server.request("DELETE", f"{place}/{name}")


def test_volumes_grow_in_one_run_and_pods_stay(plane: ControlPlane, kubelet: Kubelet, storage_class: str) -> None:
    """Claims that are there, and those that come later: the StatefulSet is another one, its pods and claims are the same."""

    def spec(size: str) -> dict[str, t.Any]:
        storage = {"size": size, "storageClass": storage_class}
        return {**WHOLE, "northbound": {**WHOLE["northbound"], "storage": storage}}

    def uids(kind: str) -> dict[str, str]:
        items = json.loads(plane.server.request("GET", PLACES[kind].format(plane.namespace)))["items"]
        return {item["metadata"]["name"]: item["metadata"]["uid"] for item in items}

    options: dict[str, t.Any] = {"wait": False, "wait_timeout": 120}
    plane(**options, spec=spec("1Gi"))
    pods, claims, sets = uids("Pod"), uids("PersistentVolumeClaim"), uids("StatefulSet")
    both = spec("2Gi")
    both["northbound"] = {**both["northbound"], "nodeSelector": {"disk": "fast"}}
    seen = plane(check=True, **options, spec=both)["diff"]["after"][f"StatefulSet {plane.namespace}/ovn-northbound"]
    assert seen["spec"]["template"]["spec"]["nodeSelector"] == {"disk": "fast"}
    assert seen["spec"]["volumeClaimTemplates"][0]["spec"]["resources"]["requests"]["storage"] == "2Gi"
    predicted = plane(check=True, **options, spec=spec("2Gi"))
    grown = plane(**options, spec=spec("2Gi"))
    names = [f"PersistentVolumeClaim data-ovn-northbound-{index}" for index in range(3)]
    assert touched(grown) == touched(predicted)
    assert {*names, "StatefulSet ovn-northbound", "OVNCluster ovn"} == set(touched(grown))
    assert grown["steps"] == predicted["steps"]
    assert "make the StatefulSet ovn-northbound anew, so that new claims get 2Gi" in grown["steps"][0]
    for name in names:
        claim = plane.get("PersistentVolumeClaim", name.split()[1])
        assert claim["spec"]["resources"]["requests"]["storage"] == "2Gi"
    (template,) = plane.get("StatefulSet", "ovn-northbound")["spec"]["volumeClaimTemplates"]
    assert template["spec"]["resources"]["requests"]["storage"] == "2Gi"
    assert (uids("Pod"), uids("PersistentVolumeClaim")) == (pods, claims)
    assert {name for name, uid in uids("StatefulSet").items() if sets[name] != uid} == {"ovn-northbound"}
    assert not plane(**options, spec=spec("2Gi"))["changed"]

    # A run that was killed in between leaves pods without their StatefulSet.
    plane.server.request(
        "DELETE", f"{PLACES['StatefulSet'].format(plane.namespace)}/ovn-northbound", {"propagationPolicy": "Orphan"}
    )
    kubelet.orphaned(plane.namespace, "ovn-northbound")
    again = plane(**options, spec=spec("2Gi"))
    assert touched(again) == {"StatefulSet ovn-northbound": "created"}
    assert plane.get("StatefulSet", "ovn-northbound")["spec"]["replicas"] == 3
    assert (uids("Pod"), again["northbound"]["verdict"]) == (pods, "healthy")


def test_a_quota_without_room_for_a_rehearsal_ends_nothing(
    plane: ControlPlane, kubelet: Kubelet, storage_class: str
) -> None:
    """It counts the StatefulSet of the rehearsal as a third one. All the rest is done, and told."""

    def spec(size: str) -> dict[str, t.Any]:
        return {
            **WHOLE,
            "southbound": {**WHOLE["southbound"], "storage": {"size": size, "storageClass": storage_class}},
        }

    options: dict[str, t.Any] = {"wait": False, "wait_timeout": 120}
    plane(**options, spec=spec("1Gi"))
    plane.make("ResourceQuota", "exact", spec={"hard": {"count/statefulsets.apps": "2"}})
    used = {"hard": {"count/statefulsets.apps": "2"}, "used": {"count/statefulsets.apps": "2"}}
    plane.patch("ResourceQuota", "exact/status", {"status": used})
    ran = plane(**options, spec=spec("2Gi"))
    assert touched(ran)["PersistentVolumeClaim data-ovn-southbound-0"] == "changed"
    assert {"Deployment ovn-northd", "ConfigMap ovn-config"} <= set(actions(ran))
    told = [
        words for words in warnings(ran) if "StatefulSet ovn-southbound still makes claims of the old size" in words
    ]
    assert "exceeded quota: exact" in told[-1]
    assert "a quota may refuse the rehearsal only" in told[-1]
    plane.remove("ResourceQuota", "exact")
    assert touched(plane(**options, spec=spec("2Gi"))) == {"StatefulSet ovn-southbound": "changed"}


@pytest.mark.parametrize("moment", ["before its Lease", "before the deletion"])
def test_a_stateful_set_that_another_run_scaled_is_not_made_anew(
    plane: ControlPlane, kubelet: Kubelet, storage_class: str, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    """With as many replicas as were known before, the new one would end pods of members that nobody has told to leave."""

    def spec(size: str) -> dict[str, t.Any]:
        storage = {"size": size, "storageClass": storage_class}
        return {**WHOLE, "northbound": {**WHOLE["northbound"], "storage": storage}}

    options: dict[str, t.Any] = {"wait": False, "wait_timeout": 120}
    plane(**options, spec=spec("1Gi"))
    for index in range(3):  # so that nothing but the template for new claims is of the old size
        grown = {"spec": {"resources": {"requests": {"storage": "2Gi"}}}}
        plane.patch("PersistentVolumeClaim", f"data-ovn-northbound-{index}", grown)
    plane.patch("OVNCluster", "ovn", {"spec": {"northbound": {"storage": {"size": "2Gi"}}}})
    before = plane.get("StatefulSet", "ovn-northbound")
    owner, name = (control_plane, "words_of_template") if moment == "before the deletion" else (lease.RunLease, "take")
    real = getattr(owner, name)

    def slow(*arguments: t.Any) -> t.Any:
        monkeypatch.setattr(owner, name, real)
        plane.patch("StatefulSet", "ovn-northbound", {"spec": {"replicas": 5}}, manager="another")
        return real(*arguments)

    monkeypatch.setattr(owner, name, slow)
    ran = plane(**options, spec=None, may_fail=True)
    after = plane.get("StatefulSet", "ovn-northbound")
    assert (after["spec"]["replicas"], after["metadata"]["uid"]) == (5, before["metadata"]["uid"]), ran
    assert any("StatefulSet ovn-northbound still makes claims of the old size" in one for one in warnings(ran)), ran


@pytest.mark.parametrize("right", ["another class", "the default class", "another class after a run that was killed"])
def test_a_storage_class_that_does_not_exist_is_corrected_by_the_next_run(
    plane: ControlPlane, kubelet: Kubelet, storage_class: str, right: str
) -> None:
    """Claims without a volume hold nothing: they, their pods and the StatefulSet are made anew, and everything else is as if it were the first run."""
    kubelet.no_volumes = {"no-such-class"}
    options: dict[str, t.Any] = {"wait": False, "wait_timeout": 120}

    def spec(**storage: str) -> dict[str, t.Any]:
        return {**WHOLE, "northbound": {**WHOLE["northbound"], "storage": storage}}

    first = plane(spec=spec(storageClass="no-such-class"), wait=False, wait_timeout=20, may_fail=True)
    assert first.failed
    assert "ovn-northbound-0" in first["msg"]
    old = plane.get("PersistentVolumeClaim", "data-ovn-northbound-0")["metadata"]["uid"]
    corrected = spec() if right == "the default class" else spec(storageClass=storage_class)
    if "killed" in right:  # it had taken the StatefulSet away, and no more
        path = f"{PLACES['StatefulSet'].format(plane.namespace)}/ovn-northbound"
        plane.server.request("DELETE", path, {"propagationPolicy": "Orphan"})
        kubelet.orphaned(plane.namespace, "ovn-northbound")
    predicted = plane(check=True, **options, spec=corrected)
    ran = plane(**options, spec=corrected)
    for name in ("PersistentVolumeClaim data-ovn-northbound-0", "Pod ovn-northbound-0"):
        assert touched(ran)[name] == "deleted"
    assert touched(ran)["StatefulSet ovn-northbound"] == ("created" if "killed" in right else "changed")
    assert touched(ran) == touched(predicted)
    anew = [step for step in ran["steps"] if " anew" in step]
    assert anew == [step for step in predicted["steps"] if " anew" in step]
    assert len(anew) == (1 if "killed" in right else 2)
    assert "join ovn-northbound-2 to northbound" in predicted["steps"]
    assert ran["northbound"]["verdict"] == ran["southbound"]["verdict"] == "healthy"
    wanted = None if right == "the default class" else storage_class
    for index in range(3):
        claim = plane.get("PersistentVolumeClaim", f"data-ovn-northbound-{index}")
        assert (claim["spec"].get("storageClassName"), claim["metadata"]["uid"] != old) == (wanted, True)
    (template,) = plane.get("StatefulSet", "ovn-northbound")["spec"]["volumeClaimTemplates"]
    assert template["spec"].get("storageClassName") == wanted
    assert not plane(**options, spec=corrected)["changed"]


def test_members_to_come_get_the_declared_storage_class(
    plane: ControlPlane, kubelet: Kubelet, storage_class: str
) -> None:
    """A claim never changes its class, so the StatefulSet is made anew before it makes another one."""

    def spec(replicas: int, **storage: str) -> dict[str, t.Any]:
        return {**WHOLE, "northbound": {**WHOLE["northbound"], "replicas": replicas, "storage": storage}}

    options: dict[str, t.Any] = {"wait": False, "wait_timeout": 120}
    plane(**options, spec=spec(1))
    first = plane.get("Pod", "ovn-northbound-0")["metadata"]["uid"]
    predicted = plane(check=True, **options, spec=spec(3, storageClass=storage_class))
    ran = plane(**options, spec=spec(3, storageClass=storage_class))
    assert ran["steps"] == predicted["steps"]
    assert "storage class" in ran["steps"][0]
    assert ran["northbound"]["verdict"] == "healthy"
    claims = [plane.get("PersistentVolumeClaim", f"data-ovn-northbound-{index}") for index in range(3)]
    assert [one["spec"].get("storageClassName") for one in claims] == [None, storage_class, storage_class]
    assert plane.get("Pod", "ovn-northbound-0")["metadata"]["uid"] == first
    assert not plane(**options, spec=spec(3, storageClass=storage_class))["changed"]


def test_a_claim_that_gets_its_volume_at_the_last_moment_stays(
    plane: ControlPlane, kubelet: Kubelet, storage_class: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may hold a database from now on. The StatefulSet is there again, and the error says what to declare."""
    kubelet.no_volumes = {"slow"}

    def spec(name: str) -> dict[str, t.Any]:
        return {**WHOLE, "northbound": {**WHOLE["northbound"], "storage": {"storageClass": name}}}

    plane(spec=spec("slow"), wait=False, wait_timeout=8, may_fail=True)
    kinds = ("PersistentVolumeClaim data-ovn-northbound-0", "Pod ovn-northbound-0")
    uids = [plane.get(*one.split())["metadata"]["uid"] for one in kinds]
    real = control_plane.take_claims

    def late(*arguments: t.Any, **options: t.Any) -> t.Any:
        plane.patch("PersistentVolumeClaim", "data-ovn-northbound-0/status", {"status": {"phase": "Bound"}})
        return real(*arguments, **options)

    monkeypatch.setattr(control_plane, "take_claims", late)
    ran = plane(spec=spec(storage_class), wait=False, wait_timeout=20, may_fail=True)
    assert ran.failed
    assert "data-ovn-northbound-0 has storage class slow" in ran["msg"]
    assert "declare slow" in ran["msg"]
    assert [plane.get(*one.split())["metadata"]["uid"] for one in kinds] == uids
    assert touched(ran) == {"OVNCluster ovn": "changed", "StatefulSet ovn-northbound": "changed"}
    assert plane.get("StatefulSet", "ovn-northbound")["spec"]["replicas"] == 1
    before = plane.ours()
    refused = plane(spec=None, wait=False, may_fail=True)
    assert "Nothing was changed." in refused["msg"]
    assert {name for name in before if before[name] != plane.ours()[name]} <= {"Lease ovn-run"}


def test_restarts_that_are_due_are_told_until_they_are_done(plane: ControlPlane, kubelet: Kubelet) -> None:
    options: dict[str, t.Any] = {"wait": False, "wait_timeout": 120}

    def spec(**more: t.Any) -> dict[str, t.Any]:
        return {**WHOLE, **more}

    def up_to_date(ran: Ran) -> tuple[str, str, str]:
        (found,) = [c for c in ran["cluster"]["status"]["conditions"] if c["type"] == "UpToDate"]
        return found["status"], found["reason"], found["message"]

    first = plane(**options, spec=spec())
    # Nobody runs Deployments here: northd was never seen, so it is neither rolled out nor Ready.
    assert up_to_date(first)[:2] == ("False", "PodsMissing")
    ready = next(c for c in first["cluster"]["status"]["conditions"] if c["type"] == "Ready")
    assert (ready["status"], ready["reason"]) == ("False", "NorthdNotReady")
    assert "observedGeneration" not in first["cluster"]["status"]
    available(plane, "ovn-northd")
    second = plane(**options, spec=spec())
    assert up_to_date(second)[0] == "True"
    assert second["cluster"]["status"]["observedGeneration"] == 1

    tagged = spec(northbound={**WHOLE["northbound"], "nodeSelector": {"disk": "fast"}})
    waits = plane(**options, spec=tagged, restart=False)
    names = "ovn-northbound-0, ovn-northbound-1, ovn-northbound-2"
    assert up_to_date(waits) == ("False", "RestartsDue", f"A restart is due on {names}: its pod template has changed.")
    assert waits["cluster"]["status"]["observedGeneration"] == 1
    assert waits["cluster"]["metadata"]["generation"] == 2
    assert not plane(**options, spec=tagged, restart=False)["changed"]
    done = plane(**options, spec=tagged)
    assert len(done["steps"]) == 3
    assert up_to_date(done)[0] == "True"
    assert done["cluster"]["status"]["observedGeneration"] == 2


def test_the_status_is_told_although_northd_does_not_come(
    plane: ControlPlane, kubelet: Kubelet, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: t.Any) -> t.NoReturn:
        raise TimedOut("0 of 3 pods of Deployment ovn-northd were available. run again")

    monkeypatch.setattr(control_plane, "await_workloads", never)
    ran = plane(spec=WHOLE, may_fail=True, wait_timeout=120)
    assert "Deployment ovn-northd" in ran["msg"]
    found = plane.get("OVNCluster", "ovn")["status"]
    assert found["endpoints"]["northbound"].startswith("tcp:ovn-northbound-0.")
    conditions = {c["type"]: c["status"] for c in found["conditions"]}
    assert (conditions["NorthboundReady"], conditions["UpToDate"]) == ("True", "False")
    assert "observedGeneration" not in found


def test_a_schema_that_is_older_than_that_of_the_image(
    plane: ControlPlane, kubelet: Kubelet, tmp_path: pathlib.Path
) -> None:
    """An image of a newer OVN: the file beside the server says another version than the database."""
    options: dict[str, t.Any] = {"spec": WHOLE, "wait": False, "wait_timeout": 120}

    def condition(ran: Ran) -> dict[str, str]:
        return next(c for c in ran["cluster"]["status"]["conditions"] if c["type"] == "SchemaCurrent")

    assert condition(plane(**options))["status"] == "True"
    schema = json.loads(pathlib.Path("/usr/share/ovn/ovn-sb.ovsschema").read_text())
    newer = tmp_path / "ovn-sb.ovsschema"
    newer.write_text(json.dumps({**schema, "version": "99.1.0"}))
    kubelet.members["ovn-southbound-0"].env["OVN_SCHEMA"] = str(newer)
    ran = plane(**options)
    words = f"The Southbound database has schema {schema['version']}, its image brings 99.1.0."
    assert words in condition(ran)["message"]
    assert condition(ran)["status"] == "False"
    told = [one for one in warnings(ran) if words in one]
    assert told
    assert "docs/kubernetes.md" in told[0]
    assert not any("Northbound database has schema" in one for one in warnings(ran))


def available(plane: ControlPlane, name: str) -> None:
    """As its controller would tell."""
    deployment = plane.get("Deployment", name)
    count, generation = deployment["spec"]["replicas"], deployment["metadata"]["generation"]
    counts = dict.fromkeys(("replicas", "updatedReplicas", "readyReplicas", "availableReplicas"), count)
    plane.patch("Deployment", f"{name}/status", {"status": {"observedGeneration": generation, **counts}})


@pytest.mark.parametrize("wait", [True, False])
def test_a_member_without_a_node_keeps_nobody_waiting(plane: ControlPlane, kubelet: Kubelet, wait: bool) -> None:
    """Its pod has no node since a minute. The others serve, so everything else is done, and the end names the pod and why."""
    plane(spec=WHOLE, wait=False, wait_timeout=120)
    for name in ("ovn-northd", "ovn-observer"):
        available(plane, name)
    kubelet.members["ovn-northbound-2"].kill()
    plane.server.request(
        "DELETE", f"{PLACES['Pod'].format(plane.namespace)}/ovn-northbound-2", {"gracePeriodSeconds": 0}
    )
    stopped = Trouble(plane, "ovn-northbound-2")
    stopped.unscheduled("0/3 nodes are available: 3 node(s) didn't match pod anti-affinity rules.", seconds=60)
    ran = plane(spec=WHOLE, wait=wait, wait_timeout=120, may_fail=wait)
    assert ran.seconds < within(15)
    assert ran.failed is wait
    told = ran["msg"] if wait else [words for words in warnings(ran) if "ovn-northbound-2 does not" in words][-1]
    assert "ovn-northbound-2 does not take part" in told
    assert "Pod ovn-northbound-2 has no node: 0/3 nodes are available" in told
    assert {"Deployment ovn-northd", "ConfigMap ovn-config"} <= set(actions(ran))
    conditions = {c["type"]: c["message"] for c in plane.get("OVNCluster", "ovn")["status"]["conditions"]}
    assert conditions["NorthboundReady"].startswith("2 of 3 members take part")
    assert not any(d["action"] != "unchanged" for d in ran["objects"])
    # Until the minute is over, whoever waits waits: the scheduler may find a node yet.
    stopped.unscheduled("0/3 nodes are available.", seconds=12)
    late = plane(spec=WHOLE, wait=wait, wait_timeout=120, may_fail=wait)
    assert (late.seconds > 4) is wait
    assert late.seconds < within(40)


IMAGE = 'Back-off pulling image "registry.example.com/no-ovn:1": not found'
CLASS = 'storageclass.storage.k8s.io "nope" not found'
QUOTA = 'create Pod ovn-northbound-0 in StatefulSet ovn-northbound failed error: pods "ovn-northbound-0" is forbidden: exceeded quota: small'


def no_image(plane: ControlPlane, database: str) -> None:
    """Its kubelet pauses, so the run has it made anew, and the new one fares no better."""

    def waits(_controllers: object, _namespace: str, name: str) -> None:
        Trouble(plane, f"{name}-0").waiting("ImagePullBackOff", IMAGE)

    waits(None, "", f"ovn-{database}")
    plane.monkeypatch.setattr(Controllers, "nudged", waits)


def no_class(plane: ControlPlane, database: str) -> None:
    """Since long before the run, and told again in it."""
    Trouble(plane, f"ovn-{database}-0").unscheduled("pod has unbound immediate PersistentVolumeClaims", seconds=600)
    event(plane, "PersistentVolumeClaim", f"data-ovn-{database}-0", "ProvisioningFailed", CLASS, seconds=-10)


def no_quota(plane: ControlPlane, database: str) -> None:
    """Its controller says so each time it tries, which it does when it is asked."""

    def nudged(_controllers: Controllers, _namespace: str, name: str) -> None:
        event(plane, "StatefulSet", name, "FailedCreate", QUOTA.replace("northbound", name.split("-")[1]))

    assert database in SIZES
    plane.monkeypatch.setattr(Controllers, "nudged", nudged)


@pytest.mark.parametrize(
    ("happens", "words"),
    [
        (no_image, ["Container database of pod ovn-northbound-0 waits (ImagePullBackOff", IMAGE]),
        (no_class, ["PersistentVolumeClaim data-ovn-northbound-0", CLASS, "Pod ovn-northbound-0 has no node"]),
        (no_quota, ["StatefulSet ovn-northbound", "exceeded quota: small"]),
    ],
    ids=["no image", "no storage class", "a full quota"],
)
def test_a_pod_that_cannot_start_ends_the_run_early(
    plane: ControlPlane, happens: t.Callable[[ControlPlane, str], None], words: list[str]
) -> None:
    """Long before the time is up, with the object and the event behind it. Nothing has to be undone for the next run."""
    plane.begin()
    for database in SIZES:
        happens(plane, database)
    ran = plane(may_fail=True, wait_timeout=150)
    assert ran.failed
    assert ran.seconds < within(100)  # one database after the other
    for part in [*words, "run again"]:
        assert part in ran["msg"], ran["msg"]
    assert ran["msg"].count("Kubernetes says") == 2  # once for each database
    record = plane.recorded("northbound")
    assert (record["permit"]["member"], record["cid"]) == ("ovn-northbound-0", None)
    assert not plane.get("Lease", "ovn-run")["spec"].get("holderIdentity")


def test_a_registry_that_is_there_again(plane: ControlPlane, kubelet: Kubelet, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kubelets pause for minutes, and the next run does not wait for that: with new pods they try at once."""
    monkeypatch.setattr(control_plane, "await_workloads", lambda _cluster, _wanted, seen, *_: seen)
    monkeypatch.setattr(control_plane, "observer_trouble", lambda *_: "")
    kubelet.has_image = False
    assert "the registry is away" in plane(spec=WHOLE, may_fail=True, wait_timeout=100)["msg"]
    kubelet.has_image = True
    anew = [f"make the pod ovn-{d}-0 anew: its image is pulled again at once, and it never started" for d in SIZES]
    predicted = plane(check=True, spec=WHOLE)
    assert predicted["steps"] == anew
    assert sum("What follows" in words for words in warnings(predicted)) == len(SIZES)
    ran = plane(spec=WHOLE, wait_timeout=100)
    assert set(anew) < set(ran["steps"])
    assert ran["northbound"]["verdict"] == ran["southbound"]["verdict"] == "healthy"
    assert not plane(spec=WHOLE)["changed"]


def test_a_refused_run_recreates_no_stuck_pod(plane: ControlPlane, kubelet: Kubelet) -> None:
    """R27: one pod never starts, and a new one would; but the file of another member refuses the run."""
    plane(spec=WHOLE, wait=False, wait_timeout=120)
    kubelet.has_image = False
    kubelet.deleted("ovn-northbound-2")
    kubelet.has_image = True
    strange = kubelet.members["ovn-northbound-1"]
    strange.kill()
    strange.file.write_bytes(b"OVSDB JSON 2 0000000000000000000000000000000000000000\n{}")
    strange.start(OVN_WAIT="1")
    until(lambda: strange.state() == "refuse", "the launcher refuses")
    before = plane.get("Pod", "ovn-northbound-2")["metadata"]["uid"]
    ran = plane(spec=WHOLE, may_fail=True, wait_timeout=60)
    assert "is a standalone database" in ran["msg"]
    assert plane.get("Pod", "ovn-northbound-2")["metadata"]["uid"] == before
    strange.kill()
    strange.file.unlink()
    strange.start(OVN_WAIT="1")
    again = plane(spec=WHOLE, may_fail=True, wait_timeout=60)
    assert "make the pod ovn-northbound-2 anew" in " ".join(again["steps"]), again["msg"]
    assert plane.get("Pod", "ovn-northbound-2")["metadata"]["uid"] != before


def test_check_mode_goes_on_over_claims_whose_pods_the_run_creates(
    plane: ControlPlane, kubelet: Kubelet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Records, StatefulSet and pods are gone, and the claims stay: a run creates the pods and asks their launchers."""
    monkeypatch.setattr(control_plane, "await_workloads", lambda _cluster, _wanted, seen, *_: seen)
    monkeypatch.setattr(control_plane, "observer_trouble", lambda *_: "")
    plane(spec=WHOLE, wait_timeout=120)
    cid = plane.recorded("northbound")["cid"]
    plane.remove("ConfigMap", "ovn-northbound-record")
    recreated(plane, kubelet, "northbound")
    for member in kubelet.members.values():
        for name in ("cid", "members"):
            (member.record / name).write_text("")
    predicted = plane(check=True, spec=WHOLE)
    pods = ", ".join(f"ovn-northbound-{index}" for index in range(SIZES["northbound"]))
    assert f"What follows for northbound is known when {pods} runs." in warnings(predicted)
    assert not any("northbound" in step for step in predicted["steps"])
    ran = plane(spec=WHOLE, wait_timeout=120)
    assert touched(ran) == touched(predicted)
    assert plane.recorded("northbound")["cid"] == cid
    assert not plane(check=True, spec=WHOLE)["changed"]


def test_a_quota_that_was_full_before_the_run_ends_nothing(plane: ControlPlane) -> None:
    """Events live for an hour. The controllers are asked once, without a change of what they shall make."""
    plane.begin()
    for database in SIZES:
        message = QUOTA.replace("northbound", database)
        event(plane, "StatefulSet", f"ovn-{database}", "FailedCreate", message, seconds=30)
    before = plane.get("StatefulSet", "ovn-northbound")
    ran = plane.late(wait_timeout=15)
    assert "waiting does not change that" not in ran["msg"]
    assert ran.seconds > 14
    after = plane.get("StatefulSet", "ovn-northbound")
    assert "ovn.c5c3.io/asked" in after["metadata"]["annotations"]
    assert after["spec"] == before["spec"]


def event(plane: ControlPlane, kind: str, name: str, reason: str, message: str, seconds: float = 0) -> None:
    """So many seconds ago."""
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - seconds))
    plane.make(
        "Event",
        f"{name}.{reason.lower()}",
        type="Warning",
        reason=reason,
        message=message,
        lastTimestamp=now,
        involvedObject={"kind": kind, "name": name, "namespace": plane.namespace},
    )


def test_a_full_quota_of_objects_is_named_and_the_next_run_goes_on(plane: ControlPlane) -> None:
    plane.make("ResourceQuota", "small", spec={"hard": {"count/services": "2"}})
    used = {"hard": {"count/services": "2"}, "used": {"count/services": "0"}}
    plane.patch("ResourceQuota", "small/status", {"status": used})
    refused = plane(may_fail=True)
    assert refused.failed
    for word in ("apply Service ", "exceeded quota: small", "Raise the ResourceQuota"):
        assert word in refused["msg"], refused["msg"]
    made = {name for name in plane.ours() if name.split()[0] not in ("Lease", "ConfigMap")}
    assert sum(name.startswith("Service ") for name in made) == 2
    # All that was made before it, by the steps before and with the same manifests.
    assert refused["changed"]
    assert made <= {name for name, action in touched(refused).items() if action == "created"}
    assert not plane.get("Lease", "ovn-run")["spec"].get("holderIdentity")
    plane.remove("ResourceQuota", "small")
    plane.late()
    assert sum(name.startswith("Service ") for name in plane.ours()) == 10


def run_while(plane: ControlPlane, trouble: t.Callable[[], None], end: t.Callable[[], None], **options: t.Any) -> Ran:
    """A run that `trouble` comes over once the first objects are there. It has an `end` after the run."""
    came = threading.Event()

    def come() -> None:
        until(lambda: "ServiceAccount ovn-northbound" in plane.ours(), "the first objects", timeout=60)
        trouble()
        came.set()

    thread = threading.Thread(target=come)
    thread.start()
    try:
        ran = plane(may_fail=True, **options)
    finally:
        thread.join()
        end()
    assert came.is_set()
    return ran


def test_the_api_server_goes_away_midway(plane: ControlPlane) -> None:
    """It ends once the first objects are there, and comes back later: the message says which server and what was asked."""
    refused = run_while(plane, plane.server.kill, plane.server.restart, wait_timeout=60)
    assert refused.failed
    assert plane.server.url in refused["msg"] or plane.server.kubeconfig in refused["msg"]
    assert "Cannot " in refused["msg"]
    assert refused.seconds < within(90)
    held = plane.get("Lease", "ovn-run")["spec"].get("holderIdentity")
    assert held  # nobody could give it back; it ends by itself, and who is in a hurry takes it over
    plane.late(break_lock=True)
    assert {"StatefulSet ovn-northbound", "StatefulSet ovn-southbound"} <= set(plane.ours())
    assert all(plane.get("StatefulSet", f"ovn-{d}bound") for d in ("north", "south"))


def test_a_port_that_somebody_changed(plane: ControlPlane) -> None:
    """The API server would merge both into one list, and find its own work invalid."""
    plane.begin()
    ports = plane.get("Service", "ovn-nb")["spec"]["ports"]
    plane.patch("Service", "ovn-nb", {"spec": {"ports": [{**ports[0], "port": 7000}]}}, manager="gitops")
    before = plane.ours()
    for check in (True, False):
        refused = plane(check=check, may_fail=True)
        for word in (f"Service {plane.namespace}/ovn-nb", '"gitops" set .spec.ports', "7000", "force_conflicts"):
            assert word in refused["msg"], refused["msg"]
    assert plane.ours() == before
    predicted = plane(check=True, force_conflicts=True)
    assert touched(predicted)["Service ovn-nb"] == "changed"
    assert plane.ours() == before
    assert touched(plane.late(force_conflicts=True)) == {"Service ovn-nb": "changed"}
    assert plane.get("Service", "ovn-nb")["spec"]["ports"] == ports
    assert touched(plane.late()) == {}
    # And a port of our own that the specification changes later is no conflict.
    other = {**SPEC, "neutronIntegration": {"nbConnection": {"service": {"port": 6741}}}}
    assert touched(plane.late(spec=other))["Service ovn-nb"] == "changed"
    assert [port["port"] for port in plane.get("Service", "ovn-nb")["spec"]["ports"]] == [6741]


def test_node_ports_that_somebody_changed(plane: ControlPlane) -> None:
    nodes = {**SPEC, "southbound": {"replicas": 1, "service": {"type": "NodePort"}}}
    for _attempt in range(5):
        plane.late(spec=nodes, wait_timeout=3)
    (port,) = plane.get("Service", "ovn-southbound-0")["spec"]["ports"]
    changed = {**port, "port": 7000}
    plane.patch("Service", "ovn-southbound-0", {"spec": {"ports": [changed]}}, manager="somebody")
    assert '"somebody" set .spec.ports' in plane(may_fail=True, spec=nodes)["msg"]
    assert touched(plane.late(spec=nodes, force_conflicts=True)) == {"Service ovn-southbound-0": "changed"}
    # Clients have the node port in their configuration.
    assert plane.get("Service", "ovn-southbound-0")["spec"]["ports"] == [port]
    # A node port that nobody declared may be anybody's; a declared one is a conflict in the API server's own words.
    declared = {
        **nodes,
        "southbound": {"replicas": 1, "service": {"type": "NodePort", "nodePorts": [port["nodePort"]]}},
    }
    plane.late(spec=declared)
    taken = {**port, "nodePort": port["nodePort"] + 1 if port["nodePort"] < 32767 else port["nodePort"] - 1}
    plane.patch("Service", "ovn-southbound-0", {"spec": {"ports": [taken]}}, manager="somebody")
    conflict = plane(may_fail=True, spec=declared)["msg"]
    assert '"somebody" set ' in conflict
    assert "nodePort" in conflict
    assert touched(plane.late(spec=declared, force_conflicts=True))["Service ovn-southbound-0"] == "changed"
    assert plane.get("Service", "ovn-southbound-0")["spec"]["ports"] == [port]


def test_what_a_run_repaired_is_its_own_later(plane: ControlPlane) -> None:
    """A repair and an apply are two owners of one field for the API server, though both are us."""

    def nodes(kind: str = "NodePort", **more: t.Any) -> dict[str, t.Any]:
        return {**SPEC, "southbound": {"replicas": 1, "service": {"type": kind, **more}}}

    for _attempt in range(5):
        plane.late(spec=nodes(), wait_timeout=3)
    (port,) = plane.get("Service", "ovn-southbound-0")["spec"]["ports"]
    plane.patch("Service", "ovn-southbound-0", {"spec": {"ports": [{**port, "port": 7000}]}}, manager="somebody")
    plane.late(spec=nodes(), force_conflicts=True)
    other = port["nodePort"] + 1 if port["nodePort"] < 32767 else port["nodePort"] - 1
    assert touched(plane.late(spec=nodes(nodePorts=[other])))["Service ovn-southbound-0"] == "changed"
    assert plane.get("Service", "ovn-southbound-0")["spec"]["ports"] == [{**port, "nodePort": other}]
    plane.late(spec=nodes("ClusterIP"))
    there = plane.get("Service", "ovn-southbound-0")["spec"]
    assert (there["type"], "nodePort" in there["ports"][0]) == ("ClusterIP", False)


def test_node_ports_do_not_change_places(plane: ControlPlane) -> None:
    """The API server's own refusal would come after Services were changed, and name nobody."""
    nodes = {**SPEC, "southbound": {"service": {"type": "NodePort"}}}
    for _attempt in range(5):
        plane.late(spec=nodes, wait_timeout=3)
    names = [f"ovn-southbound-{index}" for index in range(3)]
    first, second, third = (plane.get("Service", name)["spec"]["ports"][0]["nodePort"] for name in names)
    before = plane.ours()
    for check in (True, False):
        swapped = {**SPEC, "southbound": {"service": {"type": "NodePort", "nodePorts": [second, first, third]}}}
        refused = plane(check=check, may_fail=True, spec=swapped)["msg"]
        assert f"{second} for {plane.namespace}/ovn-southbound-0 ({plane.namespace}/ovn-southbound-1 has it)" in refused
        assert "Nothing was changed" in refused
    assert plane.ours() == before


class Trouble:
    """What scheduler, kubelet and controllers write about one pod that does not run."""

    def __init__(self, plane: ControlPlane, pod: str, seconds: float = 0) -> None:
        self.plane, self.pod = plane, pod
        database = pod.split("-")[1]
        labels = {"app.kubernetes.io/instance": "ovn", "app.kubernetes.io/component": database}
        plane.make("Pod", pod, labels=labels, spec={"containers": [{"name": "database", "image": "none"}]})

    def status(self, **status: t.Any) -> None:
        self.plane.patch("Pod", f"{self.pod}/status", {"status": status})

    def unscheduled(self, message: str, seconds: float) -> None:
        since = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - seconds))
        condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
        self.status(conditions=[{**condition, "lastTransitionTime": since}])

    def waiting(self, reason: str, message: str) -> None:
        state = {"waiting": {"reason": reason, "message": message}}
        known = {"name": "database", "ready": False, "restartCount": 0, "image": "", "imageID": ""}
        self.status(containerStatuses=[{**known, "state": state}])


# --- what cannot work -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"definition": {"spec": SPEC}}, ["spec", "definition"]),
        ({"spec": None}, ["does not exist in namespace", "spec or definition"]),
        ({"spec": None, "definition": {"apiVersion": "v1", "kind": "ConfigMap"}}, ["not a ovn.c5c3.io/v1alpha1"]),
        ({"spec": {"northbound": {"replicas": 2}}}, ["spec.northbound.replicas"]),
        ({"spec": {"northbound": {"replica": 3}}}, ["spec.northbound.replica is no field", "replicas"]),
        ({"spec": {"southbound": {"storage": {"size": "many"}}}}, ["spec.southbound.storage.size", "many"]),
        ({"wait_timeout": 0}, ["wait_timeout"]),
        ({"kubeconfig": "/nowhere/kubeconfig"}, ["/nowhere/kubeconfig"]),
        ({"context": "of-nobody"}, ["of-nobody"]),
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


def test_a_wrong_kubeconfig(plane: ControlPlane, tmp_path: pathlib.Path) -> None:
    broken = tmp_path / "kubeconfig"
    broken.write_text("this is: [not a kubeconfig")
    assert str(broken) in plane(may_fail=True, kubeconfig=str(broken))["msg"]
    with socket.create_server(("127.0.0.1", 0)) as gone:
        port = gone.getsockname()[1]
    config = json.loads(pathlib.Path(plane.server.kubeconfig).read_text())
    config["clusters"][0]["cluster"]["server"] = f"https://127.0.0.1:{port}"
    broken.write_text(json.dumps(config))
    assert f"{broken}: nobody answers" in plane(may_fail=True, kubeconfig=str(broken))["msg"]


def test_expired_credentials(plane: ControlPlane) -> None:
    refused = plane(may_fail=True, kubeconfig=plane.server.expired_kubeconfig)
    assert "does not accept the credentials" in refused["msg"]
    assert plane.ours() == {}


def test_a_user_with_too_few_rights(plane: ControlPlane) -> None:
    refused = plane(may_fail=True, kubeconfig=plane.server.low_kubeconfig)
    assert refused.failed
    assert 'role with the verb "' in refused["msg"]
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
    try:
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


def test_volumes_do_not_shrink_but_grow(plane: ControlPlane) -> None:
    plane.late(spec={**SPEC, "northbound": {"storage": {"size": "2Gi"}}})
    plane.claim("northbound", 0)
    before = plane.ours()
    smaller = {**SPEC, "northbound": {"storage": {"size": "1Gi"}}}
    for check in (True, False):
        refused = plane(check=check, may_fail=True, spec=smaller)
        assert "data-ovn-northbound-0 has 2Gi, the specification says 1Gi" in refused["msg"]
    assert plane.ours() == before  # not even the custom resource
    elsewhere = {**SPEC, "northbound": {"storage": {"size": "2Gi", "storageClass": "fast"}}}
    slow, place = f"slow-{plane.namespace}", "/apis/storage.k8s.io/v1/storageclasses"
    plane.patch("PersistentVolumeClaim", "data-ovn-northbound-0", {"spec": {"storageClassName": slow}})
    refused = plane(check=True, may_fail=True, spec=elsewhere)
    assert f"storage class {slow}, the specification says fast" in refused["msg"]
    larger = {**SPEC, "northbound": {"storage": {"size": "3Gi"}}}
    before = plane.ours()
    assert "there is no such StorageClass" in plane(may_fail=True, spec=larger)["msg"]
    plane.server.request("POST", place, {"metadata": {"name": slow}, "provisioner": "example.com/none"})
    try:
        refused = plane(may_fail=True, spec=larger)
        for word in ("data-ovn-northbound-0", f"StorageClass {slow} do not (allowVolumeExpansion is not true)"):
            assert word in refused["msg"]
        assert plane.ours() == before
        plane.server.request("PATCH", f"{place}/{slow}", {"allowVolumeExpansion": True})
        # There is no pod that could be asked, so the databases cannot be foreseen; the volume can.
        predicted = plane(check=True, may_fail=True, spec=larger)
        assert touched(predicted)["PersistentVolumeClaim data-ovn-northbound-0"] == "changed"
        plane.late(spec=larger)
    finally:
        plane.server.request("DELETE", f"{place}/{slow}")
    claim = plane.get("PersistentVolumeClaim", "data-ovn-northbound-0")
    assert claim["spec"]["resources"]["requests"]["storage"] == "3Gi"


def test_the_api_server_freezes_midway(plane: ControlPlane) -> None:
    """Once the first objects are there, it accepts connections and says nothing. The next run finishes what was begun."""
    refused = run_while(plane, plane.server.freeze, plane.server.thaw)
    assert refused.failed
    assert plane.server.url in refused["msg"]
    assert "no answer" in refused["msg"] or "within" in refused["msg"], refused["msg"]
    assert refused.seconds < within(60)
    plane.late(break_lock=True)
    assert {"StatefulSet ovn-northbound", "StatefulSet ovn-southbound"} <= set(plane.ours())


# --- Lease and records ------------------------------------------------------------------------------------------------


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


@pytest.mark.parametrize(
    ("record", "cause"),
    [
        pytest.param({"data": {"something": "else"}}, "no record.json", id="without its content"),
        pytest.param({"data": {"record.json": '{"format": 1, "data'}}, "cut off or no JSON", id="cut off"),
        pytest.param(
            {"format": 99}, "has format 99, this version of the collection reads format 1", id="of a newer format"
        ),
        pytest.param({"database": "southbound"}, "is about southbound", id="of the other database"),
        pytest.param({"cid": CID, "without": ("cid", "members")}, "lacks cid, members", id="without some keys"),
    ],
)
def test_a_bad_record_is_refused_and_nothing_is_changed(
    plane: ControlPlane, record: dict[str, t.Any], cause: str
) -> None:
    plane.record(**{"database": "northbound", **record} if "database" not in record else {})
    if "database" in record:
        good = plane.get("ConfigMap", "ovn-northbound-record")["data"]
        wrong = {
            **good,
            "record.json": good["record.json"].replace('"database": "northbound"', '"database": "southbound"'),
        }
        plane.remove("ConfigMap", "ovn-northbound-record")
        plane.record(data=wrong)
    before = plane.ours()
    for check in (True, False):
        refused = plane(check=check, may_fail=True)
        assert refused.failed
        assert cause in refused["msg"]
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
    permit = {"member": "ovn-northbound-0", "run": "a run that was killed", "time": "2026-01-01T00:00:00Z"}
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


# --- absent -----------------------------------------------------------------------------------------------------------


def test_absent_keeps_data_and_what_others_made(plane: ControlPlane) -> None:
    plane.late()
    plane.claim("northbound", 0)
    plane.claim("southbound", 0)
    theirs = {"app.kubernetes.io/instance": "other"}
    plane.make("ConfigMap", "theirs", labels=theirs, data={"a": "1"})
    plane.make("Service", "theirs", spec={"ports": [{"port": 1}]})
    plane.make("ConfigMap", "of-hypervisors", labels={**hypervisors(), "app.kubernetes.io/component": "ovs"})
    before = plane.ours()

    predicted = plane(check=True, state="absent")
    assert plane.ours() == before
    gone = plane(state="absent")
    assert actions(gone) == actions(predicted)
    assert gone["changed"]
    data = [
        "ConfigMap ovn-northbound-record",
        "ConfigMap ovn-southbound-record",
        "PersistentVolumeClaim data-ovn-northbound-0",
        "PersistentVolumeClaim data-ovn-southbound-0",
    ]
    assert gone["kept"] == data
    assert set(plane.ours()) == {"ConfigMap of-hypervisors", *data[:2]}
    assert plane.get("ConfigMap", "theirs")["data"] == {"a": "1"}
    assert plane.get("Service", "theirs")
    again = plane(state="absent")
    assert not again["changed"]
    assert again["kept"] == data

    everything = plane(state="absent", delete_data=True)
    assert sorted(touched(everything)) == data
    assert everything["kept"] == []
    assert set(plane.ours()) == {"ConfigMap of-hypervisors"}
    assert not plane(state="absent", delete_data=True)["changed"]
    assert plane.get("ConfigMap", "theirs")


def test_absent_ends_pods_without_an_owner(plane: ControlPlane) -> None:
    """A run that makes a StatefulSet anew was killed in between: nobody else would end its pods."""
    plane.begin()
    plane.remove("StatefulSet", "ovn-northbound")
    labels = {"app.kubernetes.io/instance": "ovn", "app.kubernetes.io/component": "northbound"}
    spec = {"containers": [{"name": "database", "image": "none"}]}
    plane.make("Pod", "ovn-northbound-0", labels=labels, spec=spec)
    plane.make("Pod", "theirs", labels={"app.kubernetes.io/instance": "ovn"}, spec=spec)
    predicted = plane(check=True, state="absent")
    gone = plane(state="absent", wait_timeout=5)
    assert touched(gone)["Pod ovn-northbound-0"] == "deleted"
    assert actions(gone) == actions(predicted)
    pods = json.loads(plane.server.request("GET", PLACES["Pod"].format(plane.namespace)))["items"]
    assert [pod["metadata"]["name"] for pod in pods] == ["theirs"]
    # Also those that an earlier run gave up on, when nothing else is left.
    plane.make("Pod", "ovn-northbound-0", labels=labels, spec=spec)
    assert touched(plane(state="absent")) == {"Pod ovn-northbound-0": "deleted"}
    assert not plane(state="absent")["changed"]


def test_a_stateful_set_on_its_way_out_is_made_when_it_is_gone(plane: ControlPlane, kubelet: Kubelet) -> None:
    """A run was killed before the garbage collector had let the pods go."""
    options: dict[str, t.Any] = {"spec": WHOLE, "wait": False, "wait_timeout": 120}
    plane(**options)
    path = f"{PLACES['StatefulSet'].format(plane.namespace)}/ovn-northbound"
    uid = plane.get("StatefulSet", "ovn-northbound")["metadata"]["uid"]
    plane.server.request("DELETE", path, {"propagationPolicy": "Orphan"})
    assert plane(check=True, **options)["changed"]
    collector = threading.Timer(3, kubelet.orphaned, (plane.namespace, "ovn-northbound"))
    collector.start()
    try:
        again = plane(**options)
    finally:
        collector.join()
    assert touched(again) == {"StatefulSet ovn-northbound": "created"}
    there = plane.get("StatefulSet", "ovn-northbound")
    assert (there["spec"]["replicas"], again["northbound"]["verdict"]) == (3, "healthy")
    assert there["metadata"]["uid"] != uid


def test_a_removal_that_takes_too_long_tells_what_it_did(plane: ControlPlane) -> None:
    plane.begin()
    owner = plane.get("StatefulSet", "ovn-southbound")["metadata"]
    labels = {"app.kubernetes.io/instance": "ovn", "app.kubernetes.io/component": "southbound"}
    reference = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": owner["name"], "uid": owner["uid"]}
    spec = {"containers": [{"name": "database", "image": "none"}]}
    plane.make("Pod", "ovn-southbound-0", labels=labels, spec=spec)  # nobody ends it
    plane.patch("Pod", "ovn-southbound-0", {"metadata": {"ownerReferences": [reference]}})
    late = plane(state="absent", wait_timeout=1, may_fail=True)
    assert "Pods ovn-southbound-0" in late["msg"]
    assert late["changed"]
    assert touched(late)["StatefulSet ovn-southbound"] == "deleted"


def test_absent_takes_what_a_run_made_a_moment_before(plane: ControlPlane, monkeypatch: pytest.MonkeyPatch) -> None:
    plane.late()
    real = lease.RunLease.take

    def slow(*arguments: t.Any) -> bool:
        monkeypatch.setattr(lease.RunLease, "take", real)
        plane.make("ServiceAccount", "ovn-late", labels=hypervisors())
        return real(*arguments)

    monkeypatch.setattr(lease.RunLease, "take", slow)
    assert touched(plane(state="absent"))["ServiceAccount ovn-late"] == "deleted"
    assert not {name for name in plane.ours() if name.startswith("ServiceAccount")}


def test_absent_leaves_a_lease_that_another_run_took(plane: ControlPlane, monkeypatch: pytest.MonkeyPatch) -> None:
    """With `break_lock` for example: it is in use, and whoever loses it would have a third run beside him."""
    plane.late()
    real = lease.RunLease.remove

    def slow(*arguments: t.Any) -> None:
        plane.patch("Lease", "ovn-run", {"spec": {"holderIdentity": "another"}}, manager="another")
        real(*arguments)

    monkeypatch.setattr(lease.RunLease, "remove", slow)
    plane(state="absent")
    assert plane.get("Lease", "ovn-run")["spec"]["holderIdentity"] == "another"


def test_absent_without_anything(plane: ControlPlane) -> None:
    assert not plane(state="absent", namespace=f"{plane.namespace}-nowhere")["changed"]


def test_after_absent_the_same_cluster_is_expected(plane: ControlPlane) -> None:
    plane.record("northbound", cid=CID)
    plane(may_fail=True)
    plane.claim("northbound", 0)
    plane(state="absent")
    assert plane.recorded("northbound")["cid"] == CID
    ran = plane(check=True, may_fail=True)
    assert not any("create the northbound" in step for step in ran.get("steps", []))


def hypervisors() -> dict[str, str]:
    return {
        "app.kubernetes.io/name": "ovn",
        "app.kubernetes.io/instance": "ovn",
        "app.kubernetes.io/managed-by": "c5c3.ovn",
    }


# --- information ------------------------------------------------------------------------------------------------------


def test_info_without_a_control_plane(plane: ControlPlane) -> None:
    nothing = plane.info()
    assert nothing["exists"] is False
    assert nothing["endpoints"] == {f"{d}bound{s}": "" for d in ("north", "south") for s in ("", "_inside")}
    assert nothing["cluster"] == {}


def test_info_of_one_that_is_not_exposed(plane: ControlPlane) -> None:
    plane.late()
    found = plane.info()
    assert found["exists"] is True
    assert found["tls_secret"] == ""
    names = [f"ovn-northbound-{n}.ovn-northbound.{plane.namespace}.svc.cluster.local" for n in range(3)]
    assert found["endpoints"]["northbound"] == ",".join(f"tcp:{name}:6641" for name in names)
    assert found["endpoints"]["northbound"] == found["endpoints"]["northbound_inside"]


def test_info_of_node_ports(plane: ControlPlane) -> None:
    spec = {"southbound": {"service": {"type": "NodePort"}}, "tls": {"certSecretRef": {"name": "tls"}}}
    plane.late(spec=spec)
    content = {"ca.crt": "Q0E=", "tls.crt": "eA==", "tls.key": "eA=="}
    plane.make("Secret", "tls", data=content)
    nodes = [f"info-{plane.namespace}-{n}" for n in range(3)]
    for number, name in enumerate(nodes):
        status = {
            "addresses": [{"type": "InternalIP", "address": f"192.0.2.{10 + number}"}],
            "conditions": [{"type": "Ready", "status": "True"}],
        }
        plane.server.request("POST", "/api/v1/nodes", {"metadata": {"name": name}, "status": status})
    try:
        found = plane.info()
    finally:
        for name in nodes:
            plane.server.request("DELETE", f"/api/v1/nodes/{name}")
    ports = [plane.get("Service", f"ovn-southbound-{n}")["spec"]["ports"][0]["nodePort"] for n in range(3)]
    assert found["endpoints"]["southbound"] == ",".join(f"ssl:192.0.2.{10 + n}:{ports[n]}" for n in range(3))
    assert found["endpoints"]["northbound"] == found["endpoints"]["northbound_inside"]
    assert found["tls_secret"] == "tls"
    assert found["ca_certificate"] == "CA"
    # Without nodes there is no way in from outside, and names that only pods know are no answer.
    endpoints = plane.info()["endpoints"]
    assert endpoints["southbound"] == ""
    assert endpoints["southbound_inside"]


def test_each_member_is_advertised_through_the_node_that_carries_it(plane: ControlPlane) -> None:
    """One node that loses its power costs one address of three. A member that has no node for a moment keeps its address."""
    plane.late(spec={**SPEC, "southbound": {"service": {"type": "NodePort"}}})
    nodes = [f"carries-{plane.namespace}-{n}" for n in range(4)]
    labels = {"app.kubernetes.io/instance": "ovn", "app.kubernetes.io/component": "southbound"}

    def tell(number: int, ready: str) -> None:
        status = {
            "addresses": [{"type": "InternalIP", "address": f"192.0.2.{10 + number}"}],
            "conditions": [{"type": "Ready", "status": ready}],
        }
        plane.server.request("PATCH", f"/api/v1/nodes/{nodes[number]}/status", {"status": status})

    def hosts() -> list[str]:
        return [one.split(":")[1] for one in plane.info()["endpoints"]["southbound"].split(",")]

    try:
        for number, name in enumerate(nodes):
            plane.server.request("POST", "/api/v1/nodes", {"metadata": {"name": name}})
            tell(number, "True")
        for index, number in enumerate((3, 1, 0)):
            containers = [{"name": "database", "image": "none"}]
            pod = f"ovn-southbound-{index}"
            plane.make("Pod", pod, labels=labels, spec={"nodeName": nodes[number], "containers": containers})
            address = f"192.0.2.{10 + number}"
            plane.patch("Pod", f"{pod}/status", {"status": {"hostIP": address, "hostIPs": [{"ip": address}]}})
        carried = ["192.0.2.13", "192.0.2.11", "192.0.2.10"]
        assert hosts() == carried
        tell(1, "Unknown")  # its power is off
        assert hosts() == carried
        known = {"northbound": "", "southbound": plane.info()["endpoints"]["southbound"]}
        plane.patch("OVNCluster", "ovn/status", {"status": {"endpoints": known}})
        plane.server.request(
            "DELETE", f"{PLACES['Pod'].format(plane.namespace)}/ovn-southbound-1", {"gracePeriodSeconds": 0}
        )
        assert hosts() == carried
        plane.make("Pod", "ovn-southbound-1", labels=labels, spec={"nodeName": nodes[2], "containers": containers})
        assert hosts() == ["192.0.2.13", "192.0.2.12", "192.0.2.10"]
    finally:
        for name in nodes:
            plane.server.request("DELETE", f"/api/v1/nodes/{name}")


def test_the_modules_as_ansible_runs_them(plane: ControlPlane, run_module: RunModule) -> None:
    options = {"kubeconfig": plane.server.kubeconfig, "namespace": plane.namespace}
    predicted = run_module("ovn_cluster", {**options, "spec": SPEC}, check=True)
    assert predicted["changed"]
    assert predicted["requests"] > 0
    assert run_module("ovn_cluster_info", options)["exists"] is False
