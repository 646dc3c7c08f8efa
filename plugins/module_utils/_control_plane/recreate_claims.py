# SPDX-License-Identifier: GPL-3.0-or-later
"""Claims that wait for a volume of another storage class than the declared one, for example of one that does not exist. They hold nothing, and no pod
runs that needs them. So both are deleted, and the StatefulSet recreates them. A claim that gets a volume meanwhile is kept, and a pod that gets a node.
"""

from __future__ import annotations

import time
import typing as t

from .._api.names import Object
from .._base.databases import DATABASES, Database
from .._base.errors import Conflict, Refused
from .._kubernetes.apply import ObjectChange, OnChange
from .._kubernetes.client import Cluster
from .._kubernetes.pod_watch import list_pods
from .._kubernetes.rollout_progress import is_terminating
from .desired import DesiredCluster
from .observed_state import ObservedCluster, claim_templates
from .storage import claims_of, is_empty

_ATTEMPTS, _PAUSE = 5, 0.1
_GONE_SECONDS = 10.0  # a controller that still sees the old claim creates no new one
_DEFAULT = ("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")


def find_claims_to_recreate(
    cluster: Cluster, desired: DesiredCluster, observed: ObservedCluster
) -> dict[Database, list[Object]]:
    """Return the claims of each database that ask for another class than the declared one, without one for another than the cluster's default."""
    found: dict[Database, list[Object]] = {}
    for database in DATABASES:
        declared = desired.spec.database(database).storage.storage_class
        empty = [claim for claim in claims_of(desired, observed, database) if is_empty(claim)]
        default = _default_class(cluster) if declared is None and any(map(_class_of, empty)) else None
        there = observed.get("apps/v1", "StatefulSet", f"{desired.name}-{database}")
        templates = claim_templates(there) if there else []
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
    return current in made_with  # it has this class from the StatefulSet's template


def _default_class(cluster: Cluster) -> str | None:
    """Return the newest default class, as the API server chooses it. None if there is none, or if this user may not list classes."""
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
    """Return the name of the pod that the claim is for."""
    return str(claim["metadata"]["name"]).partition("-")[2]


def is_unscheduled(pod: Object) -> bool:
    """Return whether no container of the pod can ever have run: it has no node yet, and is not terminating."""
    status = pod.get("status") or {}
    began = pod["spec"].get("nodeName") or status.get("containerStatuses") or status.get("phase") != "Pending"
    return not began and not is_terminating(pod)


def claims_message(claims: t.Sequence[Object]) -> str:
    names = ", ".join(claim["metadata"]["name"] for claim in claims)
    return f"recreate {names} and what waits for it: without a volume of the old storage class it holds nothing"


def delete_pending_claims(
    cluster: Cluster,
    desired: DesiredCluster,
    database: Database,
    claims: t.Sequence[Object],
    *,
    check_mode: bool,
    on_change: OnChange,
) -> list[Object]:
    """Delete these claims and the pods that wait for them, and return the deleted claims, also those that an earlier run has deleted."""
    namespace, gone = desired.namespace, []
    pods = list_pods(cluster, namespace, desired.name, database)
    for claim in claims:
        pod = pods.get(member_of(claim))
        if pod is not None and not (is_unscheduled(pod) or is_terminating(pod)):
            continue
        if not is_terminating(claim):
            if not check_mode and not _delete(cluster, "PersistentVolumeClaim", claim, namespace, is_empty):
                continue
            on_change(
                ObjectChange("PersistentVolumeClaim", claim["metadata"]["name"], namespace, "deleted", claim, None)
            )
        gone.append(claim)
        if (
            pod is not None
            and is_unscheduled(pod)
            and (check_mode or _delete(cluster, "Pod", pod, namespace, is_unscheduled))
        ):
            on_change(ObjectChange("Pod", pod["metadata"]["name"], namespace, "deleted", pod, None))
    if not check_mode:
        _await_gone(cluster, gone, namespace)
    return gone


def _delete(cluster: Cluster, kind: str, there: Object, namespace: str, still: t.Callable[[Object], bool]) -> bool:
    """Delete it as long as `still(object)` holds for its newest version, and return whether it was deleted."""
    current: Object | None = there
    uid = there["metadata"]["uid"]
    for _attempt in range(_ATTEMPTS):
        if current is None or current["metadata"]["uid"] != uid or not still(current):
            return False
        metadata = current["metadata"]
        try:
            return cluster.delete(
                "v1", kind, metadata["name"], namespace, uid=uid, resource_version=metadata["resourceVersion"]
            )
        except Conflict:  # a controller wrote something down
            time.sleep(_PAUSE)
            current = cluster.get("v1", kind, metadata["name"], namespace)
    return False


def _await_gone(cluster: Cluster, claims: t.Iterable[Object], namespace: str) -> None:
    """Wait until the claims are gone, at most 10 s: Kubernetes removes a claim when no scheduled pod uses it. A longer wait is reported with its pod."""
    end = time.monotonic() + _GONE_SECONDS
    for claim in claims:
        metadata = claim["metadata"]
        while (there := cluster.get("v1", "PersistentVolumeClaim", metadata["name"], namespace)) is not None:
            if there["metadata"]["uid"] != metadata["uid"] or time.monotonic() > end:
                break
            time.sleep(_PAUSE)
