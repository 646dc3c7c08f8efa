# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

Pods in which nothing ever ran. They may be made anew without a gate, as long as they are what they were when they were judged.
"""

from __future__ import annotations

import typing as t

from .._errors import Conflict
from .due import is_leaving
from .trouble import containers

if t.TYPE_CHECKING:
    from .._k8s import Cluster

Object = t.Mapping[str, t.Any]


def has_started(pod: Object) -> bool:
    """Whether anything ever ran in it or may run at this moment, or the pod is on its way out."""
    states = [container.get("state") or {} for container in containers(pod)]
    started = any("running" in state or "terminated" in state for state in states)
    return started or is_leaving(pod) or any(container.get("restartCount") for container in containers(pod))


def backs_off(pod: Object) -> bool:
    """Whether its kubelet pauses, for up to five minutes, before it pulls an image again. With a new pod it tries at once."""
    waiting = [(container.get("state") or {}).get("waiting") or {} for container in containers(pod)]
    return any(one.get("reason") == "ImagePullBackOff" for one in waiting)


def delete_idle(cluster: Cluster, pod: Object) -> bool:
    """Delete it, unless anything of it has changed since it was listed: a server in it may serve by now."""
    metadata = pod["metadata"]
    try:
        return cluster.delete(
            *("v1", "Pod", metadata["name"], metadata["namespace"]),
            uid=metadata["uid"],
            resource_version=metadata["resourceVersion"],
        )
    except Conflict:
        return False
