# SPDX-License-Identifier: GPL-3.0-or-later
"""Asks Kubernetes why pods do not run, for an error message."""

from __future__ import annotations

import typing as t

from .._base.errors import OvnError
from .._kubernetes.client import Cluster
from .._kubernetes.pod_diagnosis import diagnose_containers, diagnose_events

_MOST = 5  # messages; more of them say the same


def describe(cluster: Cluster, namespace: str, owner: str, names: t.Collection[str]) -> str:
    """Return one text for an error message, empty if Kubernetes reports no problem."""
    try:
        pods = [pod for pod in cluster.list("v1", "Pod", namespace) if pod["metadata"]["name"] in names]
        messages = [message for pod in pods for message in diagnose_containers(pod)]
        messages += diagnose_events(cluster.list("v1", "Event", namespace), owner, names)
    except OvnError as e:
        return f"(cause unknown: {e})"
    distinct = list(dict.fromkeys(text.rstrip(".") for text in messages))
    return f"Kubernetes says: {'; '.join(distinct[:_MOST])}." if distinct else ""
