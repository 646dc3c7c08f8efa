# SPDX-License-Identifier: GPL-3.0-or-later
"""Why pods do not run, as Kubernetes reports it: what containers wait for, and the warnings about the pods, their claims and their owner. Pure."""

from __future__ import annotations

import typing as t

from .timestamps import unix_seconds

_CRASHES = 3
_SHORT_RUN = 30.0  # seconds; a container that ran longer had started, and ended for another reason

Object = t.Mapping[str, t.Any]


def unscheduled(pod: Object) -> Object | None:
    """Return the condition that says that the pod cannot be scheduled, None if there is none."""
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return next((c for c in conditions if c["type"] == "PodScheduled" and c["status"] == "False"), None)


def containers(pod: Object) -> list[Object]:
    """Return the statuses of its containers, in the order in which they start."""
    status = pod.get("status") or {}
    return [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())]


def ends_at_once(container: Object) -> bool:
    """Return whether the container has restarted 3 times or more and its last run was short: as it is specified, it will not keep running."""
    last = (container.get("lastState") or {}).get("terminated") or {}
    begun = unix_seconds(last.get("startedAt"))
    # One that could not even be started is said to have begun in 1970.
    lived = unix_seconds(last.get("finishedAt")) - begun if begun else 0.0
    return container.get("restartCount", 0) >= _CRASHES and lived < _SHORT_RUN


def diagnose_containers(pod: Object) -> list[str]:
    """Return what keeps the containers of one pod from running."""
    name, found = pod["metadata"]["name"], []
    condition = unscheduled(pod)
    if condition is not None:
        found.append(f"Pod {name} has no node: {condition.get('message', condition.get('reason', ''))}")
    for container in containers(pod):
        waiting = (container.get("state") or {}).get("waiting") or {}
        if waiting and waiting.get("reason") not in ("ContainerCreating", "PodInitializing"):
            message = f"{waiting.get('reason', 'waiting')}: {waiting.get('message', '')}".rstrip(": ")
            found.append(f"Container {container['name']} of pod {name} waits ({message})")
    return found


def diagnose_events(events: t.Iterable[Object], owner: str, names: t.Collection[str]) -> list[str]:
    """Return the last warning of each reason about `owner`, its pods `names` and their claims, the newest first."""
    newest: dict[tuple[str, str, str], tuple[str, str]] = {}
    for event in events:
        about = event.get("involvedObject") or {}
        kind, name = about.get("kind", ""), about.get("name", "")
        ours = name == owner or any(name == one or name.endswith(f"-{one}") for one in names)
        if event.get("type") != "Warning" or not ours or event.get("reason") in ("Unhealthy", "BackOff"):
            continue
        time = str(
            event.get("lastTimestamp") or event.get("eventTime") or event["metadata"].get("creationTimestamp") or ""
        )
        key = (kind, name, event.get("reason", ""))
        newest[key] = max(newest.get(key, ("", "")), (time, event.get("message", "").strip()))
    ordered = sorted(newest.items(), key=lambda item: item[1][0], reverse=True)
    return [f"{kind} {name}: {message}" for (kind, name, _reason), (_time, message) in ordered]
