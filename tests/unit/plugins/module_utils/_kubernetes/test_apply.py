"""From live objects to desired ones, with an API server that is a dictionary."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._errors import Conflict, InvalidInput, OvnError, Refused
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes import apply
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.apply import (
    Done,
    Key,
    converge,
    diff_of,
    key_of,
    prune,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.compare import with_hash

LABELS = {"app.kubernetes.io/managed-by": "c5c3.ovn"}


def config_map(name: str, value: str = "1", kind: str = "ConfigMap", **metadata: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "n", "labels": LABELS, **metadata}
    return {"apiVersion": "v1", "kind": kind, "metadata": metadata, "data": {"x": value}}


class FakeCluster:
    """Applies what it is told; `errors` are raised by the next applications first."""

    def __init__(self, *objects: dict[str, Any]) -> None:
        self.version = 1
        self.objects: dict[Key, dict[str, Any]] = {}
        self.calls: list[tuple[str, str, bool]] = []
        self.errors: list[OvnError] = []
        for one in objects:
            self.apply(with_hash(one))
        self.calls.clear()

    def apply(self, manifest: dict[str, Any], *, dry_run: bool = False, force: bool = False) -> dict[str, Any]:
        self.calls.append(("apply", manifest["metadata"]["name"], dry_run))
        if self.errors:
            raise self.errors.pop(0)
        before = self.objects.get(key_of(manifest))
        after = copy.deepcopy(manifest)
        after["metadata"]["resourceVersion"] = version = (before or after)["metadata"].get("resourceVersion")
        if not dry_run:
            if before != after:
                self.version += 1
                version = str(self.version)
            after["metadata"]["resourceVersion"] = version
            self.objects[key_of(manifest)] = after
        return copy.deepcopy(after)

    def delete(self, api_version: str, kind: str, name: str, namespace: str | None, *, uid: str | None = None) -> bool:
        self.calls.append(("delete", name, False))
        return self.objects.pop((api_version, kind, namespace or "", name), None) is not None

    def list(self, api_version: str, kind: str, namespace: str | None, *, labels: str = "") -> Any:
        return [o for key, o in self.objects.items() if key[:3] == (api_version, kind, namespace)]


def run(cluster: FakeCluster, *desired: dict[str, Any], check_mode: bool = False) -> list[tuple[str, str]]:
    live = copy.deepcopy(cluster.objects)
    return [(one.name, one.action) for one in converge(cluster, desired, live, check_mode=check_mode)]


@pytest.mark.parametrize("check_mode", [False, True])
def test_one_patch_for_each_that_differs(check_mode: bool) -> None:
    cluster = FakeCluster(config_map("same"), config_map("other"))
    done = run(cluster, config_map("same"), config_map("other", "2"), config_map("new"), check_mode=check_mode)
    assert done == [("same", "unchanged"), ("other", "changed"), ("new", "created")]
    assert cluster.calls == [("apply", "other", check_mode), ("apply", "new", check_mode)]


def test_the_second_run_asks_nothing() -> None:
    cluster = FakeCluster()
    run(cluster, config_map("a"), config_map("b"))
    cluster.calls.clear()
    assert run(cluster, config_map("a"), config_map("b")) == [("a", "unchanged"), ("b", "unchanged")]
    assert cluster.calls == []


def test_an_application_that_moved_nothing_is_no_change(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = FakeCluster(config_map("a"))
    monkeypatch.setattr(apply, "is_applied", lambda *_: False)
    assert run(cluster, config_map("a")) == [("a", "unchanged")]
    assert run(cluster, config_map("a"), check_mode=True) == [("a", "unchanged")]


def test_what_comes_first_in_a_real_run_is_missing_in_check_mode() -> None:
    cluster = FakeCluster()
    cluster.errors = [Refused("no namespace", http_status=404, reason="NotFound")]
    assert run(cluster, config_map("a"), check_mode=True) == [("a", "created")]


def test_without_check_mode_it_is_an_error() -> None:
    cluster = FakeCluster()
    cluster.errors = [Refused("no namespace", http_status=404, reason="NotFound")]
    with pytest.raises(Refused):
        run(cluster, config_map("a"))
    assert len(cluster.calls) == 1


def test_an_error_tells_what_was_done_before_it() -> None:
    cluster = FakeCluster()
    run(cluster, config_map("a"))
    desired = [config_map("a", "2"), config_map("b")]
    cluster.errors = []
    original = cluster.apply

    def apply(manifest: dict[str, Any], **options: Any) -> dict[str, Any]:
        if manifest["metadata"]["name"] == "b":
            raise Conflict("b is somebody else's")
        return original(manifest, **options)

    cluster.apply = apply
    noted: list[Any] = []
    with pytest.raises(Conflict) as caught:
        converge(cluster, desired, copy.deepcopy(cluster.objects), check_mode=False, note=noted.append)
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
    cluster.errors = [error, error]
    resource = {**config_map("a", kind="OVNCluster"), "apiVersion": "ovn.c5c3.io/v1alpha1"}
    assert run(cluster, resource) == [("a", "created")]
    assert len(cluster.calls) == 3


class Versions:
    """One StatefulSet whose version moves under the feet of whoever writes it: `moved` is what others have made of it by then."""

    def __init__(self, *moved: dict[str, Any]) -> None:
        self.moved = list(moved)
        self.there = {
            **stateful_set(3),
            "metadata": {**stateful_set(3)["metadata"], "resourceVersion": "1", "uid": "u"},
        }
        self.applied: list[int] = []

    def apply(self, manifest: dict[str, Any], **_: Any) -> dict[str, Any]:
        if self.moved:
            version = str(int(self.there["metadata"]["resourceVersion"]) + 1)
            self.there = {**self.there, **self.moved.pop(0)}
            self.there["metadata"] = {**self.there["metadata"], "resourceVersion": version}
        if manifest["metadata"]["resourceVersion"] != self.there["metadata"]["resourceVersion"]:
            raise Conflict("of another version")
        self.applied.append(manifest["spec"]["replicas"])
        return manifest

    def get(self, *_: str) -> dict[str, Any]:
        return self.there


def stateful_set(replicas: int) -> dict[str, Any]:
    metadata = {"name": "a", "namespace": "n", "labels": LABELS}
    return {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": metadata, "spec": {"replicas": replicas}}


@pytest.mark.parametrize(
    ("moved", "applied"),
    [
        ([], [1]),
        ([{"status": {"replicas": 3}}, {"status": {"replicas": 2}}], [1]),
        ([{"spec": {"replicas": 5}}], []),
        ([{"status": {}}] * 9, []),
    ],
    ids=["nobody wrote it", "its controller wrote the status, twice", "somebody scaled it", "it never rests"],
)
def test_a_stateful_set_is_written_over_the_specification_that_was_seen(
    moved: list[dict[str, Any]], applied: list[int]
) -> None:
    cluster: Any = Versions(*moved)
    live = {key_of(cluster.there): cluster.there}
    try:
        converge(cluster, [stateful_set(1)], live, check_mode=False)
    except Conflict:
        assert not applied
    assert cluster.applied == applied


def test_only_what_we_applied_is_pruned() -> None:
    keep = [
        config_map("wanted"),
        config_map("ovn-northbound-record"),
        config_map("content", kind="PersistentVolumeClaim"),
        config_map("tls", kind="Secret"),
        config_map("theirs", labels={}),
        config_map("ends", deletionTimestamp="now"),
    ]
    cluster = FakeCluster(*keep, config_map("old"))
    made_by_a_controller = config_map("pod")
    cluster.objects[key_of(made_by_a_controller)] = made_by_a_controller
    live = copy.deepcopy(cluster.objects)
    wanted = [config_map("wanted", "2")]
    assert [d.name for d in prune(cluster, wanted, live, check_mode=True)] == ["old"]
    assert cluster.calls == []
    assert [d.action for d in prune(cluster, wanted, live, check_mode=False)] == ["deleted"]
    assert cluster.calls == [("delete", "old", False)]


def test_the_diff_shows_what_changed() -> None:
    before, after = config_map("a"), config_map("a", "2")
    done = [
        Done("ConfigMap", "same", "n", "unchanged", before, before),
        Done("ConfigMap", "a", "n", "changed", before, after),
        Done("Node", "new", "", "created", None, after),
        Done("ConfigMap", "old", "n", "deleted", before, None),
    ]
    diff = diff_of(done, steps=["start a"], settings={"before": {}, "after": {"northbound": {"x": 1}}})
    assert set(diff["before"]) == {"ConfigMap n/a", "ConfigMap n/old", "steps"}
    assert set(diff["after"]) == {"ConfigMap n/a", "Node new", "steps", "settings"}
    assert diff["before"]["ConfigMap n/a"]["data"] == {"x": "1"}
    assert diff["after"]["ConfigMap n/a"]["data"] == {"x": "2"}
