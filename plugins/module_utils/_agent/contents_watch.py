# SPDX-License-Identifier: GPL-3.0-or-later
"""Compares periodically whether all members of a database hold the same at one log index (R25), which no status of OVSDB reports."""

from __future__ import annotations

import contextlib
import dataclasses
import typing as t

from .._base.databases import DATABASE_NAMES
from .._base.deadline import Deadline
from .._base.errors import OvnError
from .._chassis.addresses import CLAIMS, conflicting_claims
from .._ovsdb.endpoint import Endpoint
from .._ovsdb.rows import decode
from .._ovsdb.select import TableReader
from .._ovsdb.tls_files import TlsFiles
from .._raft.answer import Answer
from .._raft.contents import Contents, compare, read_all
from .member_watch import MemberWatch
from .process import StoppableThread, as_ovn_error

# Looks for what chassis claim in the Southbound database although it is another one's, which the role ovn-controller does not prevent. Every few minutes,
# because Port_Binding is large: it is read row by row. What is just moving is gone in the second look.

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


# A server answers no other client while it prints a table.
MOST_ROWS = 20_000
_SECONDS = 60.0  # for one database


class ContentsWatch(StoppableThread):
    """Compares each database every `period` seconds. `add_contents` returns what was read last."""

    def __init__(
        self,
        members: t.Mapping[str, t.Sequence[MemberWatch]],
        tls: TlsFiles,
        period: float,
        changed: t.Callable[[], None],
        report_error: t.Callable[[str, OvnError | None], None],
    ) -> None:
        super().__init__("watch of the contents")
        self._members, self._tls, self._period = members, tls, period
        self._changed, self._report_error = changed, report_error
        self._read: dict[str, dict[str, Contents]] = {}  # by database and server id; replaced as a whole

    def run(self) -> None:
        # Not immediately: a server that has just started is busy enough.
        while not self._stopped.wait(self._period):
            for name in self._members:
                try:
                    self._compare(name)
                    self._report_error(f"contents of {name}", None)
                except Exception as e:  # also for a bug: the thread must go on
                    self._report_error(f"contents of {name}", as_ovn_error(e))

    def _compare(self, name: str) -> None:
        sids = {m.member: m.answer.server_id for m in self._members[name] if m.answer and takes_part(m.answer)}
        places = {m.member: m.endpoint for m in self._members[name] if m.member in sids}
        if len(places) < 2:
            return
        if any(endpoint.scheme == "ssl" for endpoint in places.values()):
            from .._ovsdb.tls import client_context

            client_context.cache_clear()  # certificates are renewed under a running process
        found = read_all(places, DATABASE_NAMES[name], self._tls, _SECONDS, MOST_ROWS)
        read = {sid: found[member] for member, sid in sids.items() if sid and member in found}
        if is_newer_finding(self._read.get(name, {}), read):
            self._read[name] = read
            self._changed()

    def add_contents(self, name: str, answers: t.Sequence[Answer]) -> list[Answer]:
        """Return the answers with the contents of their servers. A member that was replaced since is another server."""
        read = self._read.get(name, {})
        return [dataclasses.replace(a, contents=read.get(a.server_id or "")) for a in answers]


def is_newer_finding(before: t.Mapping[str, Contents], now: t.Mapping[str, Contents]) -> bool:
    """Return whether `now` replaces `before`. A difference stays reported if the busy database could not be compared this time."""
    found = compare(now)
    return bool(found.differences or not (found.unread or found.apart) or not compare(before).differences)


def takes_part(answer: Answer | None) -> bool:
    return answer is not None and answer.server is not None and answer.server.connected
