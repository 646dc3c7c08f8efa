# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

Waits until northd runs, and no longer than that can help. The databases are judged by their own verdicts, never by what a controller says about pods.
"""

from __future__ import annotations

import time

from .._deadline import Deadline
from .._errors import OvnError, TimedOut
from .._k8s import Cluster
from .._manifests.names import Object, northd_name, observer_name
from .._pods.due import is_available
from .._pods.outlook import PATIENCE, outlook
from .desired import Wanted
from .trouble import describe

_SLICE = 5.0
_OBSERVER_SECONDS = 15.0  # nothing depends on it: a warning is enough


def await_workloads(cluster: Cluster, wanted: Wanted, seen: Object | None, deadline: Deadline) -> Object:
    """northd's Deployment, available. `seen` is as it was last, None if it has to be looked at anew."""
    name = northd_name(wanted.name)
    if seen is not None and is_available(seen):
        return seen
    started = time.monotonic()
    hopeless = ""
    while not hopeless:
        # A slice: why pods do not come is not told by the Deployment itself.
        seen = _await(cluster, wanted.namespace, name, min(_SLICE, max(1.0, deadline.left()))) or seen
        if seen is not None and is_available(seen):
            return seen
        if deadline.expired:
            break
        if time.monotonic() - started > PATIENCE:
            hopeless = _hopeless(cluster, wanted, name)
    ready = ((seen or {}).get("status") or {}).get("availableReplicas", 0)
    when = ", and waiting does not change that" if hopeless else " when the time was up"
    raise TimedOut(
        f"{ready} of {wanted.spec.northd.replicas} pods of Deployment {name} were available{when}. "
        f"{describe(cluster, wanted.namespace, name, _pods(cluster, wanted, name))} "
        f"See kubectl -n {wanted.namespace} logs deployment/{name}, then run again."
    )


def observer_trouble(cluster: Cluster, wanted: Wanted, seen: Object | None) -> str:
    """A warning if nobody keeps the status true between runs, empty if somebody does."""
    name = observer_name(wanted.name)
    if seen is None or not is_available(seen):
        seen = _await(cluster, wanted.namespace, name, _OBSERVER_SECONDS)
    if seen is not None and is_available(seen):
        return ""
    why = describe(cluster, wanted.namespace, name, _pods(cluster, wanted, name))
    return f"Deployment {name} is not available, so nobody keeps the status of OVNCluster {wanted.name} and the leader labels true. {why}".rstrip()


def _await(cluster: Cluster, namespace: str, name: str, seconds: float) -> Object | None:
    """The Deployment as soon as it is available, else as it is when the time is up."""
    seen: Object | None = None
    for kind, deployment in cluster.watch(
        "apps/v1", "Deployment", namespace, fields=f"metadata.name={name}", timeout=seconds
    ):
        seen = None if kind == "DELETED" else deployment
        if seen is not None and is_available(seen):
            break
    return seen


def _pods(cluster: Cluster, wanted: Wanted, name: str) -> list[str]:
    pods = cluster.list("v1", "Pod", wanted.namespace)
    return [p["metadata"]["name"] for p in pods if p["metadata"]["name"].startswith(f"{name}-")]


def _hopeless(cluster: Cluster, wanted: Wanted, name: str) -> str:
    """What keeps the pods away for good, empty if they may come yet."""
    deployment = cluster.get("apps/v1", "Deployment", name, wanted.namespace) or {}
    for condition in (deployment.get("status") or {}).get("conditions") or ():
        if condition["type"] == "ReplicaFailure" and condition["status"] == "True":
            return str(condition.get("message") or condition.get("reason") or "its pods are refused")
    try:
        events = cluster.list("v1", "Event", wanted.namespace)
    except OvnError:
        events = []  # not everybody may read them
    now = time.time()
    for pod in cluster.list("v1", "Pod", wanted.namespace):
        if pod["metadata"]["name"].startswith(f"{name}-") and not pod["metadata"].get("deletionTimestamp"):
            seen = outlook(pod["metadata"]["name"], name, pod, events, now)
            if seen.hopeless:
                return seen.words
    return ""
