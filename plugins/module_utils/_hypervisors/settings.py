# SPDX-License-Identifier: GPL-3.0-or-later
"""The settings of all chassis, from the specification, the Nodes' annotations, and the OVNChassis fields that other clients set. Pure."""

from __future__ import annotations

import ipaddress
import json
import typing as t

from .._api.chassis_settings import ADDRESSES, CONFIRMED, DEFAULT, HEARTBEAT, NODES, Settings, options_of, settings_of
from .._api.names import Object
from .._base.errors import InvalidInput, OvnError
from .._base.ip_addresses import canonical
from .._chassis.cms_options import OWNER
from .._chassis.external_ids import flow_clear_delay
from .._chassis.options import CHASSIS_OPTIONS
from .._chassis.plan import desired_chassis
from .nodes import Node, annotated_settings, matches

if t.TYPE_CHECKING:
    from .._api.spec import ClusterSpec

_MOST = 1_000_000  # bytes that a ConfigMap holds
_MOST_LISTED = 10  # problems; more of them say the same
_UNKNOWN = "192.0.2.1"  # stands in for an address that only the node itself knows


class Chassis(t.NamedTuple):
    """One hypervisor. `ip` None: it is looked for on the node's devices, so only the node can tell it."""

    node: Node
    system_id: str
    hostname: str
    types: tuple[str, ...]
    ips: tuple[str, ...] | None
    bridge_mappings: tuple[Settings, ...]
    own: Settings  # what differs from the settings of all


def default_settings(spec: ClusterSpec, southbound: t.Sequence[str]) -> Settings:
    """Return the settings of every node without settings of its own, as options of ovn_chassis. A new node needs no further run."""
    encapsulation: Settings = {"type": [spec.encapsulation.type]}
    interface, underlay = spec.encapsulation.interface, spec.ovs.underlay
    if underlay and not spec.encapsulation.cidr and interface in (None, underlay.interface):
        interface = underlay.bridge  # which has the addresses of that device
    if interface:
        encapsulation["interface"] = interface
    elif spec.encapsulation.cidr:
        encapsulation["cidr"] = spec.encapsulation.cidr
    return {
        "remote": list(southbound),
        "encapsulation": encapsulation,
        "bridge_mappings": [
            {
                "physical_network": m.physical_network,
                "bridge": m.bridge,
                **({"ports": list(m.ports)} if m.ports else {}),
            }
            for m in spec.bridge_mappings
        ],
        **_declared_options(spec),
        "external_ids": flow_clear_delay(spec.ovs.datapath_type),
        "gateway": False,
        **({"preserve_foreign": True} if spec.ovs.mode == "host" else {}),
    }


def _declared_options(spec: ClusterSpec) -> Settings:
    """Return the fields of `spec.controller` and `spec.ovs` that are options of ovn_chassis, as far as they have a value."""
    values = [
        (option, getattr(group, option, None)) for group in (spec.controller, spec.ovs) for option in CHASSIS_OPTIONS
    ]
    return {option: value for option, value in values if value is not None}


def plan_chassis(
    nodes: t.Sequence[Node], spec: ClusterSpec, default: Settings, declared: t.Mapping[str, Settings]
) -> list[Chassis]:
    """Return all chassis, sorted as `nodes`. `declared`: what other clients set in the OVNChassis of a node. One `InvalidInput` names all problems."""
    chassis, problems = [], []
    gateways = spec.gateway.node_selector
    for node in nodes:
        try:
            own = annotated_settings(node)
            for option, value in declared.get(node.name, {}).items():
                own.setdefault(option, value)
            if gateways and matches(node.labels, gateways):
                own.setdefault("gateway", True)
            own = {key: value for key, value in own.items() if value != default.get(key)}
            chassis.append(_chassis(node, default, own))
        except OvnError as e:
            problems.append(str(e))
    problems += _clashes(chassis)
    if problems:
        more = f" (and {len(problems) - _MOST_LISTED} more problems)" if len(problems) > _MOST_LISTED else ""
        raise InvalidInput(f"{' '.join(problems[:_MOST_LISTED])}{more} Nothing was changed.", problems=problems)
    return chassis


def _chassis(node: Node, default: Settings, own: Settings) -> Chassis:
    settings = settings_of(default, own)
    encapsulation = settings["encapsulation"]
    ips = _addresses(node, encapsulation)
    ips = ips and tuple(map(canonical, ips))
    resolved = {**settings, "encapsulation": {"type": encapsulation["type"], "ip": list(ips or [_UNKNOWN])}}
    options = options_of(resolved, node=node.name, node_ip="", addresses=list)
    if own:
        try:
            desired_chassis(options)
        except OvnError as e:
            raise InvalidInput(f"Node {node.name}: {e}") from e
    return Chassis(
        node,
        options["system_id"],
        options["hostname"],
        tuple(encapsulation["type"]),
        ips,
        tuple(settings.get("bridge_mappings") or ()),
        own,
    )


def _addresses(node: Node, encapsulation: Settings) -> tuple[str, ...] | None:
    """Return the node's tunnel addresses; None if only the node itself knows them."""
    if encapsulation.get("ip"):
        return tuple(encapsulation["ip"])
    if encapsulation.get("interface"):
        return None
    if encapsulation.get("cidr"):
        network = ipaddress.ip_network(encapsulation["cidr"], strict=False)
        # The agent prefers the node's first address. Between others it chooses by what it finds on its devices.
        return node.addresses[:1] if any(ipaddress.ip_address(a) in network for a in node.addresses[:1]) else None
    if not node.addresses:
        raise InvalidInput(
            f"Node {node.name} has no internal address yet, so it has no tunnel address. Wait until its kubelet has reported one."
        )
    return node.addresses[:1]


def _clashes(chassis: t.Sequence[Chassis]) -> list[str]:
    problems = []
    names: dict[str, str] = {}
    places: dict[str, str] = {}
    for one in chassis:
        first = names.setdefault(one.system_id, one.node.name)
        if first != one.node.name:
            problems.append(
                f'Nodes {first} and {one.node.name} have the same system id "{one.system_id}": they would keep claiming the same ports. '
                "Give one of them another ovn.c5c3.io/system-id."
            )
        for ip in one.ips or ():
            first = places.setdefault(ip, one.node.name)
            if first != one.node.name:
                problems.append(
                    f"Nodes {first} and {one.node.name} have the same tunnel address {ip}. Correct ovn.c5c3.io/encapsulation-ip of one of them."
                )
    return problems


def renames(chassis: t.Iterable[Chassis], recorded: t.Mapping[str, str]) -> list[str]:
    """Return a message for each node that is recorded with another system id: ovn-controller does not survive that change."""
    return [
        f'Node {one.node.name} is the chassis "{recorded[one.node.name]}" and cannot become "{one.system_id}" while it runs: move its workload away, '
        "remove its label and run again, so that the old chassis is deleted; then label it again."
        for one in chassis
        if recorded.get(one.node.name, one.system_id) != one.system_id
    ]


def settings_files(
    default: Settings,
    chassis: t.Sequence[Chassis],
    to_remove: t.Mapping[str, str],
    *,
    owner: str = "",
    addresses: t.Mapping[str, t.Collection[str]] | None = None,
    confirmed: t.Mapping[str, str] | None = None,
    heartbeat_interval: int | None = None,
) -> dict[str, str]:
    """Return the files of the ConfigMap `ovn-chassis`. Only nodes that differ have one of their own; nodes `to_remove` stay recorded, too.

    `owner` goes into each chassis row, which proves whose it is. `addresses`: what is known of nodes whose Node does not name theirs.
    `confirmed`: nodes that may have a certificate, with its name; None if nobody has to know that.
    `heartbeat_interval` tells agents to write the status of their OVNChassis; None: they may not.
    """
    desired_chassis(
        options_of(
            {**default, "encapsulation": {"type": default["encapsulation"]["type"], "ip": [_UNKNOWN]}},
            node="x",
            node_ip="",
            addresses=list,
        )
    )
    tokens = [f"{OWNER}{owner}"] if owner else []
    files = {one.node.name: _json(_marked(one.own, tokens)) for one in chassis if one.own}
    files[DEFAULT] = _json({**default, "cms_options": tokens} if tokens else default)
    nodes = {**to_remove, **{one.node.name: one.system_id for one in chassis}}
    files[NODES] = _json(nodes)
    known = {node: sorted(ips) for node, ips in (addresses or {}).items() if node in nodes and ips}
    files[ADDRESSES] = _json({**known, **{one.node.name: sorted(one.ips) for one in chassis if one.ips}})
    if confirmed is not None:
        files[CONFIRMED] = _json(confirmed)
    if heartbeat_interval is not None:
        files[HEARTBEAT] = _json({"interval": heartbeat_interval})
    _check_size(files, len(chassis))
    return files


def _check_size(files: t.Mapping[str, str], nodes: int) -> None:
    size = sum(len(name) + len(text) for name, text in files.items())
    if size > _MOST:
        raise InvalidInput(
            f"The settings of {nodes} nodes have {size} bytes, more than the ConfigMap ovn-chassis holds. Say in the specification what is "
            "common to them, and only what differs in annotations."
        )


def _marked(own: Settings, tokens: list[str]) -> Settings:
    """Add our tokens to a node's own cms_options, which replace those of all nodes."""
    return {**own, "cms_options": [*own["cms_options"], *tokens]} if "cms_options" in own else own


def recorded_nodes(config: Object | None) -> dict[str, str]:
    """Return node to system id as the last run recorded them; a damaged record counts as empty."""
    return _names(_record(config, NODES))


def confirmed_names(config: Object | None) -> dict[str, str] | None:
    """Return node to system id as runs have confirmed them for a certificate; None if no run has. A damaged record counts as empty."""
    return _names(_record(config, CONFIRMED)) if CONFIRMED in ((config or {}).get("data") or {}) else None


def _names(record: t.Mapping[str, t.Any]) -> dict[str, str]:
    return {node: system_id for node, system_id in record.items() if isinstance(system_id, str)}


def recorded_addresses(config: Object | None) -> dict[str, list[str]]:
    """Return node to its tunnel addresses, as far as the last run knew them."""
    record = _record(config, ADDRESSES)
    return {node: [ip for ip in ips if isinstance(ip, str)] for node, ips in record.items() if isinstance(ips, list)}


def _record(config: Object | None, file: str) -> dict[str, t.Any]:
    try:
        record = json.loads(((config or {}).get("data") or {}).get(file) or "{}")
    except ValueError:
        return {}
    return record if isinstance(record, dict) else {}


def _json(value: t.Any) -> str:
    return json.dumps(value, sort_keys=True)
