"""ovn_cluster on a real API server: pods that do not start, why, and what the run does about them."""

from __future__ import annotations

import time
import typing as t

import _control_plane
import pytest
from _control_plane import (
    PLACES,
    SIZES,
    WHOLE,
    ControlPlane,
    actions,
    available,
    recreated,
    touched,
)
from _pods_on_api import Controllers, Kubelet
from conftest import until

from ansible_collections.c5c3.ovn.plugins.module_utils._control_plane import control_plane

plane, kubelet = _control_plane.plane, _control_plane.kubelet  # fixtures


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
    ran = plane(spec=WHOLE, wait=wait, wait_timeout=3600, may_fail=wait)
    assert ran.failed is wait
    told = ran["msg"] if wait else [words for words in ran.warnings if "ovn-northbound-2 does not" in words][-1]
    assert "ovn-northbound-2 does not take part" in told
    assert "Pod ovn-northbound-2 has no node: 0/3 nodes are available" in told
    assert {"Deployment ovn-northd", "ConfigMap ovn-config"} <= set(actions(ran))
    conditions = {c["type"]: c["message"] for c in plane.get("OVNCluster", "ovn")["status"]["conditions"]}
    assert conditions["NorthboundReady"].startswith("2 of 3 members take part")
    assert not any(d["action"] != "unchanged" for d in ran["objects"])
    # Until the minute is over, whoever waits waits: the scheduler may find a node yet.
    stopped.unscheduled("0/3 nodes are available.", seconds=12)
    late = plane(spec=WHOLE, wait=wait, wait_timeout=3600, may_fail=wait)
    assert not wait or late.seconds > 4


IMAGE = 'Back-off pulling image "registry.example.com/no-ovn:1": not found'


CLASS = 'storageclass.storage.k8s.io "nope" not found'


QUOTA = 'create Pod ovn-northbound-0 in StatefulSet ovn-northbound failed error: pods "ovn-northbound-0" is forbidden: exceeded quota: small'


def no_image(plane: ControlPlane, database: str) -> None:
    """Its kubelet pauses, so the run has it recreated, and the new one fares no better."""

    def waits(_controllers: object, _namespace: str, name: str) -> None:
        Trouble(plane, f"{name}-0").waiting("ImagePullBackOff", IMAGE)

    waits(None, "", f"ovn-{database}")
    plane.monkeypatch.setattr(Controllers, "requeued", waits)


def no_class(plane: ControlPlane, database: str) -> None:
    """Since long before the run, and told again in it."""
    Trouble(plane, f"ovn-{database}-0").unscheduled("pod has unbound immediate PersistentVolumeClaims", seconds=600)
    event(plane, "PersistentVolumeClaim", f"data-ovn-{database}-0", "ProvisioningFailed", CLASS, seconds=-10)


def no_quota(plane: ControlPlane, database: str) -> None:
    """Its controller says so each time it tries, which it does when it is asked."""

    def requeued(_controllers: Controllers, _namespace: str, name: str) -> None:
        event(plane, "StatefulSet", name, "FailedCreate", QUOTA.replace("northbound", name.split("-")[1]))

    assert database in SIZES
    plane.monkeypatch.setattr(Controllers, "requeued", requeued)


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
    ran = plane(may_fail=True, wait_timeout=3600)
    assert ran.failed
    for part in [*words, "run again"]:
        assert part in ran["msg"], ran["msg"]
    assert ran["msg"].count("Kubernetes says") == 2  # once for each database
    record = plane.recorded("northbound")
    assert (record["permit"]["member"], record["cid"]) == ("ovn-northbound-0", None)
    assert not plane.get("Lease", "ovn-run")["spec"].get("holderIdentity")


def test_a_registry_that_is_there_again(plane: ControlPlane, kubelet: Kubelet, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kubelets pause for minutes, and the next run does not wait for that: with new pods they try at once."""
    monkeypatch.setattr(control_plane, "await_workloads", lambda _cluster, _wanted, seen, *_: seen)
    monkeypatch.setattr(control_plane, "observer_warning", lambda *_: "")
    kubelet.has_image = False
    assert "the registry is away" in plane(spec=WHOLE, may_fail=True, wait_timeout=100)["msg"]
    kubelet.has_image = True
    recreated = [f"recreate the pod ovn-{d}-0: its image is pulled again at once, and it never started" for d in SIZES]
    predicted = plane(check=True, spec=WHOLE)
    assert predicted["steps"] == recreated
    assert sum("What follows" in words for words in predicted.warnings) == len(SIZES)
    ran = plane(spec=WHOLE, wait_timeout=100)
    assert set(recreated) < set(ran["steps"])
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
    assert "recreate the pod ovn-northbound-2" in " ".join(again["steps"]), again["msg"]
    assert plane.get("Pod", "ovn-northbound-2")["metadata"]["uid"] != before


def test_check_mode_goes_on_over_claims_whose_pods_the_run_creates(
    plane: ControlPlane, kubelet: Kubelet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Records, StatefulSet and pods are gone, and the claims stay: a run creates the pods and asks their launchers."""
    monkeypatch.setattr(control_plane, "await_workloads", lambda _cluster, _wanted, seen, *_: seen)
    monkeypatch.setattr(control_plane, "observer_warning", lambda *_: "")
    plane(spec=WHOLE, wait_timeout=120)
    cid = plane.recorded("northbound")["cid"]
    plane.remove("ConfigMap", "ovn-northbound-record")
    recreated(plane, kubelet, "northbound")
    for member in kubelet.members.values():
        for name in ("cid", "members"):
            (member.record / name).write_text("")
    predicted = plane(check=True, spec=WHOLE)
    pods = ", ".join(f"ovn-northbound-{index}" for index in range(SIZES["northbound"]))
    assert f"What follows for northbound is known when {pods} runs." in predicted.warnings
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
