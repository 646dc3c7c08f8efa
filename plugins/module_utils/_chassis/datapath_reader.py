# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

The facts of the datapath of this host, from ovs-vswitchd, its database and /proc. Read only; what they mean is decided in `datapath.py`.
"""

from __future__ import annotations

import contextlib
import os
import time
import typing as t

from .._deadline import Deadline
from .._errors import OvnError
from .._ovsdb.endpoint import parse_endpoint
from .._ovsdb.unixctl import appctl
from .._processes.proc import PROC, running_programs
from .._processes.unix_sockets import control_sockets, read_listening
from .database import DATABASE
from .datapath import Lookups, parse_conntrack_zones, parse_lookups, uplinks_down
from .external_ids import settings_in_use
from .local_rows import read_tables
from .provider_networks import INTERFACE_COLUMNS, PORT_COLUMNS

_PROGRAM = "ovs-vswitchd"
_APART = 1.0  # seconds between the two readings of the counters
_TABLES = {
    "Open_vSwitch": ["external_ids", "other_config"],
    "Bridge": ["name", "ports", "datapath_type"],
    "Port": PORT_COLUMNS,
    "Interface": INTERFACE_COLUMNS,
}


class _Reading(t.NamedTuple):
    at: float
    pids: list[int]
    lookups: dict[str, Lookups]


class DatapathWatch:
    """Reads the counters when it is made and when it ends, with time for other work in between."""

    def __init__(self, database: str, seconds: float) -> None:
        """`database` is that of Open vSwitch; each answer may take `seconds`."""
        self._database, self._seconds = database, seconds
        self._socket = self._control_socket()
        self._first = self._read()

    def end(self) -> dict[str, t.Any] | None:
        """Return the facts, as `ovn_host_info` documents them; None if no Open vSwitch with a bridge answers."""
        tables = read_tables(self._database, DATABASE, _TABLES, self._seconds) if self._socket else {}
        if not tables or not tables["Open_vSwitch"] or not tables["Bridge"]:
            return None
        settings = settings_in_use(tables["Open_vSwitch"][0]["external_ids"])
        bridges = {row["name"]: row["datapath_type"] or "system" for row in tables["Bridge"]}
        bridge = settings.get("ovn-bridge") or "br-int"
        bridge = bridge if bridge in bridges else min(bridges)
        kind = bridges[bridge]
        if kind in self._first.lookups:
            time.sleep(max(0.0, self._first.at + _APART - time.monotonic()))
        last = self._read()
        now, before = last.lookups.get(kind), self._first.lookups.get(kind)
        # What is lost while ovs-vswitchd restarts is no fault, and a datapath that was created again counts from zero.
        same = now and before and last.pids == self._first.pids and now.lost >= before.lost
        # A daemon that leaves the flows of the kernel alone has no handlers yet.
        waits = tables["Open_vSwitch"][0]["other_config"].get("flow-restore-wait") == "true"
        return {
            "type": kind,
            "conntrack_zones": parse_conntrack_zones(self._ask("dpif/show-dp-features", bridge)),
            "handlers": None if waits else _count_handlers(last.pids),
            "lookups": now._asdict() if now else None,
            "lost": now.lost - before.lost if now and before and same else None,
            "missed": now.missed - before.missed if now and before and same else None,
            "seconds": round(last.at - self._first.at, 1),
            "uplinks_down": uplinks_down(settings.get("ovn-bridge-mappings", ""), tables),
        }

    def _control_socket(self) -> str:
        """Return the control socket beside that of the database, empty if no ovs-vswitchd listens there."""
        endpoint = parse_endpoint(self._database)
        folder = os.path.dirname(endpoint.host) if endpoint.scheme == "unix" else ""
        with contextlib.suppress(OvnError):
            sockets = control_sockets(read_listening(), _PROGRAM)
            beside = (path for path in sockets if os.path.realpath(os.path.dirname(path)) == os.path.realpath(folder))
            return next((path for path in beside if os.path.exists(path)), "")
        return ""

    def _read(self) -> _Reading:
        lookups = parse_lookups(self._ask("dpctl/show"))
        with contextlib.suppress(OvnError):
            return _Reading(time.monotonic(), [one.pid for one in running_programs([_PROGRAM])], lookups)
        return _Reading(time.monotonic(), [], lookups)

    def _ask(self, command: str, *arguments: str) -> str:
        """Return what the daemon prints, nothing if it does not answer."""
        if self._socket:
            with contextlib.suppress(OvnError, OSError):
                return appctl(self._socket, command, *arguments, deadline=Deadline(self._seconds))
        return ""


def _count_handlers(pids: t.Iterable[int]) -> int | None:
    """Return how many threads of these processes handle packets without a flow, None if none of them can be read."""
    count = None
    for pid in pids:
        with contextlib.suppress(OSError):
            for task in os.listdir(PROC / str(pid) / "task"):
                name = (PROC / str(pid) / "task" / task / "comm").read_text(encoding="utf-8", errors="replace")
                count = (count or 0) + name.startswith("handler")
    return count
