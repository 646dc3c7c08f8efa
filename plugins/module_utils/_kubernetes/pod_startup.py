# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a pod that does not run will start by itself. Temporary causes - a volume that is being provisioned, a busy registry - are waited for. Pure.

Where the pod is needed, events from before the wait do not count: they are kept for an hour, and the operator may just have removed their cause.
Where it is not needed now, they count at once.
"""

from __future__ import annotations

import math
import typing as t

from .pod_diagnosis import containers, diagnose_containers, diagnose_events, ends_at_once, unscheduled
from .timestamps import unix_seconds

# Seconds until a problem that may be temporary counts as permanent: kubelet and scheduler have tried again by then.
PATIENCE = 20.0
# A requeued controller refuses a pod at once, and the timestamps of its events are whole seconds.
_ANSWER = 3.0
_UNBOUND_PATIENCE = 120.0  # for a provisioner to create the volume
_CRASH_PATIENCE = 60.0  # for a container that crashed before; the kubelet may pause for longer
_PROVISIONER_TRIES = 60.0  # a provisioner retries at least this often
_MOUNT_PATIENCE = 60.0
_ATTACH_PATIENCE = 400.0  # a node that died keeps its volumes for about six minutes
_PULLS = 2

_UNBOUND = "unbound immediate PersistentVolumeClaims"
_SUMMARY = "Unable to attach or mount volumes"  # of a kubelet that waits for any of them
_NODE_COMES = frozenset({"TriggeredScaleUp", "Nominated"})  # by an autoscaler
_IN_THE_MAKING = frozenset({"Provisioning", "ExternalProvisioning"})
_NEVER = "InvalidImageName"
_FAILING = frozenset(
    {
        "ErrImageNeverPull",
        "ImagePullBackOff",
        "CreateContainerConfigError",
        "CreateContainerError",
        "RunContainerError",
    }
)

Object = t.Mapping[str, t.Any]


class PodStartup(t.NamedTuple):
    """`message` is what Kubernetes reports, `unrecoverable`: the pod cannot start before an operator has acted."""

    message: str
    unrecoverable: bool


def assess_startup(
    name: str,
    owner: str,
    pod: Object | None,
    events: t.Sequence[Object],
    now: float,
    since: float | None,
    *,
    needed: bool = True,
) -> PodStartup:
    """Return whether and why the pod does not start. Times are seconds since 1970 by the clock of the API server.

    `since`: from then on the pod is waited for. For a missing pod: when its owner's controller was requeued, None if it was not.
    `needed`: the other members do not serve without it, or the next step is about it.
    """
    if pod is None:
        refused = [
            event
            for event in events
            if event.get("reason") == "FailedCreate" and name in event.get("message", "") and _is_new(event, since)
        ]
        answered = since is not None and now - since >= _ANSWER
        return PodStartup("; ".join(diagnose_events(refused, owner, [name])[:1]), bool(refused) and answered)
    events = [event for event in events if not _of_another(event, pod)]
    message = "; ".join(
        text.rstrip(".") for text in [*diagnose_containers(pod), *diagnose_events(events, name, [name])]
    )
    gone = pod["metadata"].get("deletionTimestamp")
    if gone:  # the time by which it should have ended
        late = now - unix_seconds(gone) > PATIENCE
        return PodStartup(message or f"Pod {name} does not end: its node does not respond", late)
    own = [event for event in events if _uid(event) == pod["metadata"]["uid"]]
    begun = since if needed and since is not None else 0.0
    condition = unscheduled(pod)
    if condition is not None:
        return PodStartup(message, _gets_no_node(name, condition, own, events, now, begun))
    return PodStartup(message, _starts_never(pod, own, now, begun) or _mounts_never(pod, own, now, since))


def _uid(event: Object) -> str:
    return str((event.get("involvedObject") or {}).get("uid", ""))


def _of_another(event: Object, pod: Object) -> bool:
    """Return whether the event is about an earlier pod: pods of a StatefulSet have the names of those before them."""
    about = event.get("involvedObject") or {}
    same_name = about.get("kind") == "Pod" and about.get("name") == pod["metadata"]["name"]
    return same_name and _uid(event) != pod["metadata"]["uid"]


def _is_new(event: Object, since: float | None) -> bool:
    return since is not None and _last(event) >= math.floor(since)


def _last(event: Object) -> float:
    """Return when it happened last."""
    series = event.get("series") or {}
    return max(
        unix_seconds(timestamp)
        for timestamp in (series.get("lastObservedTime"), event.get("lastTimestamp"), _made(event))
    )


def _first(event: Object) -> float:
    return unix_seconds(event.get("firstTimestamp") or _made(event))


def _made(event: Object) -> str | None:
    timestamp: str | None = event.get("eventTime") or event["metadata"].get("creationTimestamp")
    return timestamp


def _count(event: Object) -> int:
    return int((event.get("series") or {}).get("count") or event.get("count") or 1)


def _gets_no_node(
    name: str, condition: Object, own: t.Sequence[Object], events: t.Sequence[Object], now: float, begun: float
) -> bool:
    patience = PATIENCE
    if _UNBOUND in condition.get("message", ""):
        patience = _volume_patience(name, events, now, begun)
    ordered = any(event.get("reason") in _NODE_COMES for event in own)
    return now - max(unix_seconds(condition.get("lastTransitionTime")), begun) > patience and not ordered


def _volume_patience(pod: str, events: t.Sequence[Object], now: float, begun: float) -> float:
    """Return the seconds to wait for its volume: fewer if a provisioner failed, or if no storage class is set."""
    refused, made = 0.0, 0.0
    for event in events:
        about, reason = event.get("involvedObject") or {}, event.get("reason")
        if not (about.get("kind") == "PersistentVolumeClaim" and about.get("name", "").endswith(f"-{pod}")):
            continue
        if reason in _IN_THE_MAKING:
            made = max(made, _last(event))
        if reason == "ProvisioningFailed" or (
            reason == "FailedBinding" and "no storage class is set" in event.get("message", "")
        ):
            refused = max(refused, _last(event))
    if refused >= max(math.floor(begun), now - _PROVISIONER_TRIES):
        return PATIENCE
    # What was refused before is tried again until then.
    return _PROVISIONER_TRIES if begun and refused > made else _UNBOUND_PATIENCE


def _starts_never(pod: Object, own: t.Sequence[Object], now: float, begun: float) -> bool:
    failed = [event for event in own if event.get("reason") == "Failed"]
    # A pod may be old when its problem begins: its volume was provisioned late.
    first = max(min(map(_first, failed), default=unix_seconds(pod["metadata"].get("creationTimestamp"))), begun)
    pulls = [event for event in failed if event.get("message", "").startswith("Failed to pull image")]
    pulled = max(map(_last, pulls), default=0.0) >= begun and sum(map(_count, pulls)) >= _PULLS
    for container in containers(pod):
        reason = ((container.get("state") or {}).get("waiting") or {}).get("reason", "")
        if reason == _NEVER or (reason in _FAILING and now - first > PATIENCE):
            return True
        if reason in ("ErrImagePull", "ImagePullBackOff") and pulled:
            return True
        if reason == "CrashLoopBackOff" and _crashes(container, now, begun):
            return True
    return False


def _crashes(container: Object, now: float, begun: float) -> bool:
    ended = unix_seconds(((container.get("lastState") or {}).get("terminated") or {}).get("finishedAt"))
    return ends_at_once(container) and (ended >= begun or now - begun > _CRASH_PATIENCE)


def _mounts_never(pod: Object, own: t.Sequence[Object], now: float, since: float | None) -> bool:
    if _started(pod):
        return False
    failed = [event for event in own if event.get("reason") in ("FailedMount", "FailedAttachVolume")]
    attaches = any(_attaches(event) for event in failed)
    for event in failed:
        patience = _ATTACH_PATIENCE if attaches else _MOUNT_PATIENCE
        if _is_new(event, since) and now - _first(event) > patience:
            return True
    return False


def _attaches(event: Object) -> bool:
    return event.get("reason") == "FailedAttachVolume" or event.get("message", "").startswith(_SUMMARY)


def _started(pod: Object) -> bool:
    statuses = (pod.get("status") or {}).get("containerStatuses") or []
    return any("running" in (c.get("state") or {}) for c in statuses)
