# SPDX-License-Identifier: GPL-3.0-or-later
"""The edge of the Raft view: asks control sockets and OVSDB endpoints, all at once, and writes down what each said or why it did not."""

from __future__ import annotations

import dataclasses
import os
import pathlib
import time
import typing as t

from .._base.deadline import Deadline
from .._base.errors import BadAnswer, CertificateProblem, InvalidInput, OvnError, Refused, TimedOut, Unreachable
from .._ovsdb.endpoint import Endpoint
from .._ovsdb.server import ServerRow, query_databases
from .._ovsdb.tls_files import TlsFiles
from .._ovsdb.wire import Connection, ask_all
from .answer import Answer, Problem, ServerView, merge
from .contents import read_all
from .parse import parse_cluster_status

_CODES: tuple[tuple[type[OvnError], str], ...] = (
    (TimedOut, "timeout"),
    (CertificateProblem, "certificate"),
    (Unreachable, "unreachable"),
    (BadAnswer, "bad_answer"),
    (Refused, "refused"),
)

# Seconds between the two samples of a leader: long enough for heartbeats of a fast timer.
_SAMPLE_PAUSE = 0.1


class AskResult(t.NamedTuple):
    """One round of answers. `members` (their number) and `cluster_id` are from the state record; None where none was read."""

    answers: list[Answer]
    members: int | None = None
    cluster_id: str | None = None


def problem_of(error: OvnError) -> Problem:
    """Return the problem of a source that failed with `error`."""
    return Problem(next((code for kind, code in _CODES if isinstance(error, kind)), "error"), str(error))


def database_socket(control_socket: str) -> Endpoint | None:
    """Return the database socket beside a control socket, in the layout of the distributions and of this collection; None if there is none."""
    path = os.path.splitext(control_socket)[0] + ".sock"
    return Endpoint("unix", path) if os.path.exists(path) else None


def _read_log_terms(control_socket: str) -> str | None:
    """Return what the launcher publishes beside the control socket; None if another program started the server."""
    try:
        return pathlib.Path(control_socket).with_suffix(".terms").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None


def _ask_control(control_socket: str, database: str, deadline: Deadline, twice: bool) -> dict[str, t.Any]:
    with Connection(Endpoint("unix", control_socket), TlsFiles(), deadline) as connection:
        try:
            text = str(connection.call("cluster/status", [database]))
        except Refused as e:
            # A server that never had a clustered database does not even know the command.
            if "unknown cluster" in str(e) or "not a valid command" in str(e):
                message = (
                    f"{control_socket} knows no cluster {database}: the server left it, or it serves another database."
                )
                return {"problems": (Problem("no_database", message),), "version": str(connection.call("version", []))}
            raise
        status = parse_cluster_status(text)
        found: dict[str, t.Any] = {"cluster_status": text, "version": str(connection.call("version", []))}
        if twice and status.role == "leader" and deadline.left() > 2 * _SAMPLE_PAUSE:
            time.sleep(_SAMPLE_PAUSE)
            found["earlier_status"] = text
            found["cluster_status"] = str(connection.call("cluster/status", [database]))
            parse_cluster_status(found["cluster_status"])
        return found


def _days_left(certificate: dict[str, t.Any] | None) -> float | None:
    if not certificate or "notAfter" not in certificate:
        return None
    import ssl

    return round((ssl.cert_time_to_seconds(certificate["notAfter"]) - time.time()) / 86400, 1)


def _ask_server(endpoint: Endpoint, database: str, tls: TlsFiles, deadline: Deadline) -> dict[str, t.Any]:
    return answer_of_server(endpoint, database, query_databases(endpoint, tls, deadline))


def answer_of_server(endpoint: Endpoint | str, database: str, rows: t.Mapping[str, ServerRow]) -> dict[str, t.Any]:
    """Return the fields of an `Answer` that the rows of `_Server` (by database) give."""
    found: dict[str, t.Any] = {
        "certificate_days": next((_days_left(row.certificate) for row in rows.values()), None),
        "other_databases": {name: row.cluster_id for name, row in rows.items() if name != database},
    }
    row: ServerRow | None = rows.get(database)
    if row is None:
        hosted = ", ".join(sorted(rows)) or "no database"
        message = f"{endpoint} serves {hosted}, not {database}. Is it the right port, and does the server still belong to its cluster?"
        return {**found, "problems": (Problem("no_database", message),)}
    found["server"] = ServerView(
        model=row.model,
        connected=row.connected,
        leader=row.leader,
        cluster_id=row.cluster_id,
        server_id=row.server_id,
        log_index=row.index,
        process=row.process,
    )
    return found


def ask_member(
    member: str,
    database: str,
    *,
    control_socket: str | None = None,
    endpoint: Endpoint | None = None,
    tls: TlsFiles | None = None,
    deadline: Deadline,
    twice: bool = False,
) -> Answer:
    """Return the answer of one member through its control socket, its endpoint, or both; `twice` takes a second sample from a leader.

    Every failure is a problem in the answer; only options that can never work raise `InvalidInput`.
    """
    questions: list[t.Callable[[], dict[str, t.Any]]] = []
    if control_socket is not None:
        path = control_socket
        questions.append(lambda: _ask_control(path, database, deadline, twice))
    if endpoint is not None:
        place = endpoint
        questions.append(lambda: _ask_server(place, database, tls or TlsFiles(), deadline))
    # Of a member that is down, too: what it remembers may contradict the others.
    found: dict[str, t.Any] = {"log_terms": _read_log_terms(control_socket) if control_socket is not None else None}
    problems: list[Problem] = []
    for question in questions:
        try:
            part = question()
        except InvalidInput:
            raise
        except OvnError as e:
            part = {"problems": (problem_of(e),)}
        # A dead or frozen process is reported once, not for each of its sockets.
        problems.extend(p for p in part.pop("problems", ()) if p.code not in {known.code for known in problems})
        found.update(part)
    return Answer(member, database, **found, problems=tuple(problems), taken=time.time())


def add_contents(
    answers: t.Sequence[Answer],
    database: str,
    *,
    control_sockets: t.Mapping[str, str],
    endpoints: t.Sequence[Endpoint] = (),
    tls: TlsFiles,
    seconds: float,
) -> list[Answer]:
    """Return the same answers, those of connected members with their contents. The places are those that `ask` was given; `seconds` limits all of it."""
    places = dict(zip(_names_of(endpoints), endpoints))
    for member, path in control_sockets.items():
        beside = database_socket(path)
        if beside is not None:
            places[member] = beside
    # A server without Raft is alone: there is nothing to compare it with.
    connected = {
        a.member: places[a.member]
        for a in answers
        if a.server and a.server.connected and a.server.model == "clustered" and a.member in places
    }
    found = read_all(connected, database, tls, seconds)
    return [dataclasses.replace(answer, contents=found.get(answer.member)) for answer in answers]


def _names_of(endpoints: t.Sequence[Endpoint]) -> list[str]:
    hosts = [endpoint.host for endpoint in endpoints]
    return [host if hosts.count(host) == 1 else str(endpoint) for host, endpoint in zip(hosts, endpoints)]


class _Question(t.NamedTuple):
    member: str
    control_socket: str | None
    endpoint: Endpoint | None

    def __str__(self) -> str:
        return str(self.control_socket or self.endpoint)


def ask(
    database: str,
    *,
    control_sockets: t.Mapping[str, str],
    endpoints: t.Sequence[Endpoint] = (),
    tls: TlsFiles,
    timeout: float,
    twice: bool = False,
) -> list[Answer]:
    """Return the answers of all members, asked at once: `control_sockets` maps a member's name to the path, endpoints are named by their host.

    It takes at most `timeout` seconds, however many of them hang. Answers of the same member through several places are merged.
    """
    deadline = Deadline(timeout)
    questions = [_Question(member, path, database_socket(path)) for member, path in control_sockets.items()]
    questions += [_Question(name, None, endpoint) for name, endpoint in zip(_names_of(endpoints), endpoints)]
    if any(endpoint.scheme == "ssl" for endpoint in endpoints):
        _prepare(tls)

    def one(question: _Question) -> Answer:
        return ask_member(
            question.member,
            database,
            control_socket=question.control_socket,
            endpoint=question.endpoint,
            tls=tls,
            deadline=deadline,
            twice=twice,
        )

    if len(questions) == 1 and not endpoints:
        return [one(questions[0])]  # a unix socket: no name to look up, so no thread is needed to stay in time
    answers: list[Answer] = []
    for question, outcome in zip(questions, ask_all(questions, one, deadline)):
        if isinstance(outcome, InvalidInput):
            raise outcome
        if isinstance(outcome, OvnError):
            outcome = Answer(question.member, database, problems=(problem_of(outcome),), taken=time.time())
        answers.append(outcome)
    return merge(answers)


def _prepare(tls: TlsFiles) -> object:
    """Build the TLS context once, before threads need it. Missing options are `InvalidInput`; a bad file is a problem in each answer."""
    try:
        from .._ovsdb.tls import client_context

        return client_context(tls)
    except InvalidInput:
        raise
    except OvnError:
        return None
