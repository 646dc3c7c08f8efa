# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

Waits until northd runs. The databases are judged by their own verdicts, never by what a controller says about pods.
"""

from __future__ import annotations

from .._deadline import Deadline
from .._errors import TimedOut
from .._k8s import Cluster
from .._manifests.names import Object, northd_name
from .desired import Wanted
from .live import Live
from .trouble import describe


def is_available(deployment: Object) -> bool:
    """Its controller has seen this version, and one pod at least of this version is ready."""
    status = deployment.get("status") or {}
    if status.get("observedGeneration", 0) < deployment["metadata"]["generation"]:
        return False
    wanted = deployment["spec"]["replicas"]
    return bool(status.get("updatedReplicas", 0) >= wanted and status.get("availableReplicas", 0) >= wanted)


def await_workloads(cluster: Cluster, wanted: Wanted, live: Live, deadline: Deadline, *, fresh: bool) -> None:
    name = northd_name(wanted.name)
    seen = None if fresh else live.get("apps/v1", "Deployment", name)
    if seen is not None and is_available(seen):
        return
    if deadline.expired:
        deadline = Deadline(1)
    events = cluster.watch(
        "apps/v1", "Deployment", wanted.namespace, fields=f"metadata.name={name}", timeout=deadline.left()
    )
    for kind, deployment in events:
        seen = deployment
        if kind != "DELETED" and is_available(deployment):
            return
    ready = ((seen or {}).get("status") or {}).get("availableReplicas", 0)
    pods = [
        p["metadata"]["name"]
        for p in cluster.list("v1", "Pod", wanted.namespace)
        if p["metadata"]["name"].startswith(f"{name}-")
    ]
    raise TimedOut(
        f"{ready} of {wanted.spec.northd.replicas} pods of Deployment {name} were available when the time was up. "
        f"{describe(cluster, wanted.namespace, name, pods)} "
        f"See kubectl -n {wanted.namespace} logs deployment/{name}, then run again."
    )
