# SPDX-License-Identifier: GPL-3.0-or-later
"""Judges the nodes of a hypervisor cluster: whether any is selected, and where their tunnels end. Pure."""

from __future__ import annotations

import typing as t

from .._api.names import GROUP, Object
from .._base.errors import OvnError, list_names
from .._hypervisors.metadata_agents import GATEWAY_CAUSE, GATEWAY_STEP, gateways_with_agent
from .._hypervisors.nodes import Node, matches, parse_node
from .._hypervisors.resources import declared_settings
from .._hypervisors.settings import Chassis, default_settings, plan_chassis
from .finding import Finding

if t.TYPE_CHECKING:
    from .._api.spec import ClusterSpec

_SOUTHBOUND = ["tcp:192.0.2.1:6642"]  # the settings need one; it has no say in what is judged here


def judge_hypervisors(
    spec: ClusterSpec, nodes: t.Sequence[Object] | None, resources: t.Iterable[Object] = ()
) -> list[Finding]:
    """`resources` are the OVNChassis: what other clients have set there are settings of the nodes, too."""
    if nodes is None:
        return []
    declared = {one["metadata"]["name"]: declared_settings(one) for one in resources}
    parsed = [parse_node(node) for node in nodes]
    chosen = [node for node in parsed if matches(node.labels, spec.controller.node_selector)]
    if not chosen:
        return [_none_selected(spec, len(parsed))]
    own = [] if spec.ovs.mode == "host" else chosen
    findings = [_without_ovs(spec, node) for node in own if not matches(node.labels, spec.ovs.node_selector)]
    chassis: list[Chassis] = []
    default = default_settings(spec, _SOUTHBOUND)
    for node in sorted(chosen, key=lambda one: one.name):
        try:
            chassis += plan_chassis([node], spec, default, declared)
        except OvnError as e:
            findings.append(_bad_settings(node, e))
    findings += [
        Finding("metadata_agent_on_gateway", f"Node {one.node.name}", _capital(GATEWAY_CAUSE), GATEWAY_STEP)
        for one in gateways_with_agent(spec, chassis)
    ]
    return findings + _duplicates(chassis)


def _capital(sentence: str) -> str:
    return f"{sentence[0].upper()}{sentence[1:]}"


def _shown(selector: t.Mapping[str, str]) -> str:
    return ", ".join(f"{key}={value}" for key, value in sorted(selector.items())) or "(none)"


def _none_selected(spec: ClusterSpec, count: int) -> Finding:
    selector = spec.controller.node_selector
    key, value = next(iter(selector.items()), ("", ""))
    return Finding(
        "nodes_selected_none",
        "spec.controller.nodeSelector",
        f"None of the {count} nodes of this cluster has the labels {_shown(selector)}, so there is no hypervisor.",
        f"Label them, for example: kubectl label node NAME {key}={value}",
    )


def _without_ovs(spec: ClusterSpec, node: Node) -> Finding:
    return Finding(
        "node_without_open_vswitch",
        f"Node {node.name}",
        f"spec.controller.nodeSelector selects it, but spec.ovs.nodeSelector ({_shown(spec.ovs.node_selector)}) does not: "
        "ovn-controller does not work without Open vSwitch.",
        "Make both selectors equal.",
    )


def _bad_settings(node: Node, error: OvnError) -> Finding:
    if not node.addresses and "no internal address" in str(error):
        return Finding(
            "node_address_missing",
            f"Node {node.name}",
            "It has no internal address yet, so its tunnels have no end.",
            f"Wait until its kubelet has reported one, or set its annotation {GROUP}/encapsulation-ip.",
        )
    problems = error.details.get("problems") or [str(error)]
    return Finding(
        "node_settings_invalid",
        f"Node {node.name}",
        " ".join(problems).removeprefix(f"Node {node.name}: "),
        f"Correct its annotations {GROUP}/… (kubectl annotate --overwrite node {node.name}).",
    )


def _duplicates(chassis: t.Iterable[Chassis]) -> list[Finding]:
    names: dict[str, list[str]] = {}
    addresses: dict[str, list[str]] = {}
    for one in chassis:
        names.setdefault(one.system_id, []).append(one.node.name)
        for ip in one.ips or ():
            addresses.setdefault(ip, []).append(one.node.name)
    return [
        *(
            Finding(
                "node_system_id_duplicate",
                f"Nodes {list_names(nodes)}",
                f'They have the same system id "{name}": they would keep claiming the same ports.',
                f"Give all but one of them another annotation {GROUP}/system-id.",
            )
            for name, nodes in names.items()
            if len(nodes) > 1
        ),
        *(
            Finding(
                "node_address_duplicate",
                f"Nodes {list_names(nodes)}",
                f"They have the same tunnel address {ip}: packets for one of them reach the other.",
                f"Correct the annotation {GROUP}/encapsulation-ip, or the address that the kubelet of one of them reports.",
            )
            for ip, nodes in addresses.items()
            if len(nodes) > 1
        ),
    ]
