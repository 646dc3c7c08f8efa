# SPDX-License-Identifier: GPL-3.0-or-later
"""Judges whether the control plane has enough nodes: two members of a database never share one. Pure."""

from __future__ import annotations

import typing as t

from .._api.names import Object, claim_name, member_name, northd_name
from .._base.databases import DATABASES, TITLES, Database
from .._base.errors import list_names
from .._hypervisors.nodes import matches, parse_node
from .finding import Finding
from .observed_cluster import ObservedKubernetes

if t.TYPE_CHECKING:
    from .._api.spec import ClusterSpec

_BLOCKING = ("NoSchedule", "NoExecute")


def why_unsuitable(node: Object, selector: t.Mapping[str, str], tolerations: t.Sequence[t.Mapping[str, t.Any]]) -> str:
    """Return why the scheduler would place no pod with these fields on the node; empty if it could."""
    labels = node["metadata"].get("labels") or {}
    if not matches(labels, selector):
        lacking = ", ".join(f"{key}={value}" for key, value in sorted(selector.items()) if labels.get(key) != value)
        return f"lacks the label {lacking}"
    spec = node.get("spec") or {}
    if spec.get("unschedulable"):
        return "is cordoned"
    for taint in untolerated_taints(node, tolerations):
        value = f"={taint['value']}" if taint.get("value") else ""
        return f"has the taint {taint.get('key')}{value}:{taint['effect']}"
    return "" if parse_node(node).ready else "is not ready"


def untolerated_taints(node: Object, tolerations: t.Sequence[t.Mapping[str, t.Any]]) -> list[Object]:
    """Return the taints that keep pods with these tolerations from the node."""
    return [
        taint
        for taint in (node.get("spec") or {}).get("taints") or []
        if taint.get("effect") in _BLOCKING and not any(_tolerates(one, taint) for one in tolerations)
    ]


def _tolerates(toleration: t.Mapping[str, t.Any], taint: Object) -> bool:
    """Return whether it tolerates the taint, as the scheduler decides it."""
    if toleration.get("effect") and toleration["effect"] != taint.get("effect"):
        return False
    if toleration.get("operator") == "Exists":
        return not toleration.get("key") or toleration["key"] == taint.get("key")
    same_key = toleration.get("key") == taint.get("key")
    return bool(same_key and (toleration.get("value") or "") == (taint.get("value") or ""))


def members_to_place(spec: ClusterSpec, database: Database, observed: ObservedKubernetes) -> list[str]:
    """Return the members that neither had a node yet nor have a volume: what was placed once, no check of nodes stops."""
    bound = {
        claim["metadata"]["name"]
        for claim in observed.claims or []
        if (claim.get("status") or {}).get("phase") == "Bound"
    }
    placed = {pod["metadata"]["name"] for pod in observed.pods or [] if (pod.get("spec") or {}).get("nodeName")}
    return [
        name
        for index in range(spec.database(database).replicas)
        if (name := member_name(spec.name, database, index)) not in placed
        and claim_name(spec.name, database, index) not in bound
    ]


def judge_placement(spec: ClusterSpec, observed: ObservedKubernetes) -> list[Finding]:
    if observed.nodes is None:
        return []
    findings = []
    for database in DATABASES:
        declared = spec.database(database)
        members = members_to_place(spec, database, observed)
        if not members:
            continue
        taken = {
            pod["spec"]["nodeName"]
            for pod in observed.pods or []
            if (pod.get("spec") or {}).get("nodeName")
            and pod["metadata"]["name"].startswith(f"{spec.name}-{database}-")
        }
        reasons = {
            node["metadata"]["name"]: why_unsuitable(node, declared.node_selector, declared.tolerations)
            for node in observed.nodes
            if node["metadata"]["name"] not in taken
        }
        free = [name for name, why in reasons.items() if not why]
        if len(free) < len(members):
            findings.append(_too_few(spec, database, members, free, reasons))
    return findings + _judge_northd(spec, observed.nodes, observed.pods or [])


def _judge_northd(spec: ClusterSpec, nodes: t.Sequence[Object], pods: t.Iterable[Object]) -> list[Finding]:
    """Judge whether a node takes northd. Its pods may share one, and a run goes on without the observer."""
    name = northd_name(spec.name)
    if any(pod["metadata"]["name"].startswith(f"{name}-") and (pod.get("spec") or {}).get("nodeName") for pod in pods):
        return []
    reasons = {node["metadata"]["name"]: why_unsuitable(node, {}, spec.northd.tolerations) for node in nodes}
    if not all(reasons.values()):
        return []
    unsuitable = [f"{node} {why}" for node, why in sorted(reasons.items())]
    return [
        Finding(
            "nodes_too_few",
            "northd",
            "No node could take its pods: " + (f"{list_names(unsuitable, 5)}." if unsuitable else "there is none."),
            "Add a node, uncordon one, or tolerate its taints in northd.tolerations.",
        )
    ]


def _too_few(
    spec: ClusterSpec, database: Database, members: list[str], free: list[str], reasons: t.Mapping[str, str]
) -> Finding:
    unsuitable = [f"{name} {why}" for name, why in sorted(reasons.items()) if why]
    suitable = f"{len(free)} ({list_names(free)})" if free else "none"
    # Once a member is placed, a run refuses fewer members than are recorded.
    nobody_placed = len(members) == spec.database(database).replicas
    fewer = " or declare 1 member" if free and nobody_placed and len(members) > 1 else ""
    return Finding(
        "nodes_too_few",
        f"{TITLES[database]} database",
        f"Each member needs a node of its own: {len(members)} have none yet ({list_names(members)}), nodes that could take them: {suitable}."
        + (f" {list_names(unsuitable, 5)}." if unsuitable else ""),
        f"Add nodes, label them for {database}.nodeSelector, tolerate their taints in {database}.tolerations, uncordon them{fewer}.",
    )


def judge_node_addresses(spec: ClusterSpec, observed: ObservedKubernetes) -> list[Finding]:
    """With node ports and no names, clients connect to the address of the node that carries the member."""
    if observed.nodes is None or not any(spec.database(d).service.needs_nodes for d in DATABASES):
        return []
    candidates = [
        node
        for node in observed.nodes
        if any(
            not why_unsuitable(node, spec.database(d).node_selector, spec.database(d).tolerations)
            for d in DATABASES
            if spec.database(d).service.needs_nodes
        )
    ]
    return [
        Finding(
            "node_address_missing",
            f"Node {node['metadata']['name']}",
            "It has neither an internal nor an external address, so clients cannot reach the node ports of a member there.",
            "Let its kubelet report one (--node-ip), or keep the members away with nodeSelector.",
        )
        for node in candidates
        if not parse_node(node).addresses
    ]
