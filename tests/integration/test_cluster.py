"""ovn_cluster and ovn_cluster_info against a real API server. Nobody runs pods there: databases never come up, the objects around them do."""

from __future__ import annotations

import json
import pathlib
import threading
import typing as t

import _control_plane
import pytest
from _control_plane import (
    OTHER_CID,
    SIZES,
    SPEC,
    WHOLE,
    ControlPlane,
    available,
    recreated,
    touched,
)
from _pods_on_api import Kubelet
from conftest import Ran, RunModule, until

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import TimedOut
from ansible_collections.c5c3.ovn.plugins.module_utils._control_plane import control_plane
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.record import parse_record, render_files

plane, kubelet = _control_plane.plane, _control_plane.kubelet  # fixtures


# Written when both databases are in order, which they never are here.
LATER = {"Deployment ovn-northd", "Deployment ovn-observer", "ConfigMap ovn-config"}
# They get more pods as members join.
GROWING = {"StatefulSet ovn-northbound": "changed", "StatefulSet ovn-southbound": "changed"}


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
    assert touched(again) == {**GROWING, **dict.fromkeys(LATER, "created")}
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
    assert touched(predicted) == {**drift, **GROWING, **dict.fromkeys(LATER, "created")}
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
    image = {"agentImage": {"repository": "example.org/python", "tag": "3"}}
    options: dict[str, t.Any] = {"spec": {**WHOLE, **image}, "wait": False, "wait_timeout": 120}
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
    images = {
        container["name"]: container["image"]
        for name in ("ovn-northd", "ovn-observer")
        for container in plane.get("Deployment", name)["spec"]["template"]["spec"]["containers"]
    }
    assert images.pop("northd").startswith("ghcr.io/c5c3/ovn:")
    assert images == dict.fromkeys(("status", "observer"), "example.org/python:3")

    before = plane.ours()
    again = plane(**options)
    assert not again["changed"]
    assert again["steps"] == []
    assert plane.ours() == before
    assert again["requests"] <= len(again["objects"])

    kept = {name: member.cid for name, member in kubelet.members.items()}
    slower = {**options["spec"], "northbound": {"replicas": 3, "electionTimer": 3000}}
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


def test_restarts_that_are_due_are_reported_until_they_are_done(plane: ControlPlane, kubelet: Kubelet) -> None:
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

    asked = spec(northbound={**WHOLE["northbound"], "restartedAt": "2026-01-01T00:00:00Z"})
    waits = plane(**options, spec=asked, restart=False)
    names = "ovn-northbound-0, ovn-northbound-1, ovn-northbound-2"
    assert up_to_date(waits) == ("False", "RestartsDue", f"A restart is due on {names}: its pod template has changed.")
    assert waits["cluster"]["status"]["observedGeneration"] == 1
    assert waits["cluster"]["metadata"]["generation"] == 2
    assert not plane(**options, spec=asked, restart=False)["changed"]
    predicted = plane(check=True, **options, spec=asked)
    done = plane(**options, spec=asked)
    assert done["steps"] == predicted["steps"]
    assert len(done["steps"]) == 3
    assert waits["northbound"]["leader"] in done["steps"][-1]
    assert up_to_date(done)[0] == "True"
    assert done["cluster"]["status"]["observedGeneration"] == 2
    assert not plane(**options, spec=asked)["changed"]


def test_the_status_is_reported_although_northd_does_not_come(
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
    told = [one for one in ran.warnings if words in one]
    assert told
    assert "docs/kubernetes-operations.md" in told[0]
    assert not any("Northbound database has schema" in one for one in ran.warnings)


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
    held = plane.get("Lease", "ovn-run")["spec"].get("holderIdentity")
    assert held  # nobody could give it back; it ends by itself, and who is in a hurry takes it over
    plane.late(break_lock=True)
    assert {"StatefulSet ovn-northbound", "StatefulSet ovn-southbound"} <= set(plane.ours())
    assert all(plane.get("StatefulSet", f"ovn-{d}bound") for d in ("north", "south"))


def test_the_api_server_freezes_midway(plane: ControlPlane) -> None:
    """Once the first objects are there, it accepts connections and says nothing. The next run finishes what was begun."""
    refused = run_while(plane, plane.server.freeze, plane.server.thaw, wait_timeout=60)
    assert refused.failed
    assert plane.server.url in refused["msg"]
    assert "no answer" in refused["msg"] or "within" in refused["msg"], refused["msg"]
    plane.late(break_lock=True)
    assert {"StatefulSet ovn-northbound", "StatefulSet ovn-southbound"} <= set(plane.ours())


def test_the_modules_as_ansible_runs_them(plane: ControlPlane, run_module: RunModule) -> None:
    options = {"kubeconfig": plane.server.kubeconfig, "namespace": plane.namespace}
    predicted = run_module("ovn_cluster", {**options, "spec": SPEC}, check=True)
    assert predicted["changed"]
    assert predicted["requests"] > 0
    assert run_module("ovn_cluster_info", options)["exists"] is False
