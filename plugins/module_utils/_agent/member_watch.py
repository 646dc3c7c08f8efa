# SPDX-License-Identifier: GPL-3.0-or-later
"""Watches one database member over the network: a connection that stays open, events of its `_Server` row, and a request every few seconds, because
a server that hangs sends no event. Each member has its own thread, so a dead one does not delay the others.
"""

from __future__ import annotations

import contextlib
import json
import time
import typing as t

from .._api.names import leader_of
from .._api.status import pod_of
from .._base.deadline import Deadline
from .._base.errors import OvnError, TimedOut
from .._daemons.schema_update import parse_schema_version
from .._ovsdb.endpoint import Endpoint
from .._ovsdb.server import read_databases
from .._ovsdb.tls_files import TlsFiles
from .._ovsdb.wire import Connection
from .._raft.answer import Answer
from .._raft.ask import answer_of_server, problem_of
from .._raft.verdict import Verdict, assess
from .._raft.view import Sample, align_indexes
from .process import StoppableThread, as_ovn_error

# Debounces what the observer publishes: a state that may be transient, such as an election, is published only when it lasts. Pure.

# Seconds: the floor for fast election timers on slow machines.
_WAITING_SECONDS = 3.0
_NORTHD_PATIENCE = 5.0


class VerdictDebouncer:
    """Debounces the verdicts of one database with `members` members."""

    def __init__(self, members: int) -> None:
        self._members = members
        self._published: Verdict | None = None
        self._doubt_since: float | None = None

    def debounce(
        self,
        answers: t.Sequence[Answer],
        indexes: t.Mapping[str, t.Sequence[Sample]],
        cluster_id: str | None,
        election_timer: int,
        now: float,
    ) -> tuple[Verdict, bool]:
        """Return the verdict to publish, and whether it is the current one. A transient state counts after three election timers, at least 3 s.

        `election_timer` in milliseconds, `now` in seconds of a monotonic clock.
        """
        verdict = assess(align_indexes(answers, indexes), self._members, cluster_id)
        if not verdict.transient or (self._published is not None and not self._published.writable):
            self._published, self._doubt_since = verdict, None
            return verdict, not verdict.transient
        if self._doubt_since is None:
            self._doubt_since = now
        if now - self._doubt_since > max(_WAITING_SECONDS, 3 * election_timer / 1000):
            self._published = verdict
            return verdict, True
        return self._published or verdict, False

    @property
    def unsettled(self) -> bool:
        """Return whether another round is needed soon, even without an event."""
        return self._doubt_since is not None


class ActiveNorthd:
    """Debounces which northd is active. The next one takes over within milliseconds, its label follows a little later."""

    def __init__(self) -> None:
        self._last: t.Sequence[str] = ()
        self._gone_since: float | None = None

    def debounce(self, active: t.Sequence[str] | None, now: float) -> tuple[t.Sequence[str] | None, bool]:
        """Return the active pods to publish (None: not known), and whether they are the current ones. `now` in seconds of a monotonic clock."""
        if active is None or active:
            self._last, self._gone_since = active or (), None
            return active, True
        if self._gone_since is None:
            self._gone_since = now
        if self._last and now - self._gone_since <= _NORTHD_PATIENCE:
            return self._last, False
        self._last = ()
        return active, True


def leading_pod(verdict: Verdict) -> str | None:
    """Return the pod that gets the leader label, None if no member leads."""
    leader = leader_of(verdict)
    return pod_of(leader) if leader else None


# Seconds. A member that hangs is noticed after the sum of the first two.
_EVERY = 5.0
_ANSWER = 3.0
_LONGEST_PAUSE = 4.0
_SCHEMA_EVERY = 60.0  # it is long, and changes once in years

# Columns whose change is an event. The index changes with each transaction, so it is polled.
_WATCHED = ["name", "model", "connected", "leader", "cid", "sid"]


# Samples of the index: enough that one is a polling period older than the newest, however many events there were.
_SAMPLES = 8


class MonitorConnection(Connection):
    """A connection that also receives the notifications of a monitor (RFC 7047 section 4.1.6)."""

    def __init__(self, endpoint: Endpoint, tls: TlsFiles, deadline: Deadline) -> None:
        self.updates: list[list[t.Any]] = []  # parameters of notifications that were not processed yet
        super().__init__(endpoint, tls, deadline)

    def _receive(self) -> dict[str, t.Any]:
        message = super()._receive()
        if str(message.get("method", "")).startswith("update"):
            self.updates.append(message.get("params") or [])
        return message

    def restart_deadline(self, seconds: float) -> None:
        self.deadline = Deadline(seconds)

    def ask(self, method: str, params: list[t.Any], seconds: float = _ANSWER) -> t.Any:
        self.restart_deadline(seconds)
        return self.call(method, params)

    def wait(self, seconds: float) -> bool:
        """Wait for a notification, at most `seconds`, and return whether one came."""
        self.deadline = Deadline(seconds)
        try:
            while not self.updates:
                message = self._receive()
                if message.get("method") == "echo":
                    self._send({"id": message.get("id"), "result": message.get("params"), "error": None})
        except TimedOut:
            return False
        return True


def open_monitor(endpoint: Endpoint, tls: TlsFiles) -> MonitorConnection:
    """Return a connection that uses the present certificate files: they are renewed while this process runs."""
    if endpoint.scheme == "ssl":
        from .._ovsdb.tls import client_context

        client_context.cache_clear()
    return MonitorConnection(endpoint, tls, Deadline(_ANSWER))


class MemberWatch(StoppableThread):
    """Keeps `answer` up to date and calls `changed` when more than its index has changed."""

    def __init__(
        self,
        endpoint: Endpoint,
        database: str,
        tls: TlsFiles,
        changed: t.Callable[[], None],
        *,
        longest_pause: float = _LONGEST_PAUSE,
    ) -> None:
        super().__init__(f"watch of {endpoint}")
        self._longest_pause = longest_pause
        self.endpoint = endpoint
        self.member = pod_of(str(endpoint))
        self.answer: Answer | None = None  # None until it answered or failed for the first time
        self.indexes: tuple[Sample, ...] = ()  # of the last requests, the newest at the end
        self._database, self._tls, self._changed = database, tls, changed
        self.schema: str | None = None  # its version, None while it is not known
        self._schema_asked = -_SCHEMA_EVERY

    def run(self) -> None:
        pause = 0.25
        while not self._stopped.is_set():
            try:
                with contextlib.closing(open_monitor(self.endpoint, self._tls)) as connection:
                    # Else the server hangs up with each change of a role or a schema.
                    connection.ask("set_db_change_aware", [True])
                    connection.ask("monitor", ["_Server", "database", {"Database": [{"columns": _WATCHED}]}])
                    self._query(connection)
                    pause = 0.25
                    self._follow(connection)
            except Exception as e:  # also for a bug: the thread must go on
                self.indexes, self.schema, self._schema_asked = (), None, -_SCHEMA_EVERY
                problem = problem_of(as_ovn_error(e))
                self._publish(Answer(self.member, self._database, problems=(problem,), taken=time.time()))
            self._stopped.wait(pause)
            pause = min(pause * 2, self._longest_pause)

    def _follow(self, connection: MonitorConnection) -> None:
        while not self._stopped.is_set():
            # All threads poll at the same times, so that their indexes can be compared.
            connection.wait(_EVERY - time.monotonic() % _EVERY + 0.01)
            self._query(connection)

    def _query(self, connection: MonitorConnection) -> None:
        connection.updates.clear()
        connection.deadline = Deadline(_ANSWER)
        found = answer_of_server(self.endpoint, self._database, read_databases(connection))
        answer = Answer(self.member, self._database, **found, taken=time.time())
        if answer.server is not None and answer.server.log_index is not None:
            self.indexes = (*self.indexes[1 - _SAMPLES :], Sample(time.monotonic(), answer.server.log_index))
        self._publish(answer)
        if answer.server is not None and answer.server.connected:
            self._query_schema(connection)

    def _query_schema(self, connection: MonitorConnection) -> None:
        if time.monotonic() - self._schema_asked < _SCHEMA_EVERY:
            return
        self._schema_asked = time.monotonic()
        try:
            found = parse_schema_version(json.dumps(connection.ask("get_schema", [self._database])))
        except OvnError:
            return  # a busy server takes long for this; the next request shows whether it responds
        before, self.schema = self.schema, found
        if found != before:
            self._changed()

    def _publish(self, answer: Answer) -> None:
        before, self.answer = self.answer, answer
        if before is None or _without_index(before) != _without_index(answer):
            self._changed()


def _without_index(answer: Answer) -> t.Any:
    server = answer.server._replace(log_index=None) if answer.server else None
    joined = answer.server is not None and answer.server.log_index is not None
    return server, joined, answer.problems
