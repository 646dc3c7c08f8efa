# SPDX-License-Identifier: GPL-3.0-or-later
"""The pods of the hypervisors: which of them do not work, and why. Pure."""

from __future__ import annotations

import typing as t

from .._api.names import Object
from .._kubernetes.pod_diagnosis import diagnose_containers, diagnose_events
from .._kubernetes.rollout_progress import generation_observed, is_terminating
from .._manifests.hypervisor_pods import AGENT
from .._manifests.hypervisors import CONTROLLER, OVS
from .nodes import Node

COMPONENT = "app.kubernetes.io/component"
COMPONENTS = {"ovs": OVS, "controller": CONTROLLER}  # component: DaemonSet


def components_of(mode: str) -> dict[str, str]:
    """Return the components that have pods, and their DaemonSets; `mode` is that of `spec.ovs`."""
    return {component: name for component, name in COMPONENTS.items() if mode == "managed" or component != "ovs"}


_PROBE = "Readiness probe failed: "
_MOST = 5


def is_ready(pod: Object) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or []
    return any(c.get("type") == "Ready" and c.get("status") == "True" for c in conditions)


def rolled_out(daemon_set: Object, nodes: int, down: int = 0) -> bool:
    """Return whether its controller has observed this version and all `nodes` but the `down` ones have a ready pod of it."""
    status, desired = daemon_set.get("status") or {}, _desired(daemon_set, nodes, down)
    return bool(
        generation_observed(daemon_set)
        and status.get("updatedNumberScheduled", 0) >= desired
        and status.get("numberReady", 0) >= desired
    )


def _desired(daemon_set: Object, nodes: int, down: int) -> int:
    # A node with a taint that the pods do not tolerate is not counted in the status, and would never be missed.
    return int(max((daemon_set.get("status") or {}).get("desiredNumberScheduled", 0), nodes)) - down


def _finished(daemon_set: Object) -> int:
    """Return how many nodes have a ready pod of the current template, at least: the status counts ready and up-to-date pods apart."""
    status = daemon_set.get("status") or {}
    ready, updated = status.get("numberReady", 0), status.get("updatedNumberScheduled", 0)
    return int(max(0, ready + updated - status.get("currentNumberScheduled", 0)))


def rollout_counts(daemon_sets: t.Iterable[Object]) -> dict[t.Hashable, int]:
    """Return what rises while they roll out: nodes whose old pod has ended and has a successor, and nodes whose successor is ready.

    Of another generation are other counts, as it begins with none. A status of an earlier generation says nothing.
    """
    counts: dict[t.Hashable, int] = {}
    for one in filter(generation_observed, daemon_sets):
        metadata, status = one["metadata"], one.get("status") or {}
        version = (metadata["name"], metadata.get("uid"), metadata["generation"])
        counts[version, "up to date"] = status.get("updatedNumberScheduled", 0)
        counts[version, "finished"] = _finished(one)
    return counts


def describe_rollout(daemon_sets: t.Mapping[str, Object], names: t.Iterable[str], nodes: int, down: int = 0) -> str:
    """Return how far these DaemonSets got, for a message; `nodes` and `down` as in `rolled_out`."""
    parts = []
    for name in names:
        one = daemon_sets.get(name)
        if one is None:
            parts.append(f"DaemonSet {name} does not exist")
        elif not generation_observed(one):
            parts.append(f"the controller of DaemonSets has not observed {name} yet")
        else:
            status, desired = one.get("status") or {}, _desired(one, nodes, down)
            # Which of them are down, old or both is unknown here.
            least = "at least " if down else ""
            parts.append(
                f"DaemonSet {name} is finished on {least}{min(_finished(one), desired)} of {desired} nodes "
                f"({status.get('updatedNumberScheduled', 0)} up to date, {status.get('numberReady', 0)} ready)"
            )
    return ", ".join(parts)


def pod_problems(
    pods: t.Iterable[Object],
    nodes: t.Iterable[Node],
    events: t.Sequence[Object] = (),
    components: t.Mapping[str, str] | None = None,
) -> dict[str, str]:
    """Return node to what is wrong with its pods, and what its agent says in `events`; nodes without a problem are left out."""
    places: dict[tuple[str, str], Object] = {}
    for pod in pods:
        component = (pod["metadata"].get("labels") or {}).get(COMPONENT, "")
        place = node_of(pod)
        # A pod that is being replaced must not hide the new one.
        if (place, component) not in places or not is_terminating(pod):
            places[place, component] = pod
    problems = {}
    for node in nodes:
        messages = [
            _pod_problem(node, places.get((node.name, component)), name)
            for component, name in (components or COMPONENTS).items()
        ]
        found = [message for message in messages if message]
        names = [pod["metadata"]["name"] for (place, _one), pod in places.items() if place == node.name]
        if found:
            found += agent_messages(events, names)
        if found:
            problems[node.name] = "; ".join(found)
    return problems


def node_of(pod: Object) -> str:
    """Return the pod's node, also while it is not scheduled yet: a DaemonSet names the node in an affinity."""
    node = pod["spec"].get("nodeName")
    if node:
        return str(node)
    affinity = ((pod["spec"].get("affinity") or {}).get("nodeAffinity") or {}).get(
        "requiredDuringSchedulingIgnoredDuringExecution"
    ) or {}
    for term in affinity.get("nodeSelectorTerms") or []:
        for field in term.get("matchFields") or []:
            if field.get("key") == "metadata.name" and field.get("values"):
                return str(field["values"][0])
    return ""


def describe_missing_pod(node: Node, daemon_set: str) -> str:
    taints = f" (the node has the taints {', '.join(node.taints)})" if node.taints else ""
    return f"no pod of DaemonSet {daemon_set} is there{taints}"


def _pod_problem(node: Node, pod: Object | None, daemon_set: str) -> str:
    if pod is None:
        return describe_missing_pod(node, daemon_set)
    if is_ready(pod):
        return ""
    found = diagnose_containers(pod)
    if found:
        return "; ".join(found)
    waiting = [c["name"] for c in (pod.get("status") or {}).get("containerStatuses") or [] if not c.get("ready")]
    return f"pod {pod['metadata']['name']} is not ready" + (f" (container {', '.join(waiting)})" if waiting else "")


def explain(
    problems: t.Mapping[str, str],
    pods: t.Iterable[Object],
    events: t.Sequence[Object],
    components: t.Mapping[str, str] | None = None,
) -> str:
    """Return the causes as Kubernetes and the agents report them, empty if there is none."""
    names = [pod["metadata"]["name"] for pod in pods if not is_ready(pod)]
    messages = [f"Node {node}: {text}" for node, text in sorted(problems.items())]
    more = len(messages) - _MOST
    messages = [*messages[:_MOST], *([f"and {more} more nodes"] if more > 0 else [])]
    agents = agent_messages(events, names)
    kubernetes: list[str] = []
    for daemon_set in (components or COMPONENTS).values():
        kubernetes += diagnose_events(events, daemon_set, names)
    parts = [*messages, *[f"the agent says: {text}" for text in agents[:_MOST]]]
    if kubernetes:
        parts.append(f"Kubernetes says: {'; '.join(list(dict.fromkeys(kubernetes))[:_MOST])}")
    return "; ".join(part.rstrip(".") for part in parts)


def agent_messages(events: t.Iterable[Object], pods: t.Container[str]) -> list[str]:
    """Return the errors of agents: their readiness probe prints them, and Kubernetes keeps that output as an event."""
    newest: dict[str, tuple[str, str]] = {}
    for event in events:
        about = event.get("involvedObject") or {}
        text = (event.get("message") or "").strip()
        if about.get("name") not in pods or about.get("fieldPath") != f"spec.containers{{{AGENT}}}":
            continue
        if text.startswith(_PROBE) and "No such file" not in text:
            moment = str(event.get("lastTimestamp") or event.get("eventTime") or "")
            newest[about["name"]] = max(newest.get(about["name"], ("", "")), (moment, text[len(_PROBE) :].strip()))
    return list(dict.fromkeys(text for _moment, text in newest.values() if text))
