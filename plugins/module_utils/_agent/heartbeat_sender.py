# SPDX-License-Identifier: GPL-3.0-or-later
"""Heartbeats between runs: NB_Global.nb_cfg counts up, northd passes the number on, and every chassis repeats it. Who does not is no longer alive.

Neutron, ovn_sync and others send heartbeats, too. One within the interval is enough, since each costs a transaction for every chassis.
"""

from __future__ import annotations

import contextlib
import typing as t

from .._base.databases import DATABASE_NAMES
from .._base.errors import OvnError
from .._ovsdb.endpoint import Endpoint
from .._ovsdb.rows import select, write
from .._ovsdb.tls_files import TlsFiles
from .member_watch import open_monitor
from .process import StoppableThread, as_ovn_error

# Seconds after a heartbeat of others within which an answer is not late, if the observer sends none.
GRACE = 60.0

_ROUND = 10.0  # between two looks at the state, at most
_LOOK = 60.0  # between two looks at the options, if no heartbeat is sent
_ANSWER = 10.0
_OPTION = "enable_chassis_nb_cfg_update"


def grace(interval: float) -> float:
    """Return the seconds that a chassis has for its answer: a frozen one must be found within two intervals, and may freeze just after an answer."""
    return min(GRACE, interval / 2) if interval else GRACE


def round_pause(interval: float) -> float:
    """Return the seconds between two looks at who is late, for the same reason."""
    return min(_ROUND, interval / 4) if interval else _ROUND


def is_due(previous: int | None, number: int) -> bool:
    """Return whether nobody has sent a heartbeat since the last look, at which the number was `previous` (None: this is the first one).

    A lower number is not a heartbeat: the database was created again, and its chassis have nothing to answer yet.
    """
    return previous is None or number <= previous


def chassis_answer(options: t.Mapping[str, str]) -> bool:
    """Return whether chassis repeat heartbeats, by the options of NB_Global."""
    return str(options.get(_OPTION, "true")).lower() != "false"


class HeartbeatSender(StoppableThread):
    """Sends a heartbeat every `interval` seconds, none if that is 0. `answers` says whether chassis are configured to repeat them."""

    def __init__(
        self,
        choose: t.Callable[[], Endpoint | None],
        tls: TlsFiles,
        interval: float,
        report_error: t.Callable[[str, OvnError | None], None],
    ) -> None:
        super().__init__("heartbeats")
        self.answers = True
        self._choose, self._tls, self._interval, self._report_error = choose, tls, interval, report_error
        self._number: int | None = None

    def run(self) -> None:
        pause = self._interval or _LOOK
        while not self._stopped.is_set():
            endpoint = self._choose()
            if endpoint is not None:
                try:
                    self._send(endpoint)
                    self._report_error("heartbeat", None)
                except Exception as e:  # also for a bug: the thread must go on
                    self._report_error("heartbeat", as_ovn_error(e))
            self._stopped.wait(pause if endpoint is not None else min(pause, 1))

    def _send(self, endpoint: Endpoint) -> None:
        with contextlib.closing(open_monitor(endpoint, self._tls)) as connection:
            database = DATABASE_NAMES["northbound"]
            rows = select(connection, database, {"NB_Global": ["nb_cfg", "options"]})["NB_Global"]
            if not rows:
                return  # a fresh database, on which northd has never worked
            number = int(rows[0]["nb_cfg"])
            self.answers = chassis_answer(rows[0]["options"])
            if self._interval and self.answers and is_due(self._number, number):
                count_up = {"op": "mutate", "table": "NB_Global", "where": [], "mutations": [["nb_cfg", "+=", 1]]}
                connection.restart_deadline(_ANSWER)
                write(connection, database, [count_up], "c5c3.ovn observer")
                number += 1
            self._number = number
