# SPDX-License-Identifier: GPL-3.0-or-later
"""What one asked place said about one Raft database, or why it said nothing. Answers are plain data, so that those of several hosts can
be brought together and assessed as one.
"""

from __future__ import annotations

import dataclasses
import functools
import typing as t

from .._base.errors import InvalidInput
from .._base.ip_addresses import canonical_host
from .cluster_witness import LogTerms, parse_log_terms
from .contents import Contents
from .parse import ClusterStatus, parse_cluster_status, parse_version


class ServerView(t.NamedTuple):
    """The `_Server` row of the database: the server's own view. `process` differs from one server process to the next."""

    model: str  # clustered | standalone | relay
    connected: bool
    leader: bool
    cluster_id: str | None = None
    server_id: str | None = None
    log_index: int | None = None  # None until it has joined
    process: str = ""


class Problem(t.NamedTuple):
    """Why a source gave no answer. Codes: unreachable, timeout, certificate, refused, no_database, bad_answer, error."""

    code: str
    message: str


@dataclasses.dataclass(frozen=True)
class Answer:
    """One member as asked through its control socket (`cluster_status`, `version`), a database socket or port (`server`), or both."""

    member: str  # inventory name, host of the endpoint or control socket
    database: str  # OVN_Northbound | OVN_Southbound
    cluster_status: str | None = None  # the text, so that answers of all versions are passed on as they are
    earlier_status: str | None = None  # the sample before it, where two were taken
    server: ServerView | None = None
    version: str | None = None  # what the command `version` printed
    certificate_days: float | None = None  # until the certificate that the port serves expires
    other_databases: dict[str, str | None] = dataclasses.field(default_factory=dict)  # name -> cluster id
    problems: tuple[Problem, ...] = ()
    contents: Contents | None = None  # what its tables hold, if they were read
    taken: float = 0.0  # seconds since 1970 on the machine that asked
    log_terms: str | None = None  # what the launcher of the member has published of its log, the text

    @functools.cached_property
    def status(self) -> ClusterStatus | None:
        return parse_cluster_status(self.cluster_status) if self.cluster_status is not None else None

    @functools.cached_property
    def terms(self) -> LogTerms:
        return parse_log_terms(self.log_terms or "")

    @property
    def is_responding(self) -> bool:
        """Return whether the member answered about the database itself."""
        return self.cluster_status is not None or self.server is not None

    @functools.cached_property
    def server_id(self) -> str | None:
        return (self.status.server_id if self.status else None) or (self.server.server_id if self.server else None)

    @functools.cached_property
    def cluster_id(self) -> str | None:
        return (self.status.cluster_id if self.status else None) or (self.server.cluster_id if self.server else None)

    @property
    def version_numbers(self) -> tuple[int, int, int] | None:
        return parse_version(self.version or "")

    def earlier(self) -> Answer:
        """Return the earlier sample, this one if there is none."""
        return (
            dataclasses.replace(self, cluster_status=self.earlier_status, earlier_status=None)
            if self.earlier_status
            else self
        )

    def as_dict(self) -> dict[str, t.Any]:
        data = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        server = self.server._asdict() if self.server else None
        contents = self.contents._asdict() if self.contents else None
        problems = [problem._asdict() for problem in self.problems]
        return {**data, "server": server, "problems": problems, "contents": contents}

    @classmethod
    def from_dict(cls, data: t.Any) -> Answer:
        """Return the answer from the result of `as_dict`, also through JSON; `InvalidInput` for anything else."""
        try:
            server, contents = data.get("server"), data.get("contents")
            answer = cls(
                **{
                    **data,
                    "server": ServerView(**server) if server else None,
                    "contents": Contents.from_dict(contents) if contents else None,
                    "problems": tuple(Problem(**problem) for problem in data.get("problems", ())),
                }
            )
            texts = (
                answer.member,
                answer.database,
                answer.cluster_status or "",
                answer.earlier_status or "",
                answer.version or "",
                answer.log_terms or "",
            )
            if not all(isinstance(text, str) for text in texts):
                raise TypeError("a text is expected")
        except (TypeError, AttributeError) as e:
            raise InvalidInput(f"{str(data)[:200]} is not an answer of ovn_raft_status: {e}.") from e
        return answer


def failed_answer(member: str, database: str, code: str, message: str) -> Answer:
    """Return the answer of an unresponsive member; codes as in `Problem`."""
    return Answer(member, database, problems=(Problem(code, message),))


def merge(answers: t.Iterable[Answer]) -> list[Answer]:
    """Return one answer for each member: those with the same server id, or of the same name or host where one of them is unresponsive.

    Two processes with the same server id are never merged: one is a copy of the other's file.
    """
    merged: list[Answer] = []
    # Those with an id first: unresponsive ones may belong to them by name.
    for answer in sorted(answers, key=lambda answer: answer.server_id is None):
        for position, other in enumerate(merged):
            if _same_member(other, answer):
                merged[position] = _merge_two(other, answer)
                break
        else:
            merged.append(answer)
    return merged


def _same_member(one: Answer, two: Answer) -> bool:
    if one.database != two.database:
        return False
    if one.server_id is None or two.server_id is None:
        return one.member == two.member or host_of(two.member) == _raft_host(one)
    if one.server_id != two.server_id:
        return False
    return not (one.server and two.server and one.server.process != two.server.process)


def host_of(place: str) -> str:
    """Return `192.0.2.11` of `ssl:192.0.2.11:6643`, an address in its one spelling; anything else as it is."""
    return canonical_host(place[4:].rpartition(":")[0]) if place.startswith(("ssl:", "tcp:")) else place


def _raft_host(answer: Answer) -> str | None:
    return host_of(answer.status.address) if answer.status is not None else None


def _merge_two(one: Answer, two: Answer) -> Answer:
    """Return `one` completed by `two`."""
    days = [days for days in (one.certificate_days, two.certificate_days) if days is not None]
    return dataclasses.replace(
        one,
        cluster_status=one.cluster_status if one.cluster_status is not None else two.cluster_status,
        earlier_status=one.earlier_status if one.earlier_status is not None else two.earlier_status,
        server=one.server or two.server,
        version=one.version or two.version,
        certificate_days=min(days) if days else None,
        other_databases={**two.other_databases, **one.other_databases},
        problems=tuple(dict.fromkeys((*one.problems, *two.problems))),
        contents=one.contents or two.contents,
        log_terms=one.log_terms if one.log_terms is not None else two.log_terms,
        taken=max(one.taken, two.taken),
    )
