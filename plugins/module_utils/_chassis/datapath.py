# SPDX-License-Identifier: GPL-3.0-or-later
"""The datapath of a hypervisor: whether it loses packets while its daemons look healthy. Pure; `datapath_reader.py` reads the facts."""

from __future__ import annotations

import re
import typing as t

from .._ovsdb.rows import as_list
from .lists import read_bridge_mappings
from .provider_networks import bridge_ports, outward_problems

Row = t.Mapping[str, t.Any]
_ZONES = re.compile(r"^\s*CT zone: (Yes|No)\s*$", re.MULTILINE)
_LOOKUPS = re.compile(r"^(\w+)@\S+:\s*\n\s*lookups: hit:(\d+) missed:(\d+) lost:(\d+)", re.MULTILINE)


class Lookups(t.NamedTuple):
    """Packets since the datapath was created: those with a flow, those without one, of these those that did not reach ovs-vswitchd."""

    hit: int
    missed: int
    lost: int


CODES = ("conntrack_zones_missing", "upcall_handlers_missing", "packets_lost", "uplink_down")


class DatapathProblem(t.NamedTuple):
    code: str
    cause: str
    next_step: str


class DatapathTexts(t.NamedTuple):
    """What a next step names."""

    datapath_type: str
    mappings: str


ON_MACHINES = DatapathTexts("ovn_hypervisor_datapath_type", "ovn_hypervisor_bridge_mappings")
IN_PODS = DatapathTexts(
    "ovs.datapathType of the OVNCluster",
    "bridgeMappings of the OVNCluster or the annotation of the node",
)


def reason_of(code: str) -> str:
    """Return the reason of a condition for the code of a problem: `PacketsLost` for `packets_lost`."""
    return code.title().replace("_", "")


def parse_conntrack_zones(features: str) -> bool | None:
    """Return whether the datapath has conntrack zones, from the output of `dpif/show-dp-features`; None if that does not say it."""
    found = _ZONES.search(features)
    return found[1] == "Yes" if found else None


def parse_lookups(text: str) -> dict[str, Lookups]:
    """Return the counters of each type of datapath in the output of `dpctl/show`."""
    return {kind: Lookups(*map(int, counts)) for kind, *counts in _LOOKUPS.findall(text)}


def uplinks_down(mappings: str, tables: t.Mapping[str, t.Sequence[Row]]) -> list[dict[str, t.Any]]:
    """Return the mapped bridges whose ports that lead out pass no packets, with their networks and what is wrong with each of these ports.

    `mappings` is the value of ovn-bridge-mappings, `tables` has rows of Bridge, Port and Interface with their `_uuid`.
    """
    networks: dict[str, list[str]] = {}
    for network, bridge in read_bridge_mappings(mappings):
        networks.setdefault(bridge, []).append(network)
    mapped = {row["name"]: as_list(row["ports"]) for row in tables["Bridge"] if row["name"] in networks}
    rows, interfaces = ({row["_uuid"]: row for row in tables[table]} for table in ("Port", "Interface"))
    return [
        {"bridge": bridge, "networks": networks[bridge], "ports": {name: one.fault for name, one in problems.items()}}
        for bridge, ports in sorted(bridge_ports(mapped, rows, interfaces).items())
        if (problems := outward_problems(ports))
    ]


def judge_datapath(facts: Row | None, texts: DatapathTexts = ON_MACHINES) -> list[DatapathProblem]:
    """Return what makes this datapath lose packets. Unknown facts (None) yield no problem; in pods, handlers are always unknown."""
    if not facts:
        return []
    problems = []
    if facts["type"] == "system" and facts["conntrack_zones"] is False:
        cause = "its kernel has no conntrack zones (CONFIG_NF_CONNTRACK_ZONES), so ovn-controller is refused and connects again every 8 s"
        step = f"Boot a kernel with conntrack zones, or set {texts.datapath_type} to netdev"
        problems.append(DatapathProblem("conntrack_zones_missing", cause, step))
    if facts["type"] == "system" and facts["handlers"] == 0:
        cause = "ovs-vswitchd has no handler thread, so each packet without a flow in the kernel is lost"
        step = "Run systemctl restart ovs-vswitchd.service there; Open vSwitch 3.1.0 needs that if it has started within 10 s of the boot"
        problems.append(DatapathProblem("upcall_handlers_missing", cause, step))
    if facts["lost"]:
        missed = max(facts["missed"], facts["lost"])
        cause = f"its datapath lost {facts['lost']} of {missed} packets without a flow in {facts['seconds']:.1f} s"
        step = "Check the load of ovs-vswitchd there, its log, and ovs-appctl dpctl/show"
        problems.append(DatapathProblem("packets_lost", cause, step))
    for uplink in facts["uplinks_down"]:
        faults = ", ".join(f"{port} {fault}" for port, fault in sorted(uplink["ports"].items()))
        networks = ", ".join(uplink["networks"])
        cause = f"bridge {uplink['bridge']} of physical network {networks} has no port that passes packets: {faults}"
        step = f"Check that the port is up (ip link), its cable and its switch, or correct {texts.mappings}"
        problems.append(DatapathProblem("uplink_down", cause, step))
    return problems
