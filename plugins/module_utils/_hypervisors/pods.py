# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

The pods of the hypervisors: which of them do not work, and why. Pure.
"""

from __future__ import annotations

import typing as t

from .._api.names import Object
from .._kubernetes.pod_diagnosis import diagnose_containers, diagnose_events
from .._kubernetes.rollout_progress import is_terminating
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
    status = daemon_set.get("status") or {}
    if status.get("observedGeneration", 0) < daemon_set["metadata"]["generation"]:
        return False
    # A node with a taint that the pods do not tolerate is not counted there, and would never be missed.
    desired = max(status.get("desiredNumberScheduled", 0), nodes) - down
    return bool(status.get("updatedNumberScheduled", 0) >= desired and status.get("numberReady", 0) >= desired)


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
        place = _node_of(pod)
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


def _node_of(pod: Object) -> str:
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


def _pod_problem(node: Node, pod: Object | None, daemon_set: str) -> str:
    if pod is None:
        taints = f" (the node has the taints {', '.join(node.taints)})" if node.taints else ""
        return f"no pod of DaemonSet {daemon_set} is there{taints}"
    if is_ready(pod):
        return ""
    found = diagnose_containers(pod)
    if found:
        return "; ".join(found)
    waiting = [c["name"] for c in (pod.get("status") or {}).get("containerStatuses") or [] if not c.get("ready")]
    return f"pod {pod['metadata']['name']} is not ready" + (f" (container {', '.join(waiting)})" if waiting else "")


def explain(problems: t.Mapping[str, str], pods: t.Iterable[Object], events: t.Sequence[Object]) -> str:
    """Return the causes as Kubernetes and the agents report them, empty if there is none."""
    names = [pod["metadata"]["name"] for pod in pods if not is_ready(pod)]
    messages = [f"Node {node}: {text}" for node, text in sorted(problems.items())]
    more = len(messages) - _MOST
    messages = [*messages[:_MOST], *([f"and {more} more nodes"] if more > 0 else [])]
    agents = agent_messages(events, names)
    kubernetes: list[str] = []
    for daemon_set in COMPONENTS.values():
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
