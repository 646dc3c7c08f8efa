"""Waiting for northd ends when it cannot help, and an observer that is missing is a warning."""

from __future__ import annotations

import types
import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._deadline import Deadline
from ansible_collections.c5c3.ovn.plugins.module_utils._errors import TimedOut
from ansible_collections.c5c3.ovn.plugins.module_utils._rollout import workloads

Object = dict[str, t.Any]
WANTED = types.SimpleNamespace(
    name="ovn", namespace="x", spec=types.SimpleNamespace(northd=types.SimpleNamespace(replicas=3))
)


def deployment(available: int, **status: t.Any) -> Object:
    counts = {"observedGeneration": 1, "updatedReplicas": 3, "availableReplicas": available}
    return {"metadata": {"generation": 1}, "spec": {"replicas": 3}, "status": {**counts, **status}}


class FakeCluster:
    """`seen` are the Deployments that the watch brings, one a look; the last one stays."""

    def __init__(self, *seen: Object, pods: t.Sequence[Object] = (), events: t.Sequence[Object] = ()) -> None:
        self.seen, self.objects = list(seen), {"Pod": list(pods), "Event": list(events)}

    def watch(self, *_: t.Any, **__: t.Any) -> t.Iterator[tuple[str, Object]]:
        yield "ADDED", self.get()
        if len(self.seen) > 1:
            self.seen.pop(0)

    def get(self, *_: t.Any) -> Object:
        return self.seen[0]

    def list(self, _api: str, kind: str, _namespace: str) -> list[Object]:
        return self.objects[kind]


def wait(cluster: FakeCluster, seconds: float, seen: Object | None = None) -> Object:
    return workloads.await_workloads(t.cast(t.Any, cluster), t.cast(t.Any, WANTED), seen, Deadline(seconds))


def pod(reason: str) -> Object:
    state = {"waiting": {"reason": reason, "message": "no such image"}}
    return {
        "metadata": {"name": "ovn-northd-a", "creationTimestamp": "2026-01-01T00:00:00Z"},
        "status": {"containerStatuses": [{"name": "northd", "state": state}]},
    }


def test_what_was_seen_counts_and_what_was_not_is_waited_for() -> None:
    assert wait(FakeCluster(deployment(0)), 0, deployment(3)) == deployment(3)
    assert wait(FakeCluster(deployment(1), deployment(3)), 30) == deployment(3)


FAILURE = {"type": "ReplicaFailure", "status": "True", "message": "exceeded quota: small"}


@pytest.mark.parametrize(
    ("cluster", "words"),
    [
        (FakeCluster(deployment(1), pods=[pod("ImagePullBackOff")]), "ImagePullBackOff: no such image"),
        (FakeCluster(deployment(0, conditions=[FAILURE])), "waiting does not change that"),
    ],
    ids=["no image", "a full quota"],
)
def test_what_does_not_come_by_itself_ends_the_wait(
    cluster: FakeCluster, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workloads, "PATIENCE", 0)
    deadline = Deadline(600)
    with pytest.raises(TimedOut, match="pods of Deployment ovn-northd were available, and waiting does not") as caught:
        workloads.await_workloads(t.cast(t.Any, cluster), t.cast(t.Any, WANTED), None, deadline)
    assert words in str(caught.value)
    assert "run again" in str(caught.value)
    assert deadline.elapsed < 60


def test_what_may_come_is_waited_for_until_the_time_is_up() -> None:
    with pytest.raises(TimedOut, match="2 of 3 pods of Deployment ovn-northd were available when the time was up"):
        wait(FakeCluster(deployment(2), pods=[pod("ContainerCreating")]), 0)


def test_an_observer_that_is_missing_is_a_warning() -> None:
    def trouble(cluster: FakeCluster, seen: Object | None) -> str:
        return workloads.observer_trouble(t.cast(t.Any, cluster), t.cast(t.Any, WANTED), seen)

    assert trouble(FakeCluster(deployment(0)), deployment(3)) == ""
    assert trouble(FakeCluster(deployment(3)), None) == ""
    assert "ovn-observer is not available, so nobody keeps the status" in trouble(FakeCluster(deployment(0)), None)
