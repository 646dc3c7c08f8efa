"""From live objects to desired ones, with an API server in memory."""

from __future__ import annotations

import contextlib
import copy
from typing import Any

import pytest
from fake_cluster import FakeCluster

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import Conflict, InvalidInput, OvnError, Refused
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes import apply
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.apply import ObjectChange, converge, diff_of, prune
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.compare import with_hash

LABELS = {"app.kubernetes.io/managed-by": "c5c3.ovn"}


def config_map(name: str, value: str = "1", kind: str = "ConfigMap", **metadata: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "n", "labels": LABELS, **metadata}
    return {"apiVersion": "v1", "kind": kind, "metadata": metadata, "data": {"x": value}}


def stored(*objects: dict[str, Any]) -> FakeCluster:
    """A cluster in which these objects were applied."""
    return FakeCluster(*map(with_hash, objects))


def asked(cluster: FakeCluster) -> list[tuple[str, str, bool]]:
    return [(call.verb, call.name, call.dry_run) for call in cluster.calls]


def run(cluster: FakeCluster, *desired: dict[str, Any], check_mode: bool = False) -> list[tuple[str, str]]:
    live = copy.deepcopy(cluster.objects)
    return [(one.name, one.action) for one in converge(cluster, desired, live, check_mode=check_mode)]


def test_an_application_that_moved_nothing_is_no_change(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = stored(config_map("a"))
    monkeypatch.setattr(apply, "is_applied", lambda *_: False)
    assert run(cluster, config_map("a")) == [("a", "unchanged")]
    assert run(cluster, config_map("a"), check_mode=True) == [("a", "unchanged")]


def test_an_error_tells_what_was_done_before_it() -> None:
    cluster = FakeCluster()
    run(cluster, config_map("a"))
    desired = [config_map("a", "2"), config_map("b")]
    cluster.before("apply", Conflict("b is somebody else's"), name="b")
    noted: list[Any] = []
    with pytest.raises(Conflict) as caught:
        converge(cluster, desired, copy.deepcopy(cluster.objects), check_mode=False, on_change=noted.append)
    assert caught.value.details["done"] == ["ConfigMap n/a changed"]
    assert [(one.name, one.action) for one in noted] == [("a", "changed")]


@pytest.mark.parametrize(
    "error",
    [
        Refused("no such kind", http_status=404, reason=""),
        InvalidInput(".spec.x: field not declared in schema", http_status=500, reason=""),
    ],
)
def test_a_kind_that_was_just_defined_is_waited_for(error: OvnError, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apply.time, "sleep", lambda _: None)
    cluster = FakeCluster()
    cluster.before("apply", error, times=2)
    resource = {**config_map("a", kind="OVNCluster"), "apiVersion": "ovn.c5c3.io/v1alpha1"}
    assert run(cluster, resource) == [("a", "created")]
    assert len(cluster.calls) == 3


def stateful_set(replicas: int) -> dict[str, Any]:
    metadata = {"name": "a", "namespace": "n", "labels": LABELS}
    return {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": metadata, "spec": {"replicas": replicas}}


@pytest.mark.parametrize(
    ("moved", "replicas"),
    [
        ([], 1),
        ([{"status": {"replicas": 3}}, {"status": {"replicas": 2}}], 1),
        ([{"spec": {"replicas": 5}}], 5),
        ([{"status": {"replicas": number}} for number in range(9)], 3),
    ],
    ids=["nobody wrote it", "its controller wrote the status, twice", "somebody scaled it", "it never rests"],
)
def test_a_stateful_set_is_written_over_the_specification_that_was_seen(
    moved: list[dict[str, Any]], replicas: int
) -> None:
    """`moved`: what others have made of it whenever it is about to be written; `replicas`: what it has in the end."""
    cluster = FakeCluster(stateful_set(3))
    live = copy.deepcopy(cluster.objects)
    for change in moved:
        cluster.before("apply", lambda change=change: cluster.put({**cluster.stored("StatefulSet", "a"), **change}))
    with contextlib.nullcontext() if replicas == 1 else pytest.raises(Conflict):
        converge(cluster, [stateful_set(1)], live, check_mode=False)
    assert cluster.stored("StatefulSet", "a")["spec"]["replicas"] == replicas


def test_only_what_we_applied_is_pruned() -> None:
    keep = [
        config_map("wanted"),
        config_map("ovn-northbound-record"),
        config_map("content", kind="PersistentVolumeClaim"),
        config_map("tls", kind="Secret"),
        config_map("theirs", labels={}),
        config_map("ends", deletionTimestamp="now"),
    ]
    cluster = stored(*keep, config_map("old"))
    cluster.put(config_map("made-by-a-controller"))
    live = copy.deepcopy(cluster.objects)
    wanted = [config_map("wanted", "2")]
    assert [d.name for d in prune(cluster, wanted, live, check_mode=True)] == ["old"]
    assert cluster.calls == []
    assert [d.action for d in prune(cluster, wanted, live, check_mode=False)] == ["deleted"]
    assert asked(cluster) == [("delete", "old", False)]


def test_the_diff_shows_what_changed() -> None:
    before, after = config_map("a"), config_map("a", "2")
    done = [
        ObjectChange("ConfigMap", "same", "n", "unchanged", before, before),
        ObjectChange("ConfigMap", "a", "n", "changed", before, after),
        ObjectChange("Node", "new", "", "created", None, after),
        ObjectChange("ConfigMap", "old", "n", "deleted", before, None),
    ]
    diff = diff_of(done, steps=["start a"], settings={"before": {}, "after": {"northbound": {"x": 1}}})
    assert set(diff["before"]) == {"ConfigMap n/a", "ConfigMap n/old", "steps"}
    assert set(diff["after"]) == {"ConfigMap n/a", "Node new", "steps", "settings"}
    assert diff["before"]["ConfigMap n/a"]["data"] == {"x": "1"}
    assert diff["after"]["ConfigMap n/a"]["data"] == {"x": "2"}
