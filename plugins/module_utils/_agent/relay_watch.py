# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the relays serve the Southbound database to chassis. Members do not depend on them, so nothing else shows it."""

from __future__ import annotations

import functools
import typing as t

from .._base.databases import DATABASE_NAMES
from .._base.deadline import Deadline
from .._base.errors import OvnError
from .._ovsdb.endpoint import Endpoint
from .._ovsdb.server import ServerRow, query_server
from .._ovsdb.tls_files import TlsFiles
from .._ovsdb.wire import ask_all
from .process import StoppableThread

_ANSWER = 5.0
_DATABASE = DATABASE_NAMES["southbound"]


def relay_problem(answer: ServerRow | OvnError | None) -> str:
    """Return why chassis are not served at an endpoint by a relay that has its source; empty if they are."""
    if isinstance(answer, OvnError):
        return str(answer).rstrip(".")
    if answer is None:
        return "it does not have the Southbound database"
    if answer.model != "relay":
        return "a member of before the relays serves it"
    return "" if answer.connected else "its relay has no connection to a member"


def lasting_problems(before: t.Mapping[str, str], found: t.Mapping[str, str]) -> dict[str, str] | None:
    """Return the problems that were there `before`, too: a relay that is restarted is away for seconds. None if a first look has found some."""
    if not before and any(found.values()):
        return None
    return {endpoint: why if before.get(endpoint) else "" for endpoint, why in found.items()}


class RelayWatch(StoppableThread):
    """Keeps `problems` up to date: what keeps the relay at each endpoint from serving chassis, as two looks in a row had it; None before two looks.

    It is empty without endpoints. `every` in seconds.
    """

    def __init__(
        self, endpoints: t.Sequence[Endpoint], tls: TlsFiles, every: float, changed: t.Callable[[], None]
    ) -> None:
        super().__init__("watch of the relays")
        self.problems: dict[str, str] | None = None if endpoints else {}
        self._endpoints, self._tls, self._every, self._changed = endpoints, tls, every, changed
        self._last: dict[str, str] = {}

    def run(self) -> None:
        while self._endpoints and not self._stopped.is_set():
            try:
                self._look()
            except Exception:  # our own files are broken: the watches of the members report that
                self._last = {}
            self._stopped.wait(self._every)

    def _look(self) -> None:
        deadline = Deadline(_ANSWER)
        ask = functools.partial(query_server, database=_DATABASE, tls=self._tls, deadline=deadline)
        answers = ask_all(self._endpoints, ask, deadline)
        found = {str(endpoint): relay_problem(answer) for endpoint, answer in zip(self._endpoints, answers)}
        lasting, self._last = lasting_problems(self._last, found), found
        if lasting is not None and lasting != self.problems:
            self.problems = lasting
            self._changed()
