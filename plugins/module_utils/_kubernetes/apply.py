# SPDX-License-Identifier: GPL-3.0-or-later
"""Applies desired objects: one PATCH for each that differs from the observed one, none for the others."""

from __future__ import annotations

import concurrent.futures
import time
import typing as t

from .._base.deadline import Deadline
from .._base.errors import Conflict, OvnError, Refused
from .compare import APPLIED, format_manifest, is_applied, was_created, with_hash
from .kinds import FIELD_MANAGER

if t.TYPE_CHECKING:
    from .client import Cluster

Object = dict[str, t.Any]
Key = tuple[str, str, str, str]  # apiVersion, kind, namespace or "", name
Action = t.Literal["created", "changed", "unchanged", "deleted"]

_MANAGED_BY = "app.kubernetes.io/managed-by"
# Data, and what other objects depend on: deleted only on an explicit request.
_NEVER_PRUNED = frozenset(
    {"CustomResourceDefinition", "Namespace", "OVNCluster", "PersistentVolume", "PersistentVolumeClaim", "Secret"}
)
# An outdated `replicas` would end members, so an apply names the version that was read.
_VERSIONED = frozenset({"StatefulSet"})
_ATTEMPTS = 5
_AT_ONCE = 4  # requests: each needs a connection of its own
_SERVED_SECONDS = 10.0  # within which the API server serves a kind that was just defined


class ObjectChange(t.NamedTuple):
    """What happened to one object; in check mode, what would happen."""

    kind: str
    name: str
    namespace: str
    action: Action
    before: Object | None
    after: Object | None


OnChange = t.Callable[[ObjectChange], object]


def key_of(manifest: Object) -> Key:
    metadata = manifest["metadata"]
    return manifest["apiVersion"], manifest["kind"], metadata.get("namespace") or "", metadata["name"]


def list_objects(
    cluster: Cluster, kinds: t.Iterable[tuple[str, str]], namespace: str | None, labels: str
) -> dict[Key, Object]:
    """Return the objects of these (apiVersion, kind) pairs by key, in one request for each kind, up to 4 at a time."""
    with concurrent.futures.ThreadPoolExecutor(max_workers=_AT_ONCE) as pool:
        lists = pool.map(lambda kind: cluster.list(kind[0], kind[1], namespace, labels=labels), kinds)
        return {key_of(item): item for items in lists for item in items}


def converge(
    cluster: Cluster,
    desired: t.Sequence[Object],
    observed: t.Mapping[Key, Object],
    *,
    check_mode: bool,
    force: bool = False,
    on_change: OnChange | None = None,
) -> list[ObjectChange]:
    """Apply what differs, in the given order, and return what was done to each object.

    `on_change` is called after each object. An error lists in its detail `done` what was done before it.
    """
    done: list[ObjectChange] = []
    for manifest in desired:
        try:
            change = _converge_one(cluster, manifest, observed.get(key_of(manifest)), check_mode, force)
        except OvnError as e:
            e.details.setdefault("done", [_describe(change) for change in done if change.action != "unchanged"])
            raise
        _add(change, done, on_change)
    return done


def _add(change: ObjectChange, done: list[ObjectChange], on_change: OnChange | None) -> None:
    done.append(change)
    if on_change is not None:
        on_change(change)


def _converge_one(
    cluster: Cluster, manifest: Object, before: Object | None, check_mode: bool, force: bool
) -> ObjectChange:
    _api_version, kind, namespace, name = key_of(manifest)
    if before is not None and is_applied(manifest, before):
        return ObjectChange(kind, name, namespace, "unchanged", before, before)
    applied = with_hash(manifest)
    try:
        if before is not None and kind in _VERSIONED and not check_mode:
            after = _apply_over(cluster, applied, before, force)
        else:
            after = _apply(cluster, applied, check_mode, force)
    except Refused as e:
        if check_mode and before is None and e.details.get("http_status") == 404:
            # Its namespace or its kind comes first in a real run.
            return ObjectChange(kind, name, namespace, "created", None, applied)
        raise
    return ObjectChange(kind, name, namespace, _action(before, after, check_mode), before, after)


def _apply_over(cluster: Cluster, manifest: Object, before: Object, force: bool) -> Object:
    """Apply it over exactly this specification; `Conflict` if another client changed that meanwhile. Its controller may write the status at any time."""
    there: Object | None = before
    for _attempt in range(_ATTEMPTS):
        version = (there or before)["metadata"]["resourceVersion"]
        try:
            return cluster.apply(
                {**manifest, "metadata": {**manifest["metadata"], "resourceVersion": version}}, force=force
            )
        except Conflict as e:
            if e.details.get("managers"):
                raise
            error, metadata = e, before["metadata"]
            there = cluster.get(before["apiVersion"], before["kind"], metadata["name"], metadata.get("namespace"))
            same = there is not None and there["metadata"]["uid"] == metadata["uid"]
            if there is None or not same or there["spec"] != before["spec"]:
                raise
    raise error


def _action(before: Object | None, after: Object, check_mode: bool) -> Action:
    if before is None:
        # It may have existed without our labels.
        return "created" if was_created(after, FIELD_MANAGER) else "changed"
    if check_mode:  # a dry run does not move the resourceVersion
        return "unchanged" if format_manifest(before) == format_manifest(after) else "changed"
    same = before["metadata"].get("resourceVersion") == after["metadata"].get("resourceVersion")
    return "unchanged" if same else "changed"


def _apply(cluster: Cluster, manifest: Object, check_mode: bool, force: bool) -> Object:
    """Apply it, and retry while the API server does not serve a kind that was defined or changed a moment ago."""
    ours = manifest["apiVersion"].startswith("ovn.c5c3.io/")
    deadline = Deadline(_SERVED_SECONDS)
    while True:
        try:
            return cluster.apply(manifest, dry_run=check_mode, force=force)
        except OvnError as e:
            unserved = e.details.get("http_status") == 404 and not e.details.get("reason")
            outdated = e.details.get("http_status") == 500 and "field not declared in schema" in str(e)
            if check_mode or not ours or not (unserved or outdated) or deadline.expired:
                raise
        time.sleep(0.2)


def prune(
    cluster: Cluster,
    desired: t.Iterable[Object],
    observed: t.Mapping[Key, Object],
    *,
    check_mode: bool,
    on_change: OnChange | None = None,
) -> list[ObjectChange]:
    """Delete what an earlier run applied and is no longer desired, and return the deletions. Data is kept: claims, records, secrets."""
    desired_keys = {key_of(manifest) for manifest in desired}
    done: list[ObjectChange] = []
    for key, item in observed.items():
        if key in desired_keys or not _may_be_pruned(key, item):
            continue
        deleted = delete(cluster, item, check_mode=check_mode)
        if deleted is not None:
            _add(deleted, done, on_change)
    return done


def delete(cluster: Cluster, item: Object, *, check_mode: bool) -> ObjectChange | None:
    """Delete this object and none that has its name by now; None if it was gone."""
    metadata = item["metadata"]
    kind, name, namespace = item["kind"], metadata["name"], metadata.get("namespace", "")
    if not check_mode and not cluster.delete(
        item["apiVersion"], kind, name, namespace or None, uid=metadata.get("uid")
    ):
        return None
    return ObjectChange(kind, name, namespace, "deleted", item, None)


def _may_be_pruned(key: Key, item: Object) -> bool:
    _api_version, kind, _namespace, name = key
    metadata = item["metadata"]
    return (
        (metadata.get("labels") or {}).get(_MANAGED_BY) == FIELD_MANAGER
        and APPLIED in (metadata.get("annotations") or {})
        and "deletionTimestamp" not in metadata
        and kind not in _NEVER_PRUNED
        and not (kind == "ConfigMap" and name.endswith(("-record", "-witness")))
    )


def merge_changes(done: t.Iterable[ObjectChange]) -> list[ObjectChange]:
    """Return each object once: as it was before the run, what was first done to it, and as it is now."""
    found: dict[tuple[str, str, str], ObjectChange] = {}
    for change in done:
        key = (change.kind, change.name, change.namespace or "")
        first = found.get(key, change)
        found[key] = change._replace(
            action=change.action if first.action == "unchanged" else first.action, before=first.before
        )
    return list(found.values())


def as_results(done: t.Iterable[ObjectChange]) -> list[dict[str, str]]:
    """Return the value `objects` of a module."""
    return [{"kind": d.kind, "name": d.name, "namespace": d.namespace or "", "action": d.action} for d in done]


def diff_of(
    done: t.Iterable[ObjectChange],
    *,
    steps: t.Sequence[str] = (),
    settings: t.Mapping[str, t.Mapping[str, t.Any]] | None = None,
) -> dict[str, t.Any]:
    """Return the value `diff` of a module: the objects that changed, settings of databases, and steps that were executed."""
    changed = [change for change in merge_changes(done) if change.action != "unchanged"]
    before: Object = {_title(change): format_manifest(change.before) for change in changed if change.before is not None}
    after: Object = {_title(change): format_manifest(change.after) for change in changed if change.after is not None}
    for side, content in (("before", before), ("after", after)):
        values = (settings or {}).get(side)
        if values:
            content["settings"] = dict(values)
    if steps:
        before["steps"], after["steps"] = [], list(steps)
    return {"before": before, "after": after}


def _title(change: ObjectChange) -> str:
    return f"{change.kind} {change.namespace}/{change.name}" if change.namespace else f"{change.kind} {change.name}"


def _describe(change: ObjectChange) -> str:
    return f"{_title(change)} {change.action}"
