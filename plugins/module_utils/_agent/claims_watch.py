# SPDX-License-Identifier: GPL-3.0-or-later
"""Looks for what chassis claim in the Southbound database although it is another one's, which the role ovn-controller does not prevent.

Every few minutes, because Port_Binding is large: it is read row by row. What is just moving is gone in the second look.
"""

from __future__ import annotations

import contextlib
import typing as t

from .._base.databases import DATABASE_NAMES
from .._base.deadline import Deadline
from .._base.errors import OvnError
from .._chassis.claims import CLAIMS, conflicting_claims
from .._ovsdb.endpoint import Endpoint
from .._ovsdb.rows import decode
from .._ovsdb.select import TableReader
from .._ovsdb.tls_files import TlsFiles
from .log import as_ovn_error
from .stoppable_thread import StoppableThread

_AGAIN = 10.0
_ANSWER = 60.0


def read_claims(endpoint: Endpoint, tls: TlsFiles) -> list[str]:
    """Return a message for each conflict that the database has now."""
    database = DATABASE_NAMES["southbound"]

    def rows(table: str) -> t.Iterator[t.Any]:
        with contextlib.closing(TableReader(endpoint, tls, Deadline(_ANSWER))) as reader:
            for row in reader.rows(database, table, ["_uuid", *CLAIMS[table]]):
                yield {column: decode(value) for column, value in row.items()}

    small = {table: list(rows(table)) for table in CLAIMS if table != "Port_Binding"}
    return conflicting_claims(lambda table: small[table] if table in small else rows(table))


class ClaimsWatch(StoppableThread):
    """Keeps `conflicts` up to date: messages that two looks in a row had; None before that."""

    def __init__(
        self,
        choose: t.Callable[[], Endpoint | None],
        tls: TlsFiles,
        interval: float,
        changed: t.Callable[[], None],
        report_error: t.Callable[[str, OvnError | None], None],
    ) -> None:
        super().__init__("watch of claims")
        self.conflicts: list[str] | None = None
        self._choose, self._tls, self._interval, self._changed = choose, tls, interval, changed
        self._report_error = report_error
        self._last: list[str] | None = None

    def run(self) -> None:
        while not self._stopped.is_set():
            pause = min(_AGAIN, self._interval)
            endpoint = self._choose()
            if endpoint is not None:
                try:
                    if self._look(endpoint):
                        pause = self._interval
                    self._report_error("claims of chassis", None)
                except Exception as e:  # also for a bug: the thread must go on
                    self._report_error("claims of chassis", as_ovn_error(e))
                    pause = self._interval
            self._stopped.wait(pause)

    def _look(self, endpoint: Endpoint) -> bool:
        """Return whether this look was the same as the one before."""
        found = read_claims(endpoint, self._tls)
        before = self._last
        if before is None and found:
            self._last = found
            return False  # whether they last is not known yet
        confirmed = [message for message in found if message in (before or ())]
        settled = confirmed == found
        self._last = found
        if confirmed != self.conflicts:
            self.conflicts = confirmed
            self._changed()
        return settled
