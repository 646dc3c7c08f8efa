# SPDX-License-Identifier: GPL-3.0-or-later
"""Pods in which nothing runs and, as they are specified, nothing will. They may be deleted without a gate, as long as they have not changed since they
were listed.
"""

from __future__ import annotations

import typing as t

from .._base.errors import Conflict
from .pod_diagnosis import containers, ends_at_once
from .rollout_progress import is_terminating

if t.TYPE_CHECKING:
    from .client import Cluster

Object = t.Mapping[str, t.Any]


def has_started(pod: Object) -> bool:
    """Return whether a container of the pod ever ran or may run now, or the pod is terminating.

    Sidecars do not count: they run beside what the pod is for, and go on while that cannot start.
    """
    counted = _without_sidecars(pod)
    states = [container.get("state") or {} for container in counted]
    started = any("running" in state or "terminated" in state for state in states)
    return started or is_terminating(pod) or any(container.get("restartCount") for container in counted)


def is_stuck(pod: Object) -> bool:
    """Return whether no container but a sidecar ever ran in it, or none runs and one ends at once each time, and its kubelet pauses before the next try."""
    if not has_started(pod):
        return True
    pausing = [one for one in containers(pod) if _waits_for(one) == "CrashLoopBackOff"]
    runs = any("running" in (one.get("state") or {}) for one in _without_sidecars(pod))
    return not is_terminating(pod) and not runs and any(ends_at_once(one) for one in pausing)


def backs_off(pod: Object) -> bool:
    """Return whether its kubelet pauses, for up to five minutes, before it pulls an image again. For a new pod it pulls at once."""
    return any(_waits_for(container) == "ImagePullBackOff" for container in containers(pod))


def _without_sidecars(pod: Object) -> list[Object]:
    """Return the statuses of its containers but for those of `initContainers` that go on, as a relay does."""
    initial = (pod.get("spec") or {}).get("initContainers") or ()
    sidecars = {one["name"] for one in initial if one.get("restartPolicy") == "Always"}
    return [one for one in containers(pod) if one["name"] not in sidecars]


def _waits_for(container: Object) -> str:
    return str(((container.get("state") or {}).get("waiting") or {}).get("reason", ""))


def delete_stuck_pod(cluster: Cluster, pod: Object) -> bool:
    """Delete the pod and return whether it was deleted. One that has changed since it was listed is kept: a server in it may serve by now."""
    metadata = pod["metadata"]
    try:
        return cluster.delete(
            *("v1", "Pod", metadata["name"], metadata["namespace"]),
            uid=metadata["uid"],
            resource_version=metadata["resourceVersion"],
        )
    except Conflict:
        return False
