"""Claims that wait for a volume of the wrong storage class are recreated, and nothing else."""

from __future__ import annotations

import functools
import types
import typing as t

import pytest
from fake_cluster import FakeCluster

from ansible_collections.c5c3.ovn.plugins.module_utils._api.spec import parse_spec
from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import Refused
from ansible_collections.c5c3.ovn.plugins.module_utils._control_plane import recreate_claims
from ansible_collections.c5c3.ovn.plugins.module_utils._control_plane.observed_state import ObservedCluster
from ansible_collections.c5c3.ovn.plugins.module_utils._control_plane.recreate_claims import (
    claims_message,
    delete_pending_claims,
    find_claims_to_recreate,
)

Object = dict[str, t.Any]
MANAGED = {"app.kubernetes.io/managed-by": "c5c3.ovn"}
MEMBER = {"app.kubernetes.io/instance": "ovn", "app.kubernetes.io/component": "northbound"}
NAME, CLAIM = "ovn-northbound-0", "data-ovn-northbound-0"


def claim(storage_class: str | None = "old", phase: str = "Pending", uid: str = "c") -> Object:
    spec: Object = {"resources": {"requests": {"storage": "10Gi"}}}
    if storage_class:
        spec["storageClassName"] = storage_class
    metadata = {"name": CLAIM, "namespace": "x", "labels": MANAGED, "uid": uid, "resourceVersion": "1"}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": metadata,
        "spec": spec,
        "status": {"phase": phase},
    }


def pod(node: str = "", **metadata: str) -> Object:
    spec = {"nodeName": node} if node else {}
    own = {"name": NAME, "namespace": "x", "labels": MEMBER, "uid": "p", "resourceVersion": "1", **metadata}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": own, "spec": spec, "status": {"phase": "Pending"}}


def storage_class(name: str, made: str = "2026-01-01T00:00:00Z", default: str = "true") -> Object:
    annotations = {"storageclass.kubernetes.io/is-default-class": default}
    metadata = {"name": name, "creationTimestamp": made, "annotations": annotations}
    return {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": metadata}


def desired(declared: str | None) -> t.Any:
    storage = {"storageClass": declared} if declared else {}
    spec = parse_spec({"northbound": {"storage": storage}}, name="ovn", namespace="x")
    return types.SimpleNamespace(name="ovn", namespace="x", spec=spec)


NEWEST = [storage_class("new", "2026-02-01T00:00:00Z"), storage_class("older"), storage_class("no", "2027", "false")]


@pytest.mark.parametrize(
    ("current", "phase", "declared", "template", "classes", "found"),
    [
        ("old", "Pending", "new", "old", [], True),
        ("old", "Bound", "new", "old", [], False),
        ("new", "Pending", "new", "old", [], False),
        (None, "Pending", "new", None, [], True),
        (None, "Pending", None, "old", NEWEST, False),
        ("old", "Pending", None, None, NEWEST, True),
        ("new", "Pending", None, "old", NEWEST, False),
        ("older", "Pending", None, None, NEWEST, True),
        ("old", "Pending", None, "old", None, True),
        ("old", "Pending", None, None, None, False),
        ("old", "Pending", None, "old", [], True),
    ],
    ids=[
        "another class",
        "a volume",
        "as declared",
        "none, for there was no default",
        "none, and none declared",
        "not the default class",
        "the default class",
        "no longer the default class",
        "the template's, and defaults are hidden",
        "whose ever, and defaults are hidden",
        "the template's, and no default",
    ],
)
def test_find_claims(
    current: str | None,
    phase: str,
    declared: str | None,
    template: str | None,
    classes: list[Object] | None,
    found: bool,
) -> None:
    there = claim(current, phase)
    spec = {"volumeClaimTemplates": [{"spec": {"storageClassName": template} if template else {}}]}
    index: t.Any = {
        ("v1", "PersistentVolumeClaim", "x", CLAIM): there,
        ("apps/v1", "StatefulSet", "x", "ovn-northbound"): {"spec": spec},
    }
    cluster = FakeCluster(there, *(classes or []))
    if classes is None:
        cluster.always("list", Refused("forbidden", http_status=403), kind="StorageClass")
    live = ObservedCluster("ovn", "x", {}, None, index)
    assert find_claims_to_recreate(cluster, desired(declared), live)["northbound"] == ([there] if found else [])


def version(there: Object, **status: str) -> Object:
    return {**there, "metadata": {**there["metadata"], "resourceVersion": "2"}, "status": {**there["status"], **status}}


BOTH = ["PersistentVolumeClaim", "Pod"]


@pytest.mark.parametrize(
    ("there", "meanwhile", "deleted"),
    [
        (pod(), [], BOTH),
        (None, [], BOTH[:1]),
        (pod(node="n1"), [], []),
        (pod(deletionTimestamp="2026-01-01T00:00:00Z"), [], BOTH[:1]),
        (pod(), [("PersistentVolumeClaim", version(claim()))], BOTH),
        (pod(), [("PersistentVolumeClaim", version(claim(), phase="Bound"))], []),
        (pod(), [("PersistentVolumeClaim", claim(uid="another"))], []),
        (pod(), [("Pod", version(pod(node="n1")))], BOTH[:1]),
        (pod(), [("Pod", None)], BOTH[:1]),
    ],
    ids=[
        "a pod waits",
        "no pod",
        "a pod with a node",
        "a pod that ends",
        "an event was written down",
        "it got its volume",
        "another claim",
        "the pod got a node",
        "the pod is gone",
    ],
)
def test_only_what_holds_and_runs_nothing_is_deleted(
    there: Object | None,
    meanwhile: list[tuple[str, Object | None]],
    deleted: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(recreate_claims, "_PAUSE", 0)
    cluster = FakeCluster(claim(), *([there] if there else []))
    for kind, after in meanwhile:
        change = cluster.remove if after is None else cluster.put
        cluster.before("delete", functools.partial(change, *((kind, NAME) if after is None else (after,))), kind=kind)
    done: list[t.Any] = []
    gone = delete_pending_claims(
        cluster, desired("new"), "northbound", [claim()], check_mode=False, on_change=done.append
    )
    assert [call.kind for call in cluster.deleted] == deleted
    assert [(one.kind, one.action) for one in done] == [(kind, "deleted") for kind in deleted]
    assert gone == ([claim()] if deleted else [])


def test_check_mode_tells_it_only() -> None:
    cluster, done = FakeCluster(claim(), pod()), list[t.Any]()
    gone = delete_pending_claims(
        cluster, desired("new"), "northbound", [claim()], check_mode=True, on_change=done.append
    )
    assert ([one.kind for one in done], cluster.written, gone) == (BOTH, [], [claim()])
    assert CLAIM in claims_message(gone)
