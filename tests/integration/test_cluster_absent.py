"""ovn_cluster on a real API server: what goes with state=absent, and what stays."""

from __future__ import annotations

import json
import threading
import typing as t

import _control_plane
import pytest
from _control_plane import (
    CID,
    PLACES,
    WHOLE,
    ControlPlane,
    actions,
    hypervisors,
    touched,
)
from _pods_on_api import Kubelet

from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes import lease

plane, kubelet = _control_plane.plane, _control_plane.kubelet  # fixtures


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
        "ConfigMap ovn-northbound-witness",
        "ConfigMap ovn-southbound-record",
        "ConfigMap ovn-southbound-witness",
        "PersistentVolumeClaim data-ovn-northbound-0",
        "PersistentVolumeClaim data-ovn-southbound-0",
    ]
    assert gone["kept"] == data
    assert set(plane.ours()) == {"ConfigMap of-hypervisors", *data[:4]}
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
    """A run that recreates a StatefulSet was killed in between: nobody else would end its pods."""
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
    real = lease.RunLease.acquire_or_renew

    def slow(*arguments: t.Any) -> bool:
        monkeypatch.setattr(lease.RunLease, "acquire_or_renew", real)
        plane.make("ServiceAccount", "ovn-late", labels=hypervisors())
        return real(*arguments)

    monkeypatch.setattr(lease.RunLease, "acquire_or_renew", slow)
    assert touched(plane(state="absent"))["ServiceAccount ovn-late"] == "deleted"
    assert not {name for name in plane.ours() if name.startswith("ServiceAccount")}


def test_absent_leaves_a_lease_that_another_run_took(plane: ControlPlane, monkeypatch: pytest.MonkeyPatch) -> None:
    """With `break_lock` for example: it is in use, and whoever loses it would have a third run beside him."""
    plane.late()
    real = lease.RunLease.delete

    def slow(*arguments: t.Any) -> None:
        plane.patch("Lease", "ovn-run", {"spec": {"holderIdentity": "another"}}, manager="another")
        real(*arguments)

    monkeypatch.setattr(lease.RunLease, "delete", slow)
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
