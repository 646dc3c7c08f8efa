# SPDX-License-Identifier: GPL-3.0-or-later
"""What is pending until the pods are as their StatefulSets and their Deployment specify. Runs and the observer report it alike. Pure."""

from __future__ import annotations

import typing as t

CONTAINER = "database"
RELAY = "relay"  # beside it in Southbound pods, with TLS

Object = t.Mapping[str, t.Any]


class PendingItem(t.NamedTuple):
    """A difference between the specification and the pods, for the condition UpToDate."""

    kind: str  # restart | missing
    message: str


def is_outdated(pod: Object, update_revision: str) -> bool:
    """Return whether the pod was created from an older template than the StatefulSet's current one."""
    revision = (pod["metadata"].get("labels") or {}).get("controller-revision-hash", "")
    return bool(revision and update_revision and revision != update_revision)


def update_revision(stateful_set: Object | None) -> str:
    """Return the revision of the StatefulSet's current template, empty until its controller has reported it."""
    return str(((stateful_set or {}).get("status") or {}).get("updateRevision", ""))


def is_terminating(found: Object | None) -> bool:
    """Return whether the object was deleted and waits for its finalizers or its grace period."""
    return found is not None and bool(found["metadata"].get("deletionTimestamp"))


def is_database_container_running(pod: Object) -> bool:
    """Return whether the container of the database runs and the pod is not terminating."""
    if is_terminating(pod):
        return False
    containers = (pod.get("status") or {}).get("containerStatuses") or []
    return any(c["name"] == CONTAINER and "running" in (c.get("state") or {}) for c in containers)


def is_database_container_ready(pod: Object) -> bool:
    """Return whether the member in the pod takes part in its cluster, as its probe says."""
    containers = (pod.get("status") or {}).get("containerStatuses") or []
    return any(c["name"] == CONTAINER and c.get("ready") for c in containers)


def has_relay(pod: Object) -> bool:
    """Return whether the pod has a relay: one of an older template serves chassis by its member."""
    return any(one["name"] == RELAY for one in pod["spec"].get("initContainers") or ())


def is_ready(pod: Object) -> bool:
    """Return whether the pod has the condition Ready."""
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


def generation_observed(workload: Object) -> bool:
    """Return whether the controller has observed the current version of the workload."""
    status = workload.get("status") or {}
    return bool(status.get("observedGeneration", 0) >= workload["metadata"]["generation"])


def is_replaced(deployment: Object) -> bool:
    """Return whether its controller has observed this version, and created all declared pods of it."""
    status, desired = deployment.get("status") or {}, deployment["spec"]["replicas"]
    return generation_observed(deployment) and bool(status.get("updatedReplicas", 0) >= desired)


def is_available(deployment: Object) -> bool:
    """Return whether all declared pods of this version are available."""
    status, desired = deployment.get("status") or {}, deployment["spec"]["replicas"]
    return is_replaced(deployment) and bool(status.get("availableReplicas", 0) >= desired)


def outdated_pods(stateful_set: Object | None, pods: t.Mapping[str, Object]) -> list[str]:
    """Return the names of the pods of an older template: each of them waits for a run that recreates it."""
    revision = update_revision(stateful_set)
    return [name for name in _names(stateful_set) if name in pods and is_outdated(pods[name], revision)]


def pending_items(
    stateful_sets: t.Mapping[str, Object | None],
    northd: Object | None,
    pods: t.Mapping[str, Object],
    members: t.Mapping[str, int],
    *,
    in_effect: bool,
) -> list[PendingItem]:
    """Return what is pending. `members`: the desired number of pods of each StatefulSet.

    A pod that is away for a moment says nothing about a specification that was `in_effect` before; one of an old template does.
    """
    pending: list[PendingItem] = []

    def missing(message: str) -> None:
        pending.append(PendingItem("missing", message))

    for name, stateful_set in sorted(stateful_sets.items()):
        outdated = outdated_pods(stateful_set, pods)
        if outdated:
            pending.append(
                PendingItem("restart", f"A restart is due on {', '.join(outdated)}: its pod template has changed.")
            )
        if stateful_set is None:
            missing(f"StatefulSet {name} does not exist.")
        elif not generation_observed(stateful_set):
            missing(f"The controller of StatefulSets has not observed {name} yet.")
        elif stateful_set["spec"]["replicas"] < members[name]:
            missing(f"StatefulSet {name} has {stateful_set['spec']['replicas']} of {members[name]} members.")
        stopped = [
            one
            for one in _names(stateful_set)
            if one not in outdated and not (one in pods and is_database_container_running(pods[one]))
        ]
        if stopped and not in_effect:
            missing(f"Pod {', '.join(stopped)} does not run.")
    if northd is None or not is_replaced(northd) or not (in_effect or is_available(northd)):
        missing("The pods of northd are not all replaced and available.")
    return pending


def _names(stateful_set: Object | None) -> list[str]:
    if stateful_set is None:
        return []
    return [f"{stateful_set['metadata']['name']}-{index}" for index in range(stateful_set["spec"]["replicas"])]
