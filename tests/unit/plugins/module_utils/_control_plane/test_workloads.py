"""Waiting for northd ends when it cannot help, and an observer that is missing is a warning."""

from __future__ import annotations

import types
import typing as t

import pytest
from fake_cluster import FakeCluster

from ansible_collections.c5c3.ovn.plugins.module_utils._base.deadline import Deadline
from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import TimedOut
from ansible_collections.c5c3.ovn.plugins.module_utils._control_plane import workloads
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes import pod_startup
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.timestamps import unix_seconds

Object = dict[str, t.Any]
WANTED = types.SimpleNamespace(
    name="ovn", namespace="x", spec=types.SimpleNamespace(northd=types.SimpleNamespace(replicas=3))
)


def deployment(available: int, name: str = "ovn-northd", **status: t.Any) -> Object:
    counts = {"observedGeneration": 1, "updatedReplicas": 3, "availableReplicas": available}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "x", "generation": 1},
        "spec": {"replicas": 3},
        "status": {**counts, **status},
    }


def replica_set(number: int, **status: t.Any) -> Object:
    metadata = {
        "name": f"ovn-northd-{number}",
        "namespace": "x",
        "uid": f"uid-{number}",
        "annotations": {"deployment.kubernetes.io/revision": str(number)},
        "ownerReferences": [{"kind": "Deployment", "name": "ovn-northd", "uid": "d"}],
    }
    return {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": metadata, "status": status}


SETS = (replica_set(10), replica_set(9))  # there were nine templates before this one


def cluster_with(*seen: Object, others: t.Sequence[Object] = (), sets: t.Sequence[Object] = SETS) -> FakeCluster:
    """`seen` are the Deployments that the watch brings, one a look; the last one stays."""
    cluster = FakeCluster(seen[0], *others, *sets)
    for one in seen:
        cluster.before("watch", lambda one=one: cluster.put(one))
    return cluster


def wait(cluster: FakeCluster, seconds: float, seen: Object | None = None) -> Object:
    """The status of the Deployment that came."""
    found = workloads.await_workloads(cluster, t.cast(t.Any, WANTED), seen, Deadline(seconds))
    return t.cast(Object, found["status"])


AVAILABLE = deployment(3)["status"]


def pod(reason: str, revision: int = 10, restarts: int = 0, name: str = "a") -> Object:
    state = {"waiting": {"reason": reason, "message": "no such image"}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"ovn-northd-{revision}-{name}",
            "namespace": "x",
            "uid": "p",
            "resourceVersion": "7",
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "ownerReferences": [{"kind": "ReplicaSet", "uid": f"uid-{revision}"}],
        },
        "status": {"containerStatuses": [{"name": "northd", "state": state, "restartCount": restarts}]},
    }


def test_what_was_seen_counts_and_what_was_not_is_waited_for() -> None:
    assert wait(cluster_with(deployment(0)), 0, deployment(3)) == AVAILABLE
    assert wait(cluster_with(deployment(1), deployment(3)), 30) == AVAILABLE


FAILURE = {"type": "ReplicaFailure", "status": "True", "message": "exceeded quota: small"}


@pytest.mark.parametrize(
    ("cluster", "message"),
    [
        (cluster_with(deployment(1), others=[pod("ImagePullBackOff")]), "ImagePullBackOff: no such image"),
        (cluster_with(deployment(0), sets=[replica_set(10, conditions=[FAILURE])]), "waiting does not change that"),
        (
            cluster_with(
                deployment(0),
                sets=[replica_set(10, conditions=[FAILURE])],
                others=[
                    {
                        "apiVersion": "v1",
                        "kind": "Event",
                        "metadata": {"name": "refused", "namespace": "x"},
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
    cluster: FakeCluster, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workloads, "PATIENCE", 0)
    monkeypatch.setattr(pod_startup, "PATIENCE", 0)
    deadline = Deadline(20)
    # Its ReplicaSet makes another one instead.
    cluster.before("delete", lambda: cluster.put(pod("ImagePullBackOff", name="b")))
    with pytest.raises(TimedOut, match="pods of Deployment ovn-northd were available, and waiting does not") as caught:
        workloads.await_workloads(cluster, t.cast(t.Any, WANTED), None, deadline)
    assert message in str(caught.value)
    assert "run again" in str(caught.value)
    assert not deadline.expired


def test_a_refusal_is_believed_after_another_attempt(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a quota that was raised would end the next run as well."""
    monkeypatch.setattr(workloads, "PATIENCE", 0)

    def put_right() -> None:
        cluster.put(deployment(3))
        cluster.put(replica_set(10))

    cluster = cluster_with(deployment(0), sets=[replica_set(10, conditions=[FAILURE])])
    cluster.before("patch", put_right)
    assert wait(cluster, 30) == AVAILABLE
    (patched,) = cluster.written
    assert (patched.verb, patched.kind, patched.name, list(patched.body)) == (
        *("patch", "Deployment", "ovn-northd"),
        ["metadata"],
    )


@pytest.mark.parametrize(
    "cluster",
    [
        cluster_with(*[deployment(2)] * 5, deployment(3), others=[pod("ImagePullBackOff", 9)]),
        cluster_with(*[deployment(2)] * 5, deployment(3), sets=[replica_set(10), replica_set(9, conditions=[FAILURE])]),
    ],
    ids=["a pod without an image", "a full quota"],
)
def test_troubles_of_an_older_template_do_not_count(cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workloads, "PATIENCE", 0)
    assert wait(cluster, 30) == AVAILABLE


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
def test_a_pod_whose_kubelet_pauses_is_recreated_once(there: Object, deletions: int) -> None:
    """The image may be there by now, and the kubelet would look in five minutes."""
    cluster = cluster_with(*[deployment(2)] * 5, deployment(3), others=[there])
    assert wait(cluster, 30) == AVAILABLE
    expected = ("Pod", there["metadata"]["name"], {"uid": "p", "resourceVersion": "7"})
    deleted = [(call.kind, call.name, call.body["preconditions"]) for call in cluster.deleted]
    assert deleted == [expected] * deletions


def test_an_age_is_told_by_the_clock_of_the_api_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """By this machine's clock, which is wrong, the pod would be old."""
    monkeypatch.setattr(workloads, "PATIENCE", 0)
    cluster = cluster_with(*[deployment(2)] * 5, deployment(3), others=[pod("ImagePullBackOff")])
    made = unix_seconds("2026-01-01T00:00:00Z")
    found = workloads.await_workloads(cluster, t.cast(t.Any, WANTED), None, Deadline(30), lambda: made + 5)
    assert found["status"] == AVAILABLE


def test_what_may_come_is_waited_for_until_the_time_is_up() -> None:
    with pytest.raises(TimedOut, match="2 of 3 pods of Deployment ovn-northd were available when the time was up"):
        wait(cluster_with(deployment(2), others=[pod("ContainerCreating")]), 0)


def test_an_observer_that_is_missing_is_a_warning() -> None:
    def problem(there: Object, seen: Object | None) -> str:
        return workloads.observer_warning(cluster_with(there), t.cast(t.Any, WANTED), seen)

    absent, available = (deployment(number, "ovn-observer") for number in (0, 3))
    assert problem(absent, available) == ""
    assert problem(available, None) == ""
    assert "ovn-observer is not available, so the status of OVNCluster" in problem(absent, None)
