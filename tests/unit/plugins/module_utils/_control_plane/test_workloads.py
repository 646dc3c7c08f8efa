"""Waiting for northd ends when it cannot help, and an observer that is missing is a warning."""

from __future__ import annotations

import types
import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._control_plane import workloads
from ansible_collections.c5c3.ovn.plugins.module_utils._deadline import Deadline
from ansible_collections.c5c3.ovn.plugins.module_utils._errors import TimedOut
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes import pod_startup as outlook
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.moment import seconds

Object = dict[str, t.Any]
WANTED = types.SimpleNamespace(
    name="ovn", namespace="x", spec=types.SimpleNamespace(northd=types.SimpleNamespace(replicas=3))
)


def deployment(available: int, **status: t.Any) -> Object:
    counts = {"observedGeneration": 1, "updatedReplicas": 3, "availableReplicas": available}
    return {"metadata": {"generation": 1}, "spec": {"replicas": 3}, "status": {**counts, **status}}


def replica_set(number: int, **status: t.Any) -> Object:
    metadata = {
        "name": f"ovn-northd-{number}",
        "uid": f"uid-{number}",
        "annotations": {"deployment.kubernetes.io/revision": str(number)},
        "ownerReferences": [{"kind": "Deployment", "name": "ovn-northd", "uid": "d"}],
    }
    return {"metadata": metadata, "status": status}


class FakeCluster:
    """`seen` are the Deployments that the watch brings, one a look; the last one stays. There were nine templates before this one."""

    def __init__(
        self,
        *seen: Object,
        pods: t.Sequence[Object] = (),
        events: t.Sequence[Object] = (),
        sets: t.Sequence[Object] = (replica_set(10), replica_set(9)),
        puts_right: bool = False,
    ) -> None:
        self.seen, self.puts_right = list(seen), puts_right
        self.objects = {"Pod": list(pods), "Event": list(events), "ReplicaSet": list(sets)}
        self.patches: list[t.Any] = []
        self.deleted: list[t.Any] = []

    def watch(self, *_: t.Any, **__: t.Any) -> t.Iterator[tuple[str, Object]]:
        yield "ADDED", self.seen[0]
        if len(self.seen) > 1:
            self.seen.pop(0)

    def list(self, _api: str, kind: str, _namespace: str) -> list[Object]:
        return self.objects[kind]

    def delete(self, *what: t.Any, **conditions: str) -> bool:
        self.deleted.append((*what, conditions))
        return True

    def patch(self, *what: t.Any) -> None:
        self.patches.append(what)
        if self.puts_right:
            self.seen, self.objects["ReplicaSet"] = [deployment(3)], [replica_set(10)]


def wait(cluster: FakeCluster, seconds: float, seen: Object | None = None) -> Object:
    return workloads.await_workloads(t.cast(t.Any, cluster), t.cast(t.Any, WANTED), seen, Deadline(seconds))


def pod(reason: str, revision: int = 10, restarts: int = 0) -> Object:
    state = {"waiting": {"reason": reason, "message": "no such image"}}
    return {
        "metadata": {
            "name": f"ovn-northd-{revision}-a",
            "namespace": "x",
            "uid": "p",
            "resourceVersion": "7",
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "ownerReferences": [{"kind": "ReplicaSet", "uid": f"uid-{revision}"}],
        },
        "status": {"containerStatuses": [{"name": "northd", "state": state, "restartCount": restarts}]},
    }


def test_what_was_seen_counts_and_what_was_not_is_waited_for() -> None:
    assert wait(FakeCluster(deployment(0)), 0, deployment(3)) == deployment(3)
    assert wait(FakeCluster(deployment(1), deployment(3)), 30) == deployment(3)


FAILURE = {"type": "ReplicaFailure", "status": "True", "message": "exceeded quota: small"}


@pytest.mark.parametrize(
    ("cluster", "words"),
    [
        (FakeCluster(deployment(1), pods=[pod("ImagePullBackOff")]), "ImagePullBackOff: no such image"),
        (FakeCluster(deployment(0), sets=[replica_set(10, conditions=[FAILURE])]), "waiting does not change that"),
        (
            FakeCluster(
                deployment(0),
                sets=[replica_set(10, conditions=[FAILURE])],
                events=[
                    {
                        "metadata": {},
                        "type": "Warning",
                        "reason": "FailedCreate",
                        "message": "exceeded quota: small",
                        "involvedObject": {"kind": "ReplicaSet", "name": "ovn-northd-10"},
                    }
                ],
            ),
            "ReplicaSet ovn-northd-10: exceeded quota: small",
        ),
    ],
    ids=["no image", "a full quota", "a full quota, told by an event"],
)
def test_what_does_not_come_by_itself_ends_the_wait(
    cluster: FakeCluster, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workloads, "PATIENCE", 0)
    monkeypatch.setattr(outlook, "PATIENCE", 0)
    deadline = Deadline(20)
    with pytest.raises(TimedOut, match="pods of Deployment ovn-northd were available, and waiting does not") as caught:
        workloads.await_workloads(t.cast(t.Any, cluster), t.cast(t.Any, WANTED), None, deadline)
    assert words in str(caught.value)
    assert "run again" in str(caught.value)
    assert not deadline.expired


def test_a_refusal_is_believed_after_another_attempt(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a quota that was raised would end the next run as well."""
    monkeypatch.setattr(workloads, "PATIENCE", 0)
    cluster = FakeCluster(deployment(0), sets=[replica_set(10, conditions=[FAILURE])], puts_right=True)
    assert wait(cluster, 30) == deployment(3)
    ((api, kind, name, namespace, patch),) = cluster.patches
    assert (api, kind, name, namespace, list(patch)) == ("apps/v1", "Deployment", "ovn-northd", "x", ["metadata"])


@pytest.mark.parametrize(
    "cluster",
    [
        FakeCluster(*[deployment(2)] * 5, deployment(3), pods=[pod("ImagePullBackOff", 9)]),
        FakeCluster(*[deployment(2)] * 5, deployment(3), sets=[replica_set(10), replica_set(9, conditions=[FAILURE])]),
    ],
    ids=["a pod without an image", "a full quota"],
)
def test_troubles_of_an_older_template_do_not_count(cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workloads, "PATIENCE", 0)
    assert wait(cluster, 30) == deployment(3)


@pytest.mark.parametrize(
    ("there", "deletions"),
    [
        (pod("ImagePullBackOff"), 1),
        (pod("ContainerCreating"), 0),
        (pod("ImagePullBackOff", 9), 0),
        (pod("ImagePullBackOff", restarts=1), 0),
    ],
    ids=["its kubelet pauses", "is being made", "of an older template", "it ran before"],
)
def test_a_pod_whose_kubelet_pauses_is_made_anew_once(there: Object, deletions: int) -> None:
    """The image may be there by now, and the kubelet would look in five minutes."""
    cluster = FakeCluster(*[deployment(2)] * 5, deployment(3), pods=[there])
    assert wait(cluster, 30) == deployment(3)
    expected = ("v1", "Pod", there["metadata"]["name"], "x", {"uid": "p", "resource_version": "7"})
    assert cluster.deleted == [expected] * deletions


def test_an_age_is_told_by_the_clock_of_the_api_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """By this machine's clock, which is wrong, the pod would be old."""
    monkeypatch.setattr(workloads, "PATIENCE", 0)
    cluster = FakeCluster(*[deployment(2)] * 5, deployment(3), pods=[pod("ImagePullBackOff")])
    made = seconds("2026-01-01T00:00:00Z")
    found = workloads.await_workloads(
        t.cast(t.Any, cluster), t.cast(t.Any, WANTED), None, Deadline(30), lambda: made + 5
    )
    assert found == deployment(3)


def test_what_may_come_is_waited_for_until_the_time_is_up() -> None:
    with pytest.raises(TimedOut, match="2 of 3 pods of Deployment ovn-northd were available when the time was up"):
        wait(FakeCluster(deployment(2), pods=[pod("ContainerCreating")]), 0)


def test_an_observer_that_is_missing_is_a_warning() -> None:
    def trouble(cluster: FakeCluster, seen: Object | None) -> str:
        return workloads.observer_trouble(t.cast(t.Any, cluster), t.cast(t.Any, WANTED), seen)

    assert trouble(FakeCluster(deployment(0)), deployment(3)) == ""
    assert trouble(FakeCluster(deployment(3)), None) == ""
    assert "ovn-observer is not available, so nobody keeps the status" in trouble(FakeCluster(deployment(0)), None)
