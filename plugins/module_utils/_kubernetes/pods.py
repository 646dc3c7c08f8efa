# SPDX-License-Identifier: GPL-3.0-or-later
"""The pods of a database, and the events of a namespace."""

from __future__ import annotations

import typing as t

from .._base.errors import OvnError

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
