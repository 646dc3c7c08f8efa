"""Pods that are made anew while a member is waited for, and those that are not."""

from __future__ import annotations

import types
import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._deadline import Deadline
from ansible_collections.c5c3.ovn.plugins.module_utils._errors import Conflict
from ansible_collections.c5c3.ovn.plugins.module_utils._pods import joining
from ansible_collections.c5c3.ovn.plugins.module_utils._pods.act import PodMembers

NAME = "ovn-northbound-1"
Object = dict[str, t.Any]


class FakeCluster:
    """Its StatefulSet makes pods of revision r2. `uid`: of the pod that is there now."""

    def __init__(self, uid: str = "a") -> None:
        self.uid = uid
        self.deleted: list[str] = []

    def get(self, *_: t.Any) -> Object:
        return {"status": {"updateRevision": "r2"}}

    def delete(self, _api: str, _kind: str, name: str, _namespace: str, *, uid: str) -> bool:
        if uid != self.uid:
            raise Conflict(f"Pod {name} is another one")
        self.deleted.append(name)
        return True


def members_of(cluster: FakeCluster) -> PodMembers:
    return PodMembers(t.cast(t.Any, cluster), "x", "ovn", "northbound")


def pod(revision: str = "r1", leaves: bool = False) -> Object:
    gone = {"deletionTimestamp": "2026-01-01T00:00:00Z"} if leaves else {}
    return {"metadata": {"name": NAME, "uid": "a", "labels": {"controller-revision-hash": revision}, **gone}}


OLD_RECORD = types.SimpleNamespace(answer=types.SimpleNamespace(server=None), running=False, revision=1)


@pytest.mark.parametrize(
    ("there", "seen", "deletions"),
    [
        (pod(), None, 1),
        (pod("r2"), None, 0),
        (pod(leaves=True), None, 0),
        (pod("r2"), OLD_RECORD, 1),
        (pod("r2", leaves=True), OLD_RECORD, 0),
    ],
    ids=[
        "one of an old template that does not run",
        "one of the new template that does not run",
        "one of an old template that is on its way out",
        "one that never sees the record",
        "one that never sees the record and is on its way out",
    ],
)
def test_what_is_made_anew(there: Object, seen: t.Any, deletions: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joining, "_RECYCLE", -1)
    cluster = FakeCluster()
    record = t.cast(t.Any, types.SimpleNamespace(revision=2))
    wait = joining.Wait(members_of(cluster), NAME, record, Deadline(5))
    assert not wait.over(there, seen)
    assert cluster.deleted == [NAME] * deletions


@pytest.mark.parametrize(("uid", "renewed"), [("a", [NAME]), ("b", [])], ids=["the same", "another one by now"])
def test_only_the_pod_that_was_seen_is_made_anew(uid: str, renewed: list[str]) -> None:
    cluster = FakeCluster(uid)
    assert members_of(cluster).renew({NAME: pod()}) == renewed
    assert cluster.deleted == renewed
