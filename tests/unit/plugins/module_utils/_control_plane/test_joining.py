"""Pods that are recreated while a member is waited for, and those that are not."""

from __future__ import annotations

import types
import typing as t

import pytest
from fake_cluster import FakeCluster

from ansible_collections.c5c3.ovn.plugins.module_utils._base.deadline import Deadline
from ansible_collections.c5c3.ovn.plugins.module_utils._control_plane import joining
from ansible_collections.c5c3.ovn.plugins.module_utils._control_plane.pod_steps import PodMembers

NAME = "ovn-northbound-1"
Object = dict[str, t.Any]


def cluster_with(uid: str = "a", version: str = "1") -> FakeCluster:
    """Its StatefulSet makes pods of revision r2. `uid` and `version`: of the pod that is there now."""
    metadata = {"name": "ovn-northbound", "namespace": "x"}
    made = {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": metadata, "status": {"updateRevision": "r2"}}
    now = {"name": NAME, "namespace": "x", "uid": uid, "resourceVersion": version}
    return FakeCluster(made, {"apiVersion": "v1", "kind": "Pod", "metadata": now})


def pod(revision: str = "r1", leaves: bool = False, crashed: int = 0) -> Object:
    gone = {"deletionTimestamp": "2026-01-01T00:00:00Z"} if leaves else {}
    labels = {"controller-revision-hash": revision}
    waiting = {"name": "database", "restartCount": crashed, "state": {"waiting": {"reason": "CrashLoopBackOff"}}}
    return {
        "metadata": {"name": NAME, "namespace": "x", "uid": "a", "resourceVersion": "1", "labels": labels, **gone},
        "status": {"containerStatuses": [waiting]},
    }


def parsed(running: bool, revision: int | None) -> t.Any:
    return types.SimpleNamespace(
        answer=types.SimpleNamespace(server=None, status=None), running=running, revision=revision
    )


OLD_RECORD = parsed(False, 1)


def wait_for(cluster: FakeCluster, again: t.Any = OLD_RECORD) -> joining.JoinWait:
    """`again`: what the member says when it is asked once more, None if it does not answer."""
    members = PodMembers(cluster, "x", "ovn", "northbound")
    t.cast(t.Any, members).examine = lambda *_: {} if again is None else {NAME: again}
    return joining.JoinWait(members, NAME, t.cast(t.Any, types.SimpleNamespace(revision=2)), Deadline(5))


@pytest.mark.parametrize(
    ("there", "seen", "deletions"),
    [
        (pod(), None, 1),
        (pod("r2"), None, 0),
        (pod(leaves=True), None, 0),
        (pod(crashed=1), None, 0),
        (pod(crashed=3), None, 1),
        (pod("r2", crashed=3), None, 0),
        (pod(leaves=True, crashed=3), None, 0),
        (pod("r2"), OLD_RECORD, 1),
        (pod("r2", leaves=True), OLD_RECORD, 0),
    ],
    ids=[
        "one of an old template that does not run",
        "one of the new template that does not run",
        "one of an old template that is terminating",
        "one of an old template that crashed, and starts again by itself",
        "one of an old template that ends at once each time",
        "one of the new template that ends at once each time",
        "one that ends at once each time and is terminating",
        "one that never sees the record",
        "one that never sees the record and is terminating",
    ],
)
def test_what_is_recreated(there: Object, seen: t.Any, deletions: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joining, "_RECREATE_SECONDS", -1)
    cluster = cluster_with()
    assert not wait_for(cluster).has_joined(there, seen)
    assert [call.name for call in cluster.deleted] == [NAME] * deletions


@pytest.mark.parametrize(
    ("uid", "version", "deletions"),
    [("a", "1", 1), ("a", "2", 0), ("b", "3", 0)],
    ids=["as it was seen", "it runs by now", "another one by now"],
)
def test_a_pod_that_never_started_is_deleted_as_it_was_seen(uid: str, version: str, deletions: int) -> None:
    cluster = cluster_with(uid, version)
    assert not wait_for(cluster).has_joined(pod(), None)
    assert [call.name for call in cluster.deleted] == [NAME] * deletions


@pytest.mark.parametrize(
    ("again", "deletions"),
    [(OLD_RECORD, 1), (parsed(True, 1), 0), (parsed(False, 2), 0), (None, 0)],
    ids=["it waits", "its server runs by now", "it has the record by now", "it does not answer"],
)
def test_a_pod_that_waits_with_an_old_record_is_asked_once_more(
    again: t.Any, deletions: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first answer may be as old as the slowest member took."""
    monkeypatch.setattr(joining, "_RECREATE_SECONDS", -1)
    cluster = cluster_with()
    assert not wait_for(cluster, again).has_joined(pod("r2"), OLD_RECORD)
    assert [call.name for call in cluster.deleted] == [NAME] * deletions
