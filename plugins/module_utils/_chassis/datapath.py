# SPDX-License-Identifier: GPL-3.0-or-later
"""The facts of the datapath of this host, from ovs-vswitchd, its database and /proc. Read only; what they mean is decided in `datapath.py`."""

from __future__ import annotations

import contextlib
import os
import re
import time
import typing as t

from .._base.deadline import Deadline
from .._base.errors import OvnError
from .._machine.proc import PROC, control_sockets, running_programs
from .._ovsdb.endpoint import Endpoint, parse_endpoint
from .._ovsdb.rows import as_list
from .._ovsdb.server import appctl
from .._ovsdb.tls_files import NO_TLS
from .._ovsdb.wire import Connection
from .database import DATABASE
from .external_ids import integration_bridge, settings_in_use
from .lookup import read_tables
from .provider_networks import INTERFACE_COLUMNS, PORT_COLUMNS, bridge_ports, outward_problems
from .text import read_bridge_mappings

# The datapath of a hypervisor: whether it loses packets while its daemons look healthy. Pure.

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


_PROGRAM = "ovs-vswitchd"
_APART = 1.0  # seconds between two readings of the counters, at least
# Seconds that a new ovs-vswitchd may wait for the flows of br-int: `await_flows` of `_daemons/flow_restore.py` begins its last reading before 60 s.
_RESTART = 75.0
_TABLES = {
    "Open_vSwitch": ["external_ids", "other_config"],
    "Bridge": ["name", "ports", "datapath_type"],
    "Port": PORT_COLUMNS,
    "Interface": INTERFACE_COLUMNS,
}


class _Reading(t.NamedTuple):
    at: float
    process: tuple[int, int] | None  # the control socket, which each ovs-vswitchd creates; None: none answers
    lookups: dict[str, Lookups]
    is_settled: bool = True  # the reading before it was one of the same process

    @property
    def is_young(self) -> bool:
        """Whether the daemon may still wait for the flows of the integration bridge."""
        return self.process is not None and time.time() - self.process[1] / 1e9 < _RESTART


class DatapathWatch:
    """Compares the counters with those of its last reading. The first one is when it is made."""

    def __init__(self, database: str, seconds: float, *, is_settled: bool = True) -> None:
        """`database` is that of Open vSwitch; each answer may take `seconds`. `is_settled`: ovs-vswitchd was not started together with the caller."""
        self._database, self._seconds = database, seconds
        self._socket = ""
        self._last = self._read()._replace(is_settled=is_settled)

    def end(self) -> dict[str, t.Any] | None:
        """Return the facts since it was made: of a second, or of the time that other work has taken."""
        if self._last.lookups:
            time.sleep(max(0.0, self._last.at + _APART - time.monotonic()))
        return self.read_facts()

    def read_facts(self) -> dict[str, t.Any] | None:
        """Return the facts since the last reading, as `ovn_host_info` documents them; None if no Open vSwitch with a bridge answers."""
        first, last = self._last, self._read()
        self._last = last._replace(is_settled=last.process == first.process)
        tables = read_tables(self._database, DATABASE, _TABLES, self._seconds) if self._socket else {}
        if not tables or not tables["Open_vSwitch"] or not tables["Bridge"]:
            return None
        settings = settings_in_use(tables["Open_vSwitch"][0]["external_ids"])
        bridges = {row["name"]: row["datapath_type"] or "system" for row in tables["Bridge"]}
        bridge = integration_bridge(settings)
        bridge = bridge if bridge in bridges else min(bridges)
        kind = bridges[bridge]
        now, before = last.lookups.get(kind), first.lookups.get(kind)
        # A daemon that leaves the flows of the kernel alone has no handlers yet.
        waits = tables["Open_vSwitch"][0]["other_config"].get("flow-restore-wait") == "true"
        # What is lost while ovs-vswitchd restarts is no fault, and a datapath that was created again counts from zero.
        is_settled = self._last.is_settled and first.is_settled and not (waits and last.is_young)
        same = now and before and is_settled and now.lost >= before.lost
        return {
            "type": kind,
            "conntrack_zones": parse_conntrack_zones(self._ask("dpif/show-dp-features", bridge)),
            "handlers": None if waits else _count_handlers(),
            "lookups": now._asdict() if now else None,
            "lost": now.lost - before.lost if now and before and same else None,
            "missed": now.missed - before.missed if now and before and same else None,
            "seconds": round(last.at - first.at, 1),
            "uplinks_down": uplinks_down(settings.get("ovn-bridge-mappings", ""), tables),
        }

    def _control_socket(self) -> str:
        """Return the control socket beside that of the database, empty if no ovs-vswitchd listens there: one that was killed leaves its own."""
        endpoint = parse_endpoint(self._database)
        folder = os.path.dirname(endpoint.host) if endpoint.scheme == "unix" else ""
        with contextlib.suppress(OSError):
            for path in control_sockets([f"{folder}/{name}" for name in os.listdir(folder)], _PROGRAM):
                with contextlib.suppress(OvnError), Connection(Endpoint("unix", path), NO_TLS, Deadline(self._seconds)):
                    return path
        return ""

    def _read(self) -> _Reading:
        self._socket, process = self._control_socket(), None
        with contextlib.suppress(OSError):
            state = os.stat(self._socket)
            process = (state.st_ino, state.st_mtime_ns)
        lookups = parse_lookups(self._ask("dpctl/show"))
        return _Reading(time.monotonic(), process, lookups)

    def _ask(self, command: str, *arguments: str) -> str:
        """Return what the daemon prints, nothing if it does not answer."""
        if self._socket:
            with contextlib.suppress(OvnError, OSError):
                return appctl(self._socket, command, *arguments, deadline=Deadline(self._seconds))
        return ""


def _count_handlers() -> int | None:
    """Return how many threads of ovs-vswitchd handle packets without a flow, None if it cannot be read: another container does not see them."""
    count = None
    with contextlib.suppress(OvnError):
        for one in running_programs([_PROGRAM]):
            tasks = PROC / str(one.pid) / "task"
            with contextlib.suppress(OSError):
                for task in os.listdir(tasks):
                    name = (tasks / task / "comm").read_text(encoding="utf-8", errors="replace")
                    count = (count or 0) + name.startswith("handler")
    return count
