# SPDX-License-Identifier: GPL-3.0-or-later
"""The facts of the datapath of this host, from ovs-vswitchd, its database and /proc. Read only; what they mean is decided in `datapath.py`."""

from __future__ import annotations

import contextlib
import os
import time
import typing as t

from .._base.deadline import Deadline
from .._base.errors import OvnError
from .._machine.proc import PROC, running_programs
from .._machine.unix_sockets import control_sockets
from .._ovsdb.endpoint import Endpoint, parse_endpoint
from .._ovsdb.tls_files import NO_TLS
from .._ovsdb.unixctl import appctl
from .._ovsdb.wire import Connection
from .database import DATABASE
from .datapath import Lookups, parse_conntrack_zones, parse_lookups, uplinks_down
from .external_ids import integration_bridge, settings_in_use
from .local_rows import read_tables
from .provider_networks import INTERFACE_COLUMNS, PORT_COLUMNS

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
