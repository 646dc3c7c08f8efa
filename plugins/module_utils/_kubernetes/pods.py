# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

The pods of a database, and the events of a namespace.
"""

from __future__ import annotations

import typing as t

from .._errors import OvnError

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
