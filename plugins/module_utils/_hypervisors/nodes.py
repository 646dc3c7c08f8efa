# SPDX-License-Identifier: GPL-3.0-or-later
"""Kubernetes Nodes: which of them are hypervisors, and what their annotations say. Pure."""

from __future__ import annotations

import json
import typing as t

from .._api.chassis_settings import Settings, checked
from .._api.names import GROUP, Object
from .._api.outside_addresses import addresses_of_node
from .._base.errors import InvalidInput

if t.TYPE_CHECKING:
    from .._api.spec import ClusterSpec

ENCAPSULATION_IP = f"{GROUP}/encapsulation-ip"
BRIDGE_MAPPINGS = f"{GROUP}/bridge-mappings"
SYSTEM_ID = f"{GROUP}/system-id"
GATEWAY = f"{GROUP}/gateway"
CHASSIS_SETTINGS = f"{GROUP}/chassis-settings"


class Node(t.NamedTuple):
    """The parts of a Node that decide about its chassis."""

    name: str
    uid: str
    labels: t.Mapping[str, str]
    annotations: t.Mapping[str, str]
    addresses: tuple[str, ...]  # internal ones, the first is the address of pods on the host network
    ready: bool
    taints: tuple[str, ...] = ()


def parse_node(node: Object) -> Node:
    metadata, status = node["metadata"], node.get("status") or {}
    by_type = addresses_of_node(node)
    return Node(
        metadata["name"],
        metadata.get("uid", ""),
        metadata.get("labels") or {},
        metadata.get("annotations") or {},
        tuple(by_type.get("InternalIP") or by_type.get("ExternalIP") or ()),
        any(c.get("type") == "Ready" and c.get("status") == "True" for c in status.get("conditions") or []),
        tuple(_taint(taint) for taint in (node.get("spec") or {}).get("taints") or []),
    )


def _taint(taint: Object) -> str:
    value = f"={taint['value']}" if taint.get("value") else ""
    return f"{taint.get('key', '')}{value}:{taint.get('effect', '')}"


def matches(labels: t.Mapping[str, str], selector: t.Mapping[str, str]) -> bool:
    return all(labels.get(key) == value for key, value in selector.items())


def select_nodes(nodes: t.Iterable[Node], spec: ClusterSpec, *, known: bool = False) -> list[Node]:
    """Return the hypervisors, sorted by name. `InvalidInput` if there are none, or if a node would get ovn-controller without Open vSwitch.

    `known`: there were hypervisors before.
    """
    seen = 0
    chosen = []
    for node in nodes:
        seen += 1
        controller, ovs = (matches(node.labels, part.node_selector) for part in (spec.controller, spec.ovs))
        if controller and not ovs:
            raise InvalidInput(
                f"Node {node.name} is chosen by spec.controller.nodeSelector ({_shown(spec.controller.node_selector)}), but not by "
                f"spec.ovs.nodeSelector ({_shown(spec.ovs.node_selector)}): ovn-controller does not work without Open vSwitch. Make them equal."
            )
        if controller:
            chosen.append(node)
    if not chosen:
        first = next(iter(spec.controller.node_selector.items()), ("", ""))
        last = " To remove the last one, run with state: absent (ovn_hypervisor_state: absent)." if known else ""
        raise InvalidInput(
            f"None of the {seen} nodes of this cluster has the labels {_shown(spec.controller.node_selector)} (spec.controller.nodeSelector), "
            f"so there is no hypervisor.{last} Label them, for example: kubectl label node NAME {first[0]}={first[1]}"
        )
    return sorted(chosen, key=lambda node: node.name)


def _shown(selector: t.Mapping[str, str]) -> str:
    return ", ".join(f"{key}={value}" for key, value in sorted(selector.items())) or "(none)"


def annotated_settings(node: Node) -> Settings:
    """Return the settings that the node's annotations name, as options of ovn_chassis; `InvalidInput` names the annotation that is wrong."""

    def where(key: str) -> str:
        return f"Node {node.name}: annotation {key}"

    settings: Settings = {}
    text = node.annotations.get(CHASSIS_SETTINGS, "").strip()
    if text:
        try:
            settings = dict(checked(json.loads(text), where(CHASSIS_SETTINGS)))
        except ValueError as e:
            raise InvalidInput(f"{where(CHASSIS_SETTINGS)} is no JSON: {e}.") from e
    if value := node.annotations.get(ENCAPSULATION_IP, "").strip():
        addresses = [item.strip() for item in value.split(",") if item.strip()]
        settings["encapsulation"] = {**_without_place(settings.get("encapsulation") or {}), "ip": addresses}
    if value := node.annotations.get(SYSTEM_ID, "").strip():
        settings["system_id"] = value
    if value := node.annotations.get(GATEWAY, "").strip():
        if value not in ("true", "false"):
            raise InvalidInput(f'{where(GATEWAY)} is "{value}". Use true or false.')
        settings["gateway"] = value == "true"
    if BRIDGE_MAPPINGS in node.annotations:
        settings["bridge_mappings"] = _bridge_mappings(node.annotations[BRIDGE_MAPPINGS], where(BRIDGE_MAPPINGS))
    return settings


def _without_place(encapsulation: Settings) -> Settings:
    return {key: value for key, value in encapsulation.items() if key == "type"}


def _bridge_mappings(text: str, where: str) -> list[Settings]:
    """Parse `physnet1:br-ex,physnet2:br-vlan:eth1+eth2`: ovn-bridge-mappings with ports behind another colon."""
    mappings = []
    for item in (part.strip() for part in text.split(",")):
        if not item:
            continue
        parts = [part.strip() for part in item.split(":")]
        if len(parts) not in (2, 3) or not parts[0] or not parts[1]:
            raise InvalidInput(f'{where}: "{item}" is not of the form NETWORK:BRIDGE or NETWORK:BRIDGE:PORT+PORT.')
        network, bridge, ports = [*parts, ""][:3]
        names = [port for port in ports.split("+") if port]
        mappings.append({"physical_network": network, "bridge": bridge, **({"ports": names} if names else {})})
    return mappings
