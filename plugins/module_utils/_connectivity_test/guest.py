# SPDX-License-Identifier: GPL-3.0-or-later
"""A small guest without a machine: a network namespace whose `eth0` is plugged into the integration bridge. Plans only; nothing is run here."""

from __future__ import annotations

import dataclasses
import typing as t

from .._base.errors import Refused
from .._ovsdb.rows import decode

DATABASE = "Open_vSwitch"
ANSWER_SECONDS = 10.0  # for the local database, also on a busy host
GUEST_DEVICE = "eth0"
MARK = "c5c3-ovn-test-port"

Operation = dict[str, t.Any]


@dataclasses.dataclass(frozen=True)
class Guest:
    """What shall be there. `device` is the end of the veth pair that the bridge gets."""

    namespace: str
    device: str
    mac: str
    address: str  # with prefix length
    mtu: int


@dataclasses.dataclass(frozen=True)
class GuestLink:
    """`eth0` inside of the namespace, as `ip -json -details address show` tells it."""

    kind: str
    mac: str
    mtu: int
    up: bool
    addresses: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class ActualGuest:
    namespace: bool = False
    device: bool = False
    device_up: bool = False
    link: GuestLink | None = None


def parse_link(data: t.Sequence[t.Mapping[str, t.Any]]) -> GuestLink | None:
    """`eth0` among all links of the namespace."""
    for link in data:
        if link.get("ifname") == GUEST_DEVICE:
            addresses = tuple(
                f"{a['local']}/{a['prefixlen']}"
                for a in link.get("addr_info", [])
                if a.get("family") == "inet" or (a.get("family") == "inet6" and a.get("scope") != "link")
            )
            kind = link.get("linkinfo", {}).get("info_kind", "")
            return GuestLink(
                kind, link.get("address", ""), link.get("mtu", 0), "UP" in link.get("flags", []), addresses
            )
    return None


def guest_commands(wanted: Guest, actual: ActualGuest) -> list[list[str]]:
    """Arguments of `ip`, in order. A pair that is torn apart is recreated; anything else is corrected in place."""
    inside = ["-netns", wanted.namespace]
    todo: list[list[str]] = []
    link = actual.link
    if not actual.namespace:
        todo.append(["netns", "add", wanted.namespace])
        todo.append([*inside, "link", "set", "dev", "lo", "up"])
    if not actual.device or link is None or link.kind != "veth":
        todo += _recreate_pair(wanted, actual)
        actual = dataclasses.replace(actual, device_up=False)
        link = GuestLink("veth", "", 0, False, ())
    if link.mac != wanted.mac:
        todo.append([*inside, "link", "set", "dev", GUEST_DEVICE, "address", wanted.mac])
    if link.mtu != wanted.mtu:
        todo.append([*inside, "link", "set", "dev", GUEST_DEVICE, "mtu", str(wanted.mtu)])
    for address in link.addresses:
        if address != wanted.address:
            todo.append([*inside, "address", "delete", address, "dev", GUEST_DEVICE])
    if wanted.address not in link.addresses:
        # The test network has no two equal addresses: nothing has to wait for that to be found out.
        nodad = ["nodad"] if ":" in wanted.address else []
        todo.append([*inside, "address", "add", wanted.address, "dev", GUEST_DEVICE, *nodad])
    if not link.up:
        todo.append([*inside, "link", "set", "dev", GUEST_DEVICE, "up"])
    if not actual.device_up:
        todo.append(["link", "set", "dev", wanted.device, "up"])
    return todo


def _recreate_pair(wanted: Guest, actual: ActualGuest) -> list[list[str]]:
    """Return the commands that delete what is left of a pair and create a new one."""
    peer = ["type", "veth", "peer", "name", GUEST_DEVICE, "netns", wanted.namespace]
    commands = [["link", "add", "dev", wanted.device, *peer]]
    if actual.device:
        return [["link", "delete", "dev", wanted.device], *commands]
    if actual.link is not None:
        return [["-netns", wanted.namespace, "link", "delete", "dev", GUEST_DEVICE], *commands]
    return commands


def guest_removal(wanted: Guest, actual: ActualGuest) -> list[list[str]]:
    todo = [["link", "delete", "dev", wanted.device]] if actual.device else []
    return [*todo, ["netns", "delete", wanted.namespace]] if actual.namespace else todo


@dataclasses.dataclass(frozen=True)
class ActualPort:
    """Rows of the local Open vSwitch: uuids, None if there is no such row."""

    bridge: str | None = None
    port: str | None = None
    holder: str | None = None  # name of the bridge that has the port
    ours: bool = True
    interface: str | None = None
    iface_id: str | None = None


def port_queries(bridge: str, device: str) -> list[Operation]:
    return [
        {"op": "select", "table": "Bridge", "where": [], "columns": ["_uuid", "name", "ports"]},
        {"op": "select", "table": "Port", "where": [["name", "==", device]], "columns": ["_uuid", "external_ids"]},
        {"op": "select", "table": "Interface", "where": [["name", "==", device]], "columns": ["_uuid", "external_ids"]},
    ]


def actual_port(bridge: str, answers: t.Sequence[t.Mapping[str, t.Any]]) -> ActualPort:
    bridges, ports, interfaces = (
        [{k: decode(v) for k, v in row.items()} for row in answer["rows"]] for answer in answers
    )
    port = ports[0] if ports else None
    interface = interfaces[0] if interfaces else None
    return ActualPort(
        bridge=next((row["_uuid"] for row in bridges if row["name"] == bridge), None),
        port=port["_uuid"] if port else None,
        holder=next((row["name"] for row in bridges if port and port["_uuid"] in row["ports"]), None),
        ours=MARK in port["external_ids"] if port else True,
        interface=interface["_uuid"] if interface else None,
        iface_id=interface["external_ids"].get("iface-id") if interface else None,
    )


def port_operations(bridge: str, device: str, iface_id: str, actual: ActualPort) -> list[Operation]:
    """What to write so that `device` is a port of `bridge` and carries the logical port `iface_id`."""
    if actual.bridge is None:
        raise Refused(
            f"There is no bridge {bridge}. ovn-controller makes it: is it running, and does this host have its chassis settings?"
        )
    if not actual.ours or (actual.holder is not None and actual.holder != bridge):
        raise Refused(
            f"{device} is already a port of bridge {actual.holder}, and not one that this module made. Choose another device name."
        )
    if actual.port is None:
        if actual.interface is not None:
            raise Refused(f"{device} is already an interface of another port. Choose another device name.")
        interface = {"name": device, "external_ids": ["map", [["iface-id", iface_id]]]}
        return [
            {"op": "insert", "table": "Interface", "row": interface, "uuid-name": "interface"},
            {
                "op": "insert",
                "table": "Port",
                "row": {
                    "name": device,
                    "interfaces": ["named-uuid", "interface"],
                    "external_ids": ["map", [[MARK, "true"]]],
                },
                "uuid-name": "port",
            },
            _bridge_ports(actual.bridge, "insert", ["named-uuid", "port"]),
        ]
    if actual.iface_id == iface_id:
        return []
    mutations = [
        ["external_ids", "delete", ["set", ["iface-id"]]],
        ["external_ids", "insert", ["map", [["iface-id", iface_id]]]],
    ]
    return [{"op": "mutate", "table": "Interface", "where": [["name", "==", device]], "mutations": mutations}]


def port_removal(bridge: str, actual: ActualPort) -> list[Operation]:
    if actual.bridge is None or actual.port is None or not actual.ours or actual.holder != bridge:
        return []
    return [_bridge_ports(actual.bridge, "delete", ["uuid", actual.port])]


def _bridge_ports(bridge: str, mutator: str, port: list[str]) -> Operation:
    return {
        "op": "mutate",
        "table": "Bridge",
        "where": [["_uuid", "==", ["uuid", bridge]]],
        "mutations": [["ports", mutator, ["set", [port]]]],
    }


def next_configuration() -> list[Operation]:
    """Counts next_cfg up; the second answer has its new value."""
    bump = {"op": "mutate", "table": "Open_vSwitch", "where": [], "mutations": [["next_cfg", "+=", 1]]}
    return [bump, {"op": "select", "table": "Open_vSwitch", "where": [], "columns": ["next_cfg"]}]


def configuration_wait(number: int, milliseconds: int) -> Operation:
    """Answers as soon as ovs-vswitchd has taken over configuration `number`, or fails with "timed out"."""
    reached = [["cur_cfg", ">=", number]]
    return {
        "op": "wait",
        "timeout": milliseconds,
        "table": "Open_vSwitch",
        "where": reached,
        "columns": ["_uuid"],
        "until": "!=",
        "rows": [],
    }


def makes_device(commands: t.Sequence[t.Sequence[str]]) -> bool:
    return any(list(command[:2]) == ["link", "add"] for command in commands)


def installed_wait(device: str, milliseconds: int) -> Operation:
    """Answers as soon as ovn-controller has installed the flows of the port, or fails with "timed out"."""
    flag = ["external_ids", "includes", ["map", [["ovn-installed", "true"]]]]
    return {
        "op": "wait",
        "timeout": milliseconds,
        "table": "Interface",
        "where": [["name", "==", device], flag],
        "columns": ["name"],
        "until": "==",
        "rows": [{"name": device}],
    }
