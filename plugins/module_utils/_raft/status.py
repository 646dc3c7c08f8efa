# SPDX-License-Identifier: GPL-3.0-or-later
"""The status of one Raft cluster for ovn_raft_status: members are asked, several times where one sample may mislead, until the verdict is the awaited one."""

from __future__ import annotations

import time
import typing as t

from .._base.databases import DATABASE_NAMES, Database
from .._base.deadline import Deadline
from .._base.errors import InvalidInput, TimedOut
from .._ovsdb.endpoint import Endpoint
from .._ovsdb.tls_files import TlsFiles
from .answer import Answer
from .ask import AskResult, add_contents, ask
from .verdict import CERTIFICATE_DAYS, Verdict, assess

# What may pass by itself, such as two leaders of different terms: number of samples, and seconds between them.
_SAMPLES = 3
_SAMPLE_PAUSE = 0.3


class Source(t.NamedTuple):
    """How the members are asked: `ask(timeout, earlier)` asks each of them once, `read(answers, seconds)` adds their contents to their answers.

    `earlier` are the answers of the sample before, empty in the first one.
    """

    ask: t.Callable[[float, t.Sequence[Answer]], AskResult]
    read: t.Callable[[t.Sequence[Answer], float], list[Answer]]


class Expected(t.NamedTuple):
    """The expected cluster; None: as in the state record, if there is one. `certificate_days`: warn below this number."""

    members: int | None
    cluster_id: str | None = None
    certificate_days: float = CERTIFICATE_DAYS


class Status(t.NamedTuple):
    verdict: Verdict
    answers: list[Answer]

    def as_dict(self) -> dict[str, t.Any]:
        """Return the result of ovn_raft_status."""
        return {**self.verdict.as_dict(), "answers": [answer.as_dict() for answer in self.answers]}


def check_options(expected_members: int | None, **seconds: float) -> None:
    """Raise `InvalidInput` for what can never work; `seconds` are time limits by the names of their options."""
    for option, value in seconds.items():
        if value <= 0:
            raise InvalidInput(f"{option} is {value:g}: it must be more than 0 seconds.")
    if expected_members is not None and expected_members < 1:
        raise InvalidInput(f"expected_members is {expected_members}: a cluster has at least one.")


def source_of_places(
    database: Database, control_sockets: t.Mapping[str, str], endpoints: t.Sequence[Endpoint], tls: TlsFiles
) -> Source:
    """Return the source for members behind control sockets (name to path) and endpoints."""
    return source_of_schema(DATABASE_NAMES[database], control_sockets, endpoints, tls)


def source_of_schema(
    name: str, control_sockets: t.Mapping[str, str], endpoints: t.Sequence[Endpoint], tls: TlsFiles
) -> Source:
    """Return the same for a database that its schema names, also one of interconnection."""

    def ask_places(timeout: float, _earlier: t.Sequence[Answer]) -> AskResult:
        return AskResult(ask(name, control_sockets=control_sockets, endpoints=endpoints, tls=tls, timeout=timeout))

    def read_places(answers: t.Sequence[Answer], seconds: float) -> list[Answer]:
        return add_contents(
            answers, name, control_sockets=control_sockets, endpoints=endpoints, tls=tls, seconds=seconds
        )

    return Source(ask_places, read_places)


def examine(source: Source, expected: Expected, timeout: float, contents_seconds: float | None = None) -> Status:
    """Return one verdict, from several samples if the first one is transient. `timeout`: seconds for each answer.

    With `contents_seconds` the contents of the members are compared, too.
    """
    samples: list[list[Answer]] = []
    while True:
        asked = source.ask(timeout, samples[-1] if samples else ())
        samples.append(asked.answers)

        def judge(answers: t.Sequence[Answer], asked: AskResult = asked) -> Verdict:
            return assess(
                answers,
                expected.members or asked.members,
                expected.cluster_id or asked.cluster_id,
                earlier=samples[:-1],
                certificate_days=expected.certificate_days,
            )

        verdict = judge(samples[-1])
        if not verdict.transient or len(samples) == _SAMPLES:
            if contents_seconds is None:
                return Status(verdict, samples[-1])
            answers = source.read(samples[-1], contents_seconds)
            return Status(judge(answers), answers)
        time.sleep(_SAMPLE_PAUSE)


def await_verdict(
    source: Source,
    expected: Expected,
    timeout: float,
    *,
    database: Database,
    wait_for: t.Literal["quorum", "healthy"],
    seconds: float,
) -> Status:
    """Return the status once `wait_for` holds; `TimedOut` has the last one after `seconds`. Raft has no event to wait on, so this polls, ever less often."""
    deadline, pause = Deadline(seconds), 0.1
    while True:
        # The last one, too, has the time for an answer: it is what the error shows.
        status = examine(source, expected, min(timeout, max(1.0, deadline.left())))
        if status.verdict.healthy if wait_for == "healthy" else status.verdict.writable:
            return status
        if deadline.expired:
            awaited = "healthy" if wait_for == "healthy" else "writable"
            raise TimedOut(
                f"The {database} cluster was not {awaited} within {deadline.seconds:g} s. Last verdict {status.verdict.describe()}",
                **status.as_dict(),
            )
        time.sleep(min(pause, deadline.left()))
        pause = min(pause * 1.5, 1.0)
