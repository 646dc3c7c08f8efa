# SPDX-License-Identifier: GPL-3.0-or-later
"""How many chassis there are and how many of them answer, from one member of the Southbound database.

Rows of dead chassis stay. A chassis is alive if it has repeated the last heartbeat number (NB_Global.nb_cfg, which Neutron, ovn_sync and others
increment, and heartbeat_sender.py if nobody else does), or if that number is younger than the grace period.
"""

from __future__ import annotations

import contextlib
import typing as t

from .._api.status_conditions import ChassisCount
from .._base.databases import DATABASE_NAMES
from .._base.errors import BadAnswer, OvnError
from .._chassis.heartbeats import describe_chassis, late_names
from .._chassis.southbound_rows import chassis_rows, last_heartbeat, private_rows
from .._ovsdb.endpoint import Endpoint
from .._ovsdb.tls_files import TlsFiles
from .member_watch import open_monitor
from .process import StoppableThread, as_ovn_error

_EVERY = 10.0
_COLUMNS: dict[str, t.Any] = {
    # Those of another availability zone (OVN interconnection) are not counted.
    "Chassis": [{"columns": ["name"], "where": [["other_config", "excludes", ["map", [["is-remote", "true"]]]]]}],
    "Chassis_Private": [{"columns": ["name", "nb_cfg", "nb_cfg_timestamp"]}],
    "SB_Global": [{"columns": ["nb_cfg"]}],
}

Rows = dict[str, dict[str, dict[str, t.Any]]]


def apply_updates(rows: Rows, updates: t.Any) -> None:
    """Apply a notification `update2` (ovsdb-server(7)) to `rows` (table, UUID, column), for columns that hold one value each; `BadAnswer` if it is none."""
    try:
        for table, changes in updates.items():
            known = rows.setdefault(table, {})
            for uuid, change in changes.items():
                if "delete" in change:
                    known.pop(uuid, None)
                else:
                    kind = next(kind for kind in ("initial", "insert", "modify") if kind in change)
                    known[uuid] = {**(known.get(uuid, {}) if kind == "modify" else {}), **change[kind]}
    except (AttributeError, TypeError, StopIteration) as e:
        raise BadAnswer(f"An update makes no sense: {str(updates)[:200]}.") from e


def last_answers(rows: Rows) -> dict[str, float]:
    """Return when each chassis answered a heartbeat last, by its own clock, in seconds since 1970."""
    answers = private_rows(lambda table: rows.get(table, {}).values())
    return {name: row.timestamp / 1000 for name, row in answers.items() if row.timestamp}


class ChassisCounter:
    """Counts registered and active chassis over time: after a new heartbeat all chassis have a grace period to answer it."""

    def __init__(self, grace: float) -> None:
        self._grace = grace  # seconds after a heartbeat within which an answer is not late
        self._heartbeats: dict[int, float] = {}  # heartbeat number: when it was seen first

    def count(self, rows: Rows, now: float) -> ChassisCount:
        """Return how many chassis are registered and which of them are late; `now` in seconds of a monotonic clock."""

        def tables(table: str) -> t.Iterable[dict[str, t.Any]]:
            return rows.get(table, {}).values()

        latest = last_heartbeat(tables)
        # The first number that is seen here may be old, and so may be those that have not answered it.
        self._heartbeats.setdefault(latest, now if self._heartbeats else now - self._grace)
        # A database that was created again counts from zero, and until the first heartbeat nobody is late.
        self._heartbeats = {number: since for number, since in self._heartbeats.items() if number <= latest}
        past_grace = [number for number, since in self._heartbeats.items() if now - since >= self._grace]
        expected = max(past_grace, default=0) or None
        self._heartbeats = {number: since for number, since in self._heartbeats.items() if number >= (expected or 0)}
        entries = describe_chassis(chassis_rows(tables).values(), private_rows(tables).values(), expected, latest)
        registered = [entry for entry in entries if entry["registered"]]
        return ChassisCount(len(registered), tuple(late_names(registered)))


class ChassisWatch(StoppableThread):
    """Keeps `rows` up to date while any member takes part in the cluster; None while no member does."""

    def __init__(
        self,
        choose: t.Callable[[], Endpoint | None],
        tls: TlsFiles,
        changed: t.Callable[[], None],
        report_error: t.Callable[[str, OvnError | None], None],
    ) -> None:
        super().__init__("watch of the chassis")
        self.rows: Rows | None = None
        self._choose, self._tls, self._changed, self._report_error = choose, tls, changed, report_error

    def run(self) -> None:
        pause = 0.5
        while not self._stopped.is_set():
            endpoint = self._choose()
            if endpoint is not None:
                try:
                    self._follow(endpoint)
                    self._report_error("chassis", None)
                    pause = 0.1
                except Exception as e:  # also for a bug: the thread must go on
                    self._report_error("chassis", as_ovn_error(e))
                    pause = min(pause * 2, 10)
            self.rows = None
            self._stopped.wait(pause if endpoint is not None else 0.5)

    def _follow(self, endpoint: Endpoint) -> None:
        """Follow the updates of this member until another one is chosen."""
        with contextlib.closing(open_monitor(endpoint, self._tls)) as connection:
            rows: Rows = {}
            apply_updates(rows, connection.ask("monitor_cond", [DATABASE_NAMES["southbound"], "chassis", _COLUMNS], 10))
            self._publish(rows)
            self._report_error("chassis", None)
            while not self._stopped.is_set():
                if connection.wait(_EVERY):
                    for update in connection.updates:
                        apply_updates(rows, update[1] if len(update) > 1 else None)
                    connection.updates.clear()
                    self._publish(rows)
                else:
                    connection.ask("echo", [])
                if self._choose() != endpoint:
                    return

    def _publish(self, rows: Rows) -> None:
        self.rows = {table: dict(content) for table, content in rows.items()}
        self._changed()
