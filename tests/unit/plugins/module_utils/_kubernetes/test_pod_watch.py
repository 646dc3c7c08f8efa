"""Pods are watched until the last one of some nodes is gone. tests/integration/test_k8s_api.py does it on a real API server."""

from __future__ import annotations

import time
import typing as t

import pytest
from fake_cluster import FakeCluster

from ansible_collections.c5c3.ovn.plugins.module_utils._base.deadline import Deadline
from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import OvnError, Refused, TimedOut, Unreachable
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes import pod_watch
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.pod_watch import await_no_pods, watch_pods

Object = dict[str, t.Any]


def pod(name: str, node: str) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "x", "labels": {"app": "ovn"}},
        "spec": {"nodeName": node} if node else {},
    }


def await_pods_of(cluster: FakeCluster, *nodes: str, seconds: float = 0) -> list[str]:
    left = await_no_pods(cluster, "x", nodes, labels="app=ovn", deadline=Deadline(seconds))
    return [one["metadata"]["name"] for one in left]


@pytest.mark.parametrize(
    ("nodes", "left"),
    [(("n1",), ["a"]), (("n1", "n2"), ["a", "b"]), (("n9",), []), (("n9", "n8"), [])],
    ids=["one node", "two nodes", "a node without pods", "nodes without pods"],
)
def test_pods_of_these_nodes_alone_count(nodes: tuple[str, ...], left: list[str]) -> None:
    cluster = FakeCluster(pod("a", "n1"), pod("b", "n2"), pod("c", "n3"), pod("pending", ""))
    assert await_pods_of(cluster, *nodes) == left
    assert [call.verb for call in cluster.calls] == ["list"]


@pytest.mark.parametrize(
    ("error", "raised"),
    [
        (Refused("too old", http_status=410), False),
        (Unreachable("restarts"), False),
        (TimedOut("hangs"), False),
        (Refused("forbidden", http_status=403), True),
    ],
    ids=["a forgotten version", "the server restarts", "the server hangs", "the right is missing"],
)
def test_a_watch_that_breaks(monkeypatch: pytest.MonkeyPatch, error: OvnError, raised: bool) -> None:
    cluster = FakeCluster(pod("a", "n1"))
    cluster.before("watch", error)
    pauses: list[float] = []

    def remove_in_pause(seconds: float) -> None:
        pauses.append(seconds)
        cluster.remove("Pod", "a")

    monkeypatch.setattr(pod_watch.time, "sleep", remove_in_pause)
    if raised:
        with pytest.raises(Refused, match="forbidden"):
            await_pods_of(cluster, "n1", seconds=60)
        return
    assert await_pods_of(cluster, "n1", seconds=60) == []
    assert [call.verb for call in cluster.calls] == ["list", "watch", "list"]
    assert cluster.calls[1].body == {"resourceVersion": "1"}
    assert pauses == [1.0]


class SilentCluster(FakeCluster):
    """The connection of each watch is lost without a word, and the pod ends meanwhile."""

    def __init__(self, *objects: Object) -> None:
        super().__init__(*objects)
        self.timeouts: list[float] = []

    def events(self, path: str, doing: str, timeout: float, **options: t.Any) -> t.Iterator[tuple[str, Object]]:
        self.timeouts.append(timeout)
        self.remove("Pod", "a")
        return iter(())


@pytest.mark.parametrize(
    ("seconds", "longest"), [(0.2, 0.2), (30, 30), (600, 60)], ids=["at the end", "within the limit", "long before it"]
)
def test_a_watch_that_falls_silent(monkeypatch: pytest.MonkeyPatch, seconds: float, longest: float) -> None:
    cluster = SilentCluster(pod("a", "n1"))
    monkeypatch.setattr(pod_watch, "_PAUSE", 0.0)
    began = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: began + sum(cluster.timeouts))  # a watch takes all of its time
    assert await_pods_of(cluster, "n1", seconds=seconds) == []
    assert cluster.timeouts == [pytest.approx(longest, abs=0.1)]


def test_pods_are_watched_until_they_are_as_expected() -> None:
    cluster, observed = FakeCluster(pod("a", "n1")), list[list[str]]()

    def is_reached(pods: t.Collection[Object]) -> bool:
        observed.append([one["metadata"]["name"] for one in pods])
        return len(pods) == 1

    assert watch_pods(cluster, "x", is_reached, labels="app=ovn", timeout=1)
    assert observed == [["a"]]
    assert [call.verb for call in cluster.calls] == ["list"]


@pytest.mark.parametrize(
    ("error", "raised"),
    [(Refused("too old", http_status=410), False), (Refused("forbidden", http_status=403), True)],
    ids=["a forgotten version", "the right is missing"],
)
def test_a_broken_watch_of_pods_is_the_callers(error: OvnError, raised: bool) -> None:
    cluster = FakeCluster(pod("a", "n1"))
    cluster.before("watch", error)
    if raised:
        with pytest.raises(Refused, match="forbidden"):
            watch_pods(cluster, "x", lambda _pods: False, labels="app=ovn", timeout=1)
    else:
        assert not watch_pods(cluster, "x", lambda _pods: False, labels="app=ovn", timeout=1)
