# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

Whether a pod that does not run will do so by itself. What passes - a volume that is being made, a registry that hiccups - is waited for. Pure.
"""

from __future__ import annotations

import datetime
import typing as t

from .trouble import container_troubles, event_troubles

# Seconds until a trouble that may pass counts as one that stays: kubelet and scheduler have tried again by then.
PATIENCE = 20.0
_MOUNT_PATIENCE = 60.0  # volumes move slowly from node to node
_CRASHES = 3

_UNMOUNTED = frozenset({"FailedMount", "FailedAttachVolume"})
_NODE_COMES = frozenset({"TriggeredScaleUp", "Nominated"})  # by an autoscaler
_NEVER = frozenset({"InvalidImageName", "ErrImageNeverPull"})
_FAILING = frozenset(
    {"ErrImagePull", "ImagePullBackOff", "CreateContainerConfigError", "CreateContainerError", "RunContainerError"}
)

Object = t.Mapping[str, t.Any]


class Outlook(t.NamedTuple):
    """`words` are Kubernetes' own, `hopeless`: somebody has to do something first."""

    words: str
    hopeless: bool


def outlook(name: str, owner: str, pod: Object | None, events: t.Sequence[Object], now: float) -> Outlook:
    """`now` is seconds since 1970 by the clock of the API server. Of a pod that is missing the events of its owner tell why."""
    if pod is None:
        refused = [
            event for event in events if event.get("reason") == "FailedCreate" and name in event.get("message", "")
        ]
        return Outlook("; ".join(event_troubles(refused, owner, [name])[:1]), bool(refused))
    words = "; ".join(text.rstrip(".") for text in [*container_troubles(pod), *event_troubles(events, name, [name])])
    gone = pod["metadata"].get("deletionTimestamp")
    if gone:  # the moment by which it should have ended
        late = now - seconds(gone) > PATIENCE
        return Outlook(words or f"Pod {name} does not end: its node does not answer", late)
    return Outlook(words, _stays(pod, events, now))


def _stays(pod: Object, events: t.Sequence[Object], now: float) -> bool:
    status = pod.get("status") or {}
    age = now - seconds(pod["metadata"].get("creationTimestamp"))
    told = {e.get("reason") for e in events if (e.get("involvedObject") or {}).get("name") == pod["metadata"]["name"]}
    for condition in status.get("conditions") or ():
        if condition["type"] == "PodScheduled" and condition["status"] == "False":
            since = now - seconds(condition.get("lastTransitionTime"))
            return since > PATIENCE and not told & _NODE_COMES
    for container in (*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())):
        reason = ((container.get("state") or {}).get("waiting") or {}).get("reason", "")
        if reason in _NEVER or (reason in _FAILING and age > PATIENCE):
            return True
        if reason == "CrashLoopBackOff" and container.get("restartCount", 0) >= _CRASHES:
            return True
    return bool(told & _UNMOUNTED) and not _started(pod) and age > _MOUNT_PATIENCE


def _started(pod: Object) -> bool:
    containers = (pod.get("status") or {}).get("containerStatuses") or []
    return any("running" in (c.get("state") or {}) for c in containers)


def seconds(moment: str | None) -> float:
    """Since 1970; a moment that is not told is long ago."""
    if not moment:
        return 0.0
    stamp = moment.rstrip("Z").partition(".")[0]
    return datetime.datetime.strptime(stamp, "%Y-%m-%dT%H:%M:%S").replace(tzinfo=datetime.timezone.utc).timestamp()
