# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

Claims that wait for a volume of another storage class than the declared one, for example of one that does not exist. They hold nothing, and no pod
runs that needs them. So both are deleted, and the StatefulSet recreates them. Whoever gets a volume or a node meanwhile stays.
"""

from __future__ import annotations

import time
import typing as t

from .._api.names import Object
from .._databases import DATABASES, Database
from .._errors import Conflict, Refused
from .._kubernetes.apply import Note, ObjectChange
from .._kubernetes.client import Cluster
from .._kubernetes.pods import list_pods
from .._kubernetes.rollout_progress import is_terminating
from .desired import DesiredCluster
from .observed_state import ObservedCluster
from .storage import claims_of, is_empty

_ATTEMPTS, _PAUSE = 5, 0.1
_GONE_SECONDS = 10.0  # a controller that still sees the old claim makes no new one
_DEFAULT = ("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")


def find_claims(cluster: Cluster, wanted: DesiredCluster, live: ObservedCluster) -> dict[Database, list[Object]]:
    """Those of each database. Without a declared class they want the cluster's default."""
    found: dict[Database, list[Object]] = {}
    for database in DATABASES:
        declared = wanted.spec.database(database).storage.storage_class
        empty = [claim for claim in claims_of(wanted, live, database) if is_empty(claim)]
        default = _default_class(cluster) if declared is None and any(map(_class_of, empty)) else None
        there = live.get("apps/v1", "StatefulSet", f"{wanted.name}-{database}")
        templates = there["spec"]["volumeClaimTemplates"] if there else []
        made_with = {_class_of(template) for template in templates}
        found[database] = [claim for claim in empty if _is_other(_class_of(claim), declared, default, made_with)]
    return found


def _class_of(claim: Object) -> str | None:
    storage_class: str | None = claim["spec"].get("storageClassName")
    return storage_class


def _is_other(
    current: str | None, declared: str | None, default: str | None, made_with: t.Collection[str | None]
) -> bool:
    if declared is not None or current is None:
        return current != declared
    if default is not None:
        return current != default
    return current in made_with  # nobody else gave it this class


def _default_class(cluster: Cluster) -> str | None:
    """As the API server chooses it: the newest one. None if there is none, or this user may not look."""
    try:
        classes = cluster.list("storage.k8s.io/v1", "StorageClass")
    except Refused as e:
        if e.details.get("http_status") != 403:
            raise
        return None
    marked = [one["metadata"] for one in classes if _is_default(one["metadata"].get("annotations") or {})]
    marked.sort(key=lambda metadata: metadata["name"])
    newest = max(marked, key=lambda metadata: str(metadata.get("creationTimestamp")), default=None)
    return newest and str(newest["name"])


def _is_default(annotations: t.Mapping[str, str]) -> bool:
    return any(annotations.get(key) == "true" for key in _DEFAULT)


def member_of(claim: Object) -> str:
    """The pod that it is for."""
    return str(claim["metadata"]["name"]).partition("-")[2]


def is_unscheduled(pod: Object) -> bool:
    """Whether nothing of it can ever have run: it has no node yet."""
    status = pod.get("status") or {}
    began = pod["spec"].get("nodeName") or status.get("containerStatuses") or status.get("phase") != "Pending"
    return not began and not is_terminating(pod)


def claims_message(claims: t.Sequence[Object]) -> str:
    names = ", ".join(claim["metadata"]["name"] for claim in claims)
    return f"recreate {names} and what waits for it: without a volume of the old storage class it holds nothing"


def delete_pending_claims(
    cluster: Cluster,
    wanted: DesiredCluster,
    database: Database,
    claims: t.Sequence[Object],
    *,
    check_mode: bool,
    note: Note,
) -> list[Object]:
    """Delete these claims and the pods that wait for them; which claims go, those included that a run before has deleted."""
    namespace, gone = wanted.namespace, []
    pods = list_pods(cluster, namespace, wanted.name, database)
    for claim in claims:
        pod = pods.get(member_of(claim))
        if pod is not None and not (is_unscheduled(pod) or is_terminating(pod)):
            continue
        if not is_terminating(claim):
            if not check_mode and not _delete(cluster, "PersistentVolumeClaim", claim, namespace, is_empty):
                continue
            note(ObjectChange("PersistentVolumeClaim", claim["metadata"]["name"], namespace, "deleted", claim, None))
        gone.append(claim)
        if (
            pod is not None
            and is_unscheduled(pod)
            and (check_mode or _delete(cluster, "Pod", pod, namespace, is_unscheduled))
        ):
            note(ObjectChange("Pod", pod["metadata"]["name"], namespace, "deleted", pod, None))
    if not check_mode:
        _await_gone(cluster, gone, namespace)
    return gone


def _delete(cluster: Cluster, kind: str, there: Object, namespace: str, still: t.Callable[[Object], bool]) -> bool:
    """Whether it was deleted, which it is only as it was just seen."""
    seen: Object | None = there
    uid = there["metadata"]["uid"]
    for _attempt in range(_ATTEMPTS):
        if seen is None or seen["metadata"]["uid"] != uid or not still(seen):
            return False
        metadata = seen["metadata"]
        try:
            return cluster.delete(
                "v1", kind, metadata["name"], namespace, uid=uid, resource_version=metadata["resourceVersion"]
            )
        except Conflict:  # a controller wrote something down
            time.sleep(_PAUSE)
            seen = cluster.get("v1", kind, metadata["name"], namespace)
    return False


def _await_gone(cluster: Cluster, claims: t.Iterable[Object], namespace: str) -> None:
    """Kubernetes lets a claim go when no pod with a node uses it. One that stays longer is told with its pod."""
    end = time.monotonic() + _GONE_SECONDS
    for claim in claims:
        metadata = claim["metadata"]
        while (there := cluster.get("v1", "PersistentVolumeClaim", metadata["name"], namespace)) is not None:
            if there["metadata"]["uid"] != metadata["uid"] or time.monotonic() > end:
                break
            time.sleep(_PAUSE)
