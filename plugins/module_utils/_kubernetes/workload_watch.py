# SPDX-License-Identifier: GPL-3.0-or-later
"""Watches Deployments or DaemonSets until they are rolled out."""

from __future__ import annotations

import typing as t

if t.TYPE_CHECKING:
    from .client import Cluster

Object = dict[str, t.Any]


def watch_until(
    cluster: Cluster,
    kind: str,
    namespace: str,
    is_reached: t.Callable[[t.Mapping[str, Object]], bool],
    *,
    known: t.Mapping[str, Object] | None = None,
    labels: str = "",
    fields: str = "",
    timeout: float,
) -> dict[str, Object]:
    """Return the workloads by name as soon as `is_reached` holds for them, else as they are after `timeout` seconds. `known`: those read before."""
    state = dict(known or {})
    if is_reached(state):
        return state
    for event, workload in cluster.watch("apps/v1", kind, namespace, labels=labels, fields=fields, timeout=timeout):
        name = workload["metadata"]["name"]
        if event == "DELETED":
            state.pop(name, None)
        else:
            state[name] = workload
        if is_reached(state):
            break
    return state
