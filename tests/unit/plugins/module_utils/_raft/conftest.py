"""A cluster on paper: the answers of its members, to be bent into every situation."""

from __future__ import annotations

import dataclasses
import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._raft.answer import Answer, ServerView, failed_answer

CID = "a0b739a1-2c38-479b-9e0d-605e9da30330"
OTHER_CID = "b1c739a1-2c38-479b-9e0d-605e9da30331"
DATABASE = "OVN_Southbound"
UNRESPONSIVE = failed_answer(
    "", DATABASE, "unreachable", "unix:/run/ovn/ovnsb_db.ctl is not reachable: Connection refused."
)


def sid(number: int) -> str:
    return f"{number:04x}40eb-d5d2-427b-9278-ccc262f4ce6c"


def address(number: int) -> str:
    return f"ssl:192.0.2.{number}:6644"


@dataclasses.dataclass
class Line:
    """One line of Servers:."""

    number: int
    last: int | None = 50
    match: int | None = 99
    phase: str = ""
    address: str | None = None


@dataclasses.dataclass
class Paper:
    """One member; `lines` is its list."""

    number: int
    role: str = "follower"
    status: str = "cluster member"
    leader: str = "unknown"
    term: int = 7
    timer: int = 1000
    extra: str = ""  # more lines before Role:
    won: int | None = None
    changing: str = ""
    log_next: int = 100
    not_committed: int = 0
    connections: str | None = None
    lines: list[Line] = dataclasses.field(default_factory=list)
    cid: str | None = CID
    connected: bool = True
    leads: bool | None = None
    index: int | None = 99
    model: str = "clustered"
    process: str = ""
    version: str = "3.5.4"
    days: float | None = None
    name: str = ""
    server_id: str = ""
    local: bool = True  # its control socket was asked
    remote: bool = True  # its _Server database was asked
    instead: Answer | None = None

    def text(self) -> str:
        own = self.server_id or sid(self.number)
        links = self.connections
        if links is None:
            links = " ".join(
                f"<-{line.number:04x} ->{line.number:04x}" for line in self.lines if line.number != self.number
            )
        lines = []
        for line in self.lines:
            words = f"    {line.number:04x} ({line.number:04x} at {line.address or address(line.number)})"
            words += " (self)" if line.number == self.number else ""
            words += f" ({line.phase})" if line.phase else ""
            if self.role == "leader":
                words += f" next_index=100 match_index={line.match}"
            if line.number != self.number and line.last is not None:
                words += f" last msg {line.last} ms ago"
            lines.append(words)
        won = f"Last Election won: {self.won} ms ago\n" if self.won is not None else ""
        cid = f"{self.cid[:4]} ({self.cid})" if self.cid else "not yet known"
        return (
            f"{own[:4]}\nName: {DATABASE}\nCluster ID: {cid}\nServer ID: {own[:4]} ({own})\nAddress: {address(self.number)}\n"
            f"Status: {self.status}\n{self.extra}Role: {self.role}\nTerm: {self.term}\nLeader: {self.leader}\nVote: unknown\n\n"
            f"{won}Election timer: {self.timer}{self.changing}\nLog: [2, {self.log_next}]\n"
            f"Entries not yet committed: {self.not_committed}\nEntries not yet applied: 0\nConnections: {links}\nDisconnections: 0\n"
            "Servers:\n" + "".join(f"{line}\n" for line in lines)
        )

    def answer(self) -> Answer:
        name = self.name or f"m{self.number}"
        if self.instead is not None:
            return dataclasses.replace(self.instead, member=name)
        row = ServerView(
            model=self.model,
            connected=self.connected,
            leader=self.role == "leader" if self.leads is None else self.leads,
            cluster_id=self.cid,
            server_id=self.server_id or sid(self.number),
            log_index=self.index,
            process=self.process or f"process-{self.number}",
        )
        return Answer(
            name,
            DATABASE,
            cluster_status=self.text() if self.local else None,
            server=row if self.remote else None,
            version=f"ovsdb-server (Open vSwitch) {self.version}\n" if self.local else None,
            certificate_days=self.days,
            taken=1000.0,
        )


class Raft:
    """`Raft(3)`: m1 leads, m2 and m3 follow, nothing is wrong. Each method changes something and returns the cluster."""

    def __init__(self, size: int = 3, cid: str = CID, first: int = 1, won: int | None = 60000) -> None:
        numbers = range(first, first + size)
        leader = f"{first:04x}"
        self.papers = {
            number: Paper(
                number,
                role="leader" if number == first else "follower",
                leader="self" if number == first else leader,
                won=won if number == first else None,
                cid=cid,
                lines=[Line(other, last=50 if number == first or other == first else 70000) for other in numbers],
            )
            for number in numbers
        }
        self.first = first

    def __getitem__(self, number: int) -> Paper:
        return self.papers[number]

    @property
    def leader(self) -> Paper:
        return self.papers[self.first]

    def line(self, number: int) -> Line:
        """The leader's line about a member."""
        return next(line for line in self.leader.lines if line.number == number)

    def set(self, number: int, **changes: t.Any) -> Raft:
        self.papers[number] = dataclasses.replace(self.papers[number], **changes)
        return self

    def all(self, **changes: t.Any) -> Raft:
        for number in self.papers:
            self.set(number, **changes)
        return self

    def heard(self, number: int, **changes: t.Any) -> Raft:
        for key, value in changes.items():
            setattr(self.line(number), key, value)
        return self

    def dead(self, *numbers: int, last: int | None = 20000) -> Raft:
        """Nobody answers there, and the leader has not heard it for a while."""
        for number in numbers:
            self.unresponsive(number)
            if number != self.first:
                self.heard(number, last=last, match=90)
        return self

    def followers_heard_it(self, last: int) -> Raft:
        """How long ago the followers heard the leader, milliseconds."""
        for paper in self.papers.values():
            for line in paper.lines:
                if line.number == self.first and paper.number != self.first:
                    line.last = last
        return self

    def unresponsive(self, number: int, code: str = "unreachable") -> Raft:
        problem = UNRESPONSIVE.problems[0]._replace(code=code)
        return self.set(number, instead=dataclasses.replace(UNRESPONSIVE, problems=(problem,)))

    def unasked(self, *numbers: int) -> Raft:
        for number in numbers:
            del self.papers[number]
        return self

    def add(self, paper: Paper) -> Raft:
        self.papers[paper.number] = paper
        return self

    def plus(self, other: Raft) -> Raft:
        self.papers |= other.papers
        return self

    def list_also(self, line: Line) -> Raft:
        self.leader.lines.append(line)
        return self

    def answers(self) -> list[Answer]:
        return [paper.answer() for paper in self.papers.values()]


class Tools(t.NamedTuple):
    """What the tables need: their functions get this, as test files cannot import from here."""

    Raft: type[Raft]
    Paper: type[Paper]
    Line: type[Line]
    sid: t.Callable[[int], str]
    address: t.Callable[[int], str]
    cid: str
    other_cid: str
    database: str


@pytest.fixture
def paper() -> Tools:
    return Tools(Raft, Paper, Line, sid, address, CID, OTHER_CID, DATABASE)
