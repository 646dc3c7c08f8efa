# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

Takes a control plane away. What holds data - claims, records and witnesses - stays unless its deletion was asked for by name.
"""

from __future__ import annotations

import datetime
import time
import typing as t

from .._api.names import Object, labels, lease_name, record_name, witness_name
from .._databases import DATABASES
from .._deadline import Deadline
from .._errors import TimedOut
from .._kubernetes.apply import Key, Note, ObjectChange
from .._kubernetes.client import Cluster
from .._kubernetes.lease import RunLease, check_lease, identity
from .._kubernetes.rollout_progress import is_terminating
from .observed_state import ObservedCluster, read_state

_DATA = ("PersistentVolumeClaim",)
# Databases go last and orderly: whoever uses them goes first.
_ORDER = (
    ("ovn.c5c3.io/v1alpha1", "OVNCluster"),
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


def objects_to_delete(live: ObservedCluster, *, delete_data: bool) -> list[Object]:
    """What goes, in order. Records and claims are one thing: neither is of use without the other."""
    there = _not_terminating(live)
    found = [manifest for kind in _ORDER for key, manifest in there if key[:2] == kind and not _is_record(live, key)]
    if delete_data:
        found += [manifest for key, manifest in there if key[1] in _DATA]
        found += [manifest for key, manifest in there if _is_record(live, key)]
    return found


def _not_terminating(live: ObservedCluster) -> list[tuple[Key, Object]]:
    """All but what is on its way out already: a claim may be for a while, after its last pod."""
    return [(key, m) for key, m in sorted(live.index.items()) if not is_terminating(m)]


def _is_record(live: ObservedCluster, key: Key) -> bool:
    """Whether it is a state record, or the witness of the files that the record is about."""
    names = {name(live.name, database) for name in (record_name, witness_name) for database in DATABASES}
    return key[1] == "ConfigMap" and key[3] in names


def remove(
    cluster: Cluster,
    name: str,
    namespace: str,
    *,
    delete_data: bool,
    check_mode: bool,
    deadline: Deadline,
    note: Note,
    take_over: bool = False,
) -> None:
    """Everything of the cluster `name`; returns when its pods are gone, so that a new installation finds free volumes.

    `note` hears of each object that goes, also of those before a failure.
    """
    live = read_state(cluster, name, namespace)
    leaving = objects_to_delete(live, delete_data=delete_data)
    if check_mode:
        pods = ownerless(cluster.list("v1", "Pod", namespace, labels=_selector(name)))
        for manifest in [*leaving, *pods]:
            note(_gone(manifest, namespace))
        return
    holder = identity(datetime.datetime.now(datetime.timezone.utc))
    lease = RunLease(cluster, lease_name(name), namespace, labels(name), holder, take_over=take_over, patience=deadline)
    try:
        if leaving and lease.acquire_or_renew("delete the control plane"):
            # Another run may have made something until a moment ago.
            leaving = objects_to_delete(read_state(cluster, name, namespace), delete_data=delete_data)
        for manifest in leaving:
            metadata = manifest["metadata"]
            if manifest["kind"] in _DATA:
                _await_pods(cluster, lease, namespace, deadline, note)  # a claim in use would only be marked
            check_lease(lease)
            cluster.delete(manifest["apiVersion"], manifest["kind"], metadata["name"], namespace, uid=metadata["uid"])
            note(_gone(manifest, namespace))
        _await_pods(cluster, lease, namespace, deadline, note)  # also those that an earlier run gave up on
        lease.remove()
    finally:
        lease.release()


def _gone(manifest: Object, namespace: str) -> ObjectChange:
    return ObjectChange(manifest["kind"], manifest["metadata"]["name"], namespace, "deleted", manifest, None)


def kept(live: ObservedCluster) -> list[str]:
    """Return the names of the claims, records and witnesses that are left, for the report."""
    return [
        f"{key[1]} {key[3]}" for key, _manifest in _not_terminating(live) if key[1] in _DATA or _is_record(live, key)
    ]


def ownerless(pods: t.Iterable[Object]) -> list[Object]:
    """Pods that nobody ends: of a run that was killed when it recreated their StatefulSet."""
    return [pod for pod in pods if not pod["metadata"].get("ownerReferences") and not is_terminating(pod)]


def _selector(name: str) -> str:
    return f"app.kubernetes.io/instance={name},app.kubernetes.io/component in (northbound,southbound,northd,observer)"


def _await_pods(cluster: Cluster, lease: RunLease, namespace: str, deadline: Deadline, note: Note) -> None:
    """Returns when all have ended. Those that nobody else ends are deleted for it."""
    name = lease.metadata["labels"]["app.kubernetes.io/instance"]
    while pods := cluster.list("v1", "Pod", namespace, labels=_selector(name)):
        for pod in ownerless(pods):
            metadata = pod["metadata"]
            lease.acquire_or_renew(f"delete {metadata['name']}")
            check_lease(lease)
            cluster.delete("v1", "Pod", metadata["name"], namespace, uid=metadata["uid"])
            note(_gone({"kind": "Pod", **pod}, namespace))
        if deadline.expired:
            left = ", ".join(pod["metadata"]["name"] for pod in pods)
            raise TimedOut(
                f"Pods {left} in namespace {namespace} did not end within {deadline.seconds:g} s. See kubectl describe of one; run again when they are gone."
            )
        time.sleep(0.5)
