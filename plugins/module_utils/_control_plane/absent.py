# SPDX-License-Identifier: GPL-3.0-or-later
"""Deletes a control plane. What holds data - claims, records and witnesses - stays unless its deletion was asked for by name."""

from __future__ import annotations

import datetime
import time
import typing as t

from .._api.names import MANAGER, Object, labels, lease_name, record_name, witness_name
from .._base.databases import DATABASES
from .._base.deadline import Deadline
from .._base.errors import TimedOut
from .._kubernetes.apply import Key, ObjectChange, OnChange
from .._kubernetes.client import Cluster
from .._kubernetes.lease import RunLease, check_lease, holder_identity
from .._kubernetes.rollout_progress import is_terminating
from .observed_state import ObservedCluster, read_state

_DATA = ("PersistentVolumeClaim",)
# Databases are deleted last and stop orderly: their clients are deleted first.
_ORDER = (
    ("ovn.c5c3.io/v1alpha1", "OVNCluster"),
    ("apps/v1", "DaemonSet"),
    ("apps/v1", "Deployment"),
    ("apps/v1", "StatefulSet"),
    ("v1", "Service"),
    ("policy/v1", "PodDisruptionBudget"),
    ("networking.k8s.io/v1", "NetworkPolicy"),
    ("rbac.authorization.k8s.io/v1", "RoleBinding"),
    ("rbac.authorization.k8s.io/v1", "Role"),
    ("v1", "ServiceAccount"),
    ("v1", "ConfigMap"),
)


def objects_to_delete(observed: ObservedCluster, *, delete_data: bool) -> list[Object]:
    """Return what has to be deleted, in order. Records and claims belong together: neither is of use without the other."""
    there = _not_terminating(observed)
    found = [
        manifest
        for kind in _ORDER
        for key, manifest in there
        if key[:2] == kind and not _is_record(observed, key) and _is_ours(manifest)
    ]
    if delete_data:
        found += [manifest for key, manifest in there if key[1] in _DATA]
        found += [manifest for key, manifest in there if _is_record(observed, key)]
    return found


def _is_ours(one: Object) -> bool:
    """Return whether a run has made it: somebody may have labeled objects with the control plane that they are for. An OVNCluster is known by its name."""
    managed_by = (one["metadata"].get("labels") or {}).get("app.kubernetes.io/managed-by")
    return one["kind"] == "OVNCluster" or managed_by == MANAGER


def _not_terminating(observed: ObservedCluster) -> list[tuple[Key, Object]]:
    """Return all that is not terminating already. A claim may be terminating until its last pod has ended."""
    return [(key, m) for key, m in sorted(observed.index.items()) if not is_terminating(m)]


def _is_record(observed: ObservedCluster, key: Key) -> bool:
    """Return whether it is a state record, or the witness of the files that the record is about."""
    names = {name(observed.name, database) for name in (record_name, witness_name) for database in DATABASES}
    return key[1] == "ConfigMap" and key[3] in names


def delete_control_plane(
    cluster: Cluster,
    name: str,
    namespace: str,
    *,
    delete_data: bool,
    check_mode: bool,
    deadline: Deadline,
    on_change: OnChange,
    break_lock: bool = False,
) -> None:
    """Delete everything of the OVNCluster `name` and return when its pods have ended, so that a new installation finds free volumes.

    `on_change` is called for each deleted object, also for those before a failure. In check mode it is called for what would be deleted.
    """
    observed = read_state(cluster, name, namespace)
    to_delete = objects_to_delete(observed, delete_data=delete_data)
    if check_mode:
        pods = orphaned_pods(cluster.list("v1", "Pod", namespace, labels=_selector(name)))
        for manifest in [*to_delete, *pods]:
            on_change(_deletion(manifest, namespace))
        return
    holder = holder_identity(datetime.datetime.now(datetime.timezone.utc))
    lease = RunLease(
        cluster, lease_name(name), namespace, labels(name), holder, break_lock=break_lock, patience=deadline
    )
    try:
        if to_delete and lease.acquire_or_renew("delete the control plane"):
            # Another run may have created something until a moment ago.
            to_delete = objects_to_delete(read_state(cluster, name, namespace), delete_data=delete_data)
        for manifest in to_delete:
            if manifest["kind"] in _DATA:
                _await_pods(cluster, lease, namespace, deadline, on_change)  # a claim in use would only be marked
            check_lease(lease)
            _delete(cluster, manifest, namespace, on_change)
        _await_pods(cluster, lease, namespace, deadline, on_change)  # also those that an earlier run gave up on
        lease.delete()
    finally:
        lease.release()


def _delete(cluster: Cluster, manifest: Object, namespace: str, on_change: OnChange) -> None:
    metadata = manifest["metadata"]
    cluster.delete(manifest["apiVersion"], manifest["kind"], metadata["name"], namespace, uid=metadata["uid"])
    on_change(_deletion(manifest, namespace))


def _deletion(manifest: Object, namespace: str) -> ObjectChange:
    return ObjectChange(manifest["kind"], manifest["metadata"]["name"], namespace, "deleted", manifest, None)


def remaining_data(observed: ObservedCluster) -> list[str]:
    """Return the claims, records and witnesses that were not deleted, as `KIND NAME`."""
    return [
        f"{key[1]} {key[3]}"
        for key, _manifest in _not_terminating(observed)
        if key[1] in _DATA or _is_record(observed, key)
    ]


def orphaned_pods(pods: t.Iterable[Object]) -> list[Object]:
    """Return the pods without an owner: a run was killed while it recreated their StatefulSet, so no controller deletes them."""
    return [pod for pod in pods if not pod["metadata"].get("ownerReferences") and not is_terminating(pod)]


def _selector(name: str) -> str:
    components = "northbound,southbound,northd,observer,leader-proxy"
    return f"app.kubernetes.io/instance={name},app.kubernetes.io/component in ({components})"


def _await_pods(cluster: Cluster, lease: RunLease, namespace: str, deadline: Deadline, on_change: OnChange) -> None:
    """Return when all pods have ended. Orphaned pods are deleted, because no controller does it."""
    name = lease.metadata["labels"]["app.kubernetes.io/instance"]
    while pods := cluster.list("v1", "Pod", namespace, labels=_selector(name)):
        for pod in orphaned_pods(pods):
            metadata = pod["metadata"]
            lease.acquire_or_renew(f"delete {metadata['name']}")
            check_lease(lease)
            cluster.delete("v1", "Pod", metadata["name"], namespace, uid=metadata["uid"])
            on_change(_deletion({"kind": "Pod", **pod}, namespace))
        if deadline.expired:
            names = ", ".join(pod["metadata"]["name"] for pod in pods)
            raise TimedOut(
                f"Pods {names} in namespace {namespace} did not end within {deadline.seconds:g} s. See kubectl describe of one; run again when they are gone."
            )
        time.sleep(0.5)
