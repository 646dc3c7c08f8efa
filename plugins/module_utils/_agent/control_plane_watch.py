# SPDX-License-Identifier: GPL-3.0-or-later
"""Watches a control plane from outside, on its ports for clients: the members of both databases, their contents, the chassis, their claims and the
certificates, each with a thread of its own. The observers of Kubernetes and of machines assess and write what is found here.
"""

from __future__ import annotations

import functools
import threading
import time
import typing as t

from .._api.certificate_status import ObservedCertificates
from .._api.observer_settings import CertificateFiles, Intervals
from .._api.status_conditions import ChassisCount
from .._base.databases import DATABASE_NAMES, DATABASES, Database
from .._base.deadline import Deadline
from .._base.errors import OvnError
from .._daemons.schema_update import Schemas, image_schema_version
from .._ovsdb.endpoint import Endpoint
from .._ovsdb.server import ServerRow, query_server
from .._ovsdb.tls_files import TlsFiles
from .._ovsdb.wire import ask_all
from .._raft.answer import Answer, failed_answer
from .._raft.verdict import Verdict
from .certificate_watch import CertificateWatch
from .chassis_count import ChassisCounter, ChassisWatch, last_answers
from .contents_watch import ClaimsWatch, ContentsWatch, takes_part
from .heartbeat_sender import HeartbeatSender, grace
from .member_watch import MemberWatch, VerdictDebouncer
from .metrics import metrics
from .process import StoppableThread

# Whether the relays serve the Southbound database to chassis. Members do not depend on them, so nothing else shows it.

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


_START = 5.0  # until every member has had the time to answer once


def known_schemas(members: t.Iterable[MemberWatch], image: str | None) -> Schemas:
    """Return the schema of a database, by the first member that takes part and tells it, beside `image`, that of the packages."""
    return Schemas(next((m.schema for m in members if m.schema and takes_part(m.answer)), None), image)


class ControlPlaneWatch:
    """`changed` is called when something differs, from any thread, and `report_error` with what cannot be observed."""

    def __init__(
        self,
        endpoints: t.Mapping[str, t.Sequence[Endpoint]],
        tls: TlsFiles,
        certificate_files: CertificateFiles,
        intervals: Intervals,
        schemas: str,
        changed: t.Callable[[], None],
        report_error: t.Callable[[str, OvnError | None], None],
        relays: t.Sequence[Endpoint] = (),
    ) -> None:
        self.members: dict[str, list[MemberWatch]] = {
            name: [MemberWatch(endpoint, DATABASE_NAMES[name], tls, changed) for endpoint in endpoints[name]]
            for name in DATABASES
        }
        southbound = functools.partial(self._member_of, "southbound")
        self._chassis = ChassisWatch(southbound, tls, changed, report_error)
        self._claims = ClaimsWatch(southbound, tls, intervals.claims, changed, report_error)
        self._contents = ContentsWatch(self.members, tls, intervals.comparisons, changed, report_error)
        self._heartbeats = HeartbeatSender(
            functools.partial(self._member_of, "northbound"), tls, intervals.heartbeats, report_error
        )
        self._certificates = CertificateWatch(
            [*(one for name in DATABASES for one in endpoints[name]), *relays],
            tls,
            certificate_files,
            intervals.certificates,
            changed,
        )
        self._relays = RelayWatch(relays, tls, intervals.relays, changed)
        self._counter = ChassisCounter(grace(intervals.heartbeats))
        self._counted: ChassisCount | None = None
        self._debouncers: dict[str, VerdictDebouncer] = {
            name: VerdictDebouncer(len(endpoints[name])) for name in DATABASES
        }
        # As long as this process lives
        self._image_schemas = {name: image_schema_version(name, schemas) for name in DATABASES}

    @property
    def _threads(self) -> list[StoppableThread]:
        members = [member for members in self.members.values() for member in members]
        others = [self._chassis, self._contents, self._heartbeats, self._certificates, self._claims, self._relays]
        return [*others, *members]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        for thread in self._threads:
            thread.stop()

    def wait_for_first_answers(self, wake: threading.Event, stop: threading.Event) -> None:
        """Wait until every member has answered or failed once, at most 5 s."""
        end = time.monotonic() + _START
        while time.monotonic() < end and not stop.is_set():
            if all(member.answer is not None for members in self.members.values() for member in members):
                return
            wake.wait(0.2)
            wake.clear()

    def assess(self, name: str, cluster_id: str | None, election_timer: int) -> tuple[Verdict, bool]:
        """Return the verdict to publish, and whether it is the current one; `election_timer` in milliseconds."""
        return self._debouncers[name].debounce(
            self._contents.add_contents(name, self._answers(name)),
            {member.member: member.indexes for member in self.members[name]},
            cluster_id,
            election_timer,
            time.monotonic(),
        )

    def is_unsettled(self, name: str) -> bool:
        """Return whether another look at the database is needed soon, even without an event."""
        return self._debouncers[name].unsettled

    @property
    def schemas(self) -> dict[str, Schemas]:
        """The schema of each database, by any member that takes part, and that of the packages of this process."""
        return {name: known_schemas(self.members[name], self._image_schemas[name]) for name in DATABASES}

    def count_chassis(self) -> ChassisCount | None:
        """Return how many chassis are registered, and which are late; None while that is not known. Once a round: metrics show the same."""
        rows = self._chassis.rows
        if rows is None:
            counted = None
        else:
            counted = self._counter.count(rows, time.monotonic())
            counted = counted if self._heartbeats.answers else counted._replace(late=None)
        self._counted = counted
        return counted

    @property
    def heartbeats(self) -> dict[str, float]:
        """When each chassis answered a heartbeat last, in seconds since 1970."""
        return last_answers(self._chassis.rows or {})

    @property
    def certificates(self) -> ObservedCertificates | None:
        """When certificates and CAs end; None while no endpoint has answered, and without TLS."""
        found = self._certificates.found
        return found if found.ends else None

    @property
    def conflicts(self) -> list[str] | None:
        """What chassis claim although it is another one's; None before two looks."""
        return self._claims.conflicts

    @property
    def relays(self) -> dict[str, str] | None:
        """Why each endpoint of chassis does not serve, empty if it does; None before two looks."""
        return self._relays.problems

    def metrics(self, status: t.Mapping[str, t.Any]) -> str:
        """Return the status, and what was found beside it, as metrics."""
        counted = self._counted
        return metrics(
            status,
            certificates=self._certificates.found,
            conflicts=self.conflicts,
            relays=self.relays,
            heartbeats=self.heartbeats,
            late=counted.late if counted else None,
            now=time.time(),
        )

    def _member_of(self, database: Database) -> Endpoint | None:
        """Return the member to ask: the first that takes part, so that it stays the same one."""
        for member in self.members[database]:
            if takes_part(member.answer):
                return member.endpoint
        return None

    def _answers(self, name: str) -> list[Answer]:
        message = f"no answer within {_START:g} s"
        return [
            member.answer
            or failed_answer(member.member, DATABASE_NAMES[name], "timeout", f"{member.endpoint}: {message}.")
            for member in self.members[name]
        ]
