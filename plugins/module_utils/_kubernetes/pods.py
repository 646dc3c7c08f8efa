# SPDX-License-Identifier: GPL-3.0-or-later
"""The pods of a database, and the events of a namespace."""

from __future__ import annotations

import typing as t

from .._base.errors import OvnError

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

Object = dict[str, t.Any]


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
