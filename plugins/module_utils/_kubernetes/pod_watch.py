# SPDX-License-Identifier: GPL-3.0-or-later
"""Watches pods until they are as a caller waits for, or until the last one on some nodes is gone."""

from __future__ import annotations

import time
import typing as t

from .._base.errors import OvnError, Refused, TimedOut, Unreachable

# The pods of a database, and the events of a namespace.

# Nodes that no longer report to the API server. A command in a pod there would only run into its time limit.

if t.TYPE_CHECKING:
    from .client import Cluster


def unresponsive_nodes(cluster: Cluster) -> dict[str, str]:
    """Return why each node counts as unresponsive, by its name. Empty if this user may not list nodes."""
    try:
        nodes = cluster.list("v1", "Node")
    except OvnError:
        return {}
    found: dict[str, str] = {}
    for node in nodes:
        for condition in (node.get("status") or {}).get("conditions") or ():
            # False is reported by a kubelet that runs, and still runs commands.
            if condition["type"] == "Ready" and condition["status"] == "Unknown":
                since = condition.get("lastTransitionTime") or "an unknown time"
                name = node["metadata"]["name"]
                found[name] = f"node {name} has not reported since {since}"
    return found


def node_of(pod: t.Mapping[str, t.Any]) -> str:
    """Return the name of the node of a pod, empty if it has none yet."""
    return str((pod.get("spec") or {}).get("nodeName") or "")


if t.TYPE_CHECKING:
    from .client import Cluster


def list_pods(cluster: Cluster, namespace: str, name: str, database: str) -> dict[str, Object]:
    """Return the pods of a database by name; `name` is that of the OVNCluster."""
    labels = f"app.kubernetes.io/instance={name},app.kubernetes.io/component={database}"
    return {pod["metadata"]["name"]: pod for pod in cluster.list("v1", "Pod", namespace, labels=labels)}


def list_events(cluster: Cluster, namespace: str) -> list[Object]:
    """Return the events of a namespace. Empty if this user may not list them: they only explain."""
    try:
        return cluster.list("v1", "Event", namespace)
    except OvnError:
        return []


if t.TYPE_CHECKING:
    from .._base.deadline import Deadline
    from .client import Cluster

Object = dict[str, t.Any]

_LONGEST_WATCH = 60.0  # seconds until the pods are listed again
_PAUSE = 1.0  # seconds before the pods are listed again, if a watch ends early
_GONE = 410  # HTTP status: the API server has forgotten the version from which a watch was to go on


def await_no_pods(
    cluster: Cluster, namespace: str, nodes: t.Collection[str], *, labels: str, deadline: Deadline
) -> list[Object]:
    """Return the pods on these nodes that are still there at the deadline; none as soon as all are gone.

    All pods with these labels are listed, then each change costs one event, however many nodes there are. Of a single node only its own pods are listed.
    No watch is trusted for long, and none at the end: where its connection was lost without a reset, it tells of no change any more.
    """
    fields = f"spec.nodeName={next(iter(nodes))}" if len(nodes) == 1 else ""
    while True:
        pods, version = cluster.list_with_version("v1", "Pod", namespace, labels=labels, fields=fields)
        left = {pod["metadata"]["uid"]: pod for pod in pods if _is_on(pod, nodes)}
        seconds = min(_LONGEST_WATCH, deadline.left())
        if not left or seconds == 0:
            return list(left.values())
        try:
            for event, pod in cluster.watch(
                *("v1", "Pod", namespace), labels=labels, fields=fields, since=version, timeout=seconds
            ):
                if event == "DELETED":
                    left.pop(pod["metadata"]["uid"], None)
                elif _is_on(pod, nodes):
                    left[pod["metadata"]["uid"]] = pod
                if not left:
                    return []
        except OvnError as e:
            if not _is_worth_a_list(e):
                raise
        time.sleep(min(_PAUSE, deadline.left()))


def watch_pods(
    cluster: Cluster,
    namespace: str,
    is_reached: t.Callable[[t.Collection[Object]], bool],
    *,
    labels: str,
    timeout: float,
) -> bool:
    """Return whether `is_reached` holds for all pods with these labels: True as soon as it does, False after `timeout` seconds, or if the watch was lost."""
    pods, version = cluster.list_with_version("v1", "Pod", namespace, labels=labels)
    found = {pod["metadata"]["uid"]: pod for pod in pods}
    if is_reached(found.values()):
        return True
    try:
        for event, pod in cluster.watch("v1", "Pod", namespace, labels=labels, since=version, timeout=timeout):
            if event == "DELETED":
                found.pop(pod["metadata"]["uid"], None)
            else:
                found[pod["metadata"]["uid"]] = pod
            if is_reached(found.values()):
                return True
    except OvnError as e:
        if not _is_worth_a_list(e):
            raise
    return False


def _is_on(pod: Object, nodes: t.Container[str]) -> bool:
    return pod["spec"].get("nodeName") in nodes


def _is_worth_a_list(error: OvnError) -> bool:
    """Return whether the watch ended for a reason that a list survives: it has retries of its own, and says what is wrong."""
    if isinstance(error, Refused):
        return error.details.get("http_status") == _GONE
    return isinstance(error, (TimedOut, Unreachable))
