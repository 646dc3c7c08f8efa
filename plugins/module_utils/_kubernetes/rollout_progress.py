# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

What is left to do until the pods are what their StatefulSets and their Deployment say. Runs and the observer tell it alike. Pure.
"""

from __future__ import annotations

import typing as t

CONTAINER = "database"

Object = t.Mapping[str, t.Any]


class PendingItem(t.NamedTuple):
    """Something left to do."""

    kind: str  # restart | missing
    message: str


def is_outdated(pod: Object, update_revision: str) -> bool:
    """Whether its StatefulSet would make this pod differently today."""
    revision = (pod["metadata"].get("labels") or {}).get("controller-revision-hash", "")
    return bool(revision and update_revision and revision != update_revision)


def update_revision(stateful_set: Object | None) -> str:
    """The template of today, as `is_outdated` wants it; empty while its controller has not told."""
    return str(((stateful_set or {}).get("status") or {}).get("updateRevision", ""))


def is_terminating(found: Object | None) -> bool:
    """Whether it is deleted and only waits for what has to be done before: no change of it would stay."""
    return found is not None and bool(found["metadata"].get("deletionTimestamp"))


def is_database_container_running(pod: Object) -> bool:
    """Whether the container of the database runs and the pod is not on its way out."""
    if is_terminating(pod):
        return False
    containers = (pod.get("status") or {}).get("containerStatuses") or []
    return any(c["name"] == CONTAINER and "running" in (c.get("state") or {}) for c in containers)


def is_ready(pod: Object) -> bool:
    """Whether Kubernetes counts it among those that serve."""
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


def generation_observed(workload: Object) -> bool:
    """Whether its controller has looked at this version of it."""
    status = workload.get("status") or {}
    return bool(status.get("observedGeneration", 0) >= workload["metadata"]["generation"])


def is_replaced(deployment: Object) -> bool:
    """Its controller has seen this version, and made as many pods of it as declared."""
    status, wanted = deployment.get("status") or {}, deployment["spec"]["replicas"]
    return generation_observed(deployment) and bool(status.get("updatedReplicas", 0) >= wanted)


def is_available(deployment: Object) -> bool:
    """As many pods of this version as declared are ready."""
    status, wanted = deployment.get("status") or {}, deployment["spec"]["replicas"]
    return is_replaced(deployment) and bool(status.get("availableReplicas", 0) >= wanted)


def restarts_due(stateful_set: Object | None, pods: t.Mapping[str, Object]) -> list[str]:
    """The pods that would be made differently today: each of them waits for a run that replaces it."""
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
    """`members`: how many pods each StatefulSet shall have in the end.

    A pod that is away for a moment says nothing about a specification that was `in_effect` before; one of an old template does.
    """
    left: list[PendingItem] = []

    def missing(message: str) -> None:
        left.append(PendingItem("missing", message))

    for name, stateful_set in sorted(stateful_sets.items()):
        due = restarts_due(stateful_set, pods)
        if due:
            left.append(PendingItem("restart", f"A restart is due on {', '.join(due)}: its pod template has changed."))
        if stateful_set is None:
            missing(f"StatefulSet {name} does not exist.")
        elif not generation_observed(stateful_set):
            missing(f"The controller of StatefulSets has not looked at {name} yet.")
        elif stateful_set["spec"]["replicas"] < members[name]:
            missing(f"StatefulSet {name} has {stateful_set['spec']['replicas']} of {members[name]} members.")
        away = [
            one
            for one in _names(stateful_set)
            if one not in due and not (one in pods and is_database_container_running(pods[one]))
        ]
        if away and not in_effect:
            missing(f"Pod {', '.join(away)} does not run.")
    if northd is None or not is_replaced(northd) or not (in_effect or is_available(northd)):
        missing("The pods of northd are not all replaced and available.")
    return left


def _names(stateful_set: Object | None) -> list[str]:
    if stateful_set is None:
        return []
    return [f"{stateful_set['metadata']['name']}-{index}" for index in range(stateful_set["spec"]["replicas"])]
