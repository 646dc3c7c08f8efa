# SPDX-License-Identifier: GPL-3.0-or-later
"""The gates that a change of a Raft cluster has to pass. Evaluate them right before each single step, from fresh answers of all members.
A gate that cannot be evaluated is closed.

Live means here: the leader hears the member, and the member itself says (`_Server`) that it takes part in this cluster.
"""

from __future__ import annotations

import typing as t

from .._ovsdb.endpoint import one_spelling
from .answer import Answer
from .parse import ClusterStatus, ListedServer
from .view import MAXIMUM_LAG, View, build_view, majority

Name = t.Literal["one_leader", "quiet", "caught_up", "may_stop", "may_remove", "may_add"]
# With one of these, `step_gates.py` leaves the server out when it counts the disks that have room.
OF_STOPS: frozenset[Name] = frozenset({"may_stop"})

# Number of the last samples that are checked for uncommitted entries.
_COMMIT_SAMPLES = 3


class GateResult(t.NamedTuple):
    """`reason` says why a gate is closed; it is empty when `ok`."""

    ok: bool
    reason: str = ""

    def __bool__(self) -> bool:
        return self.ok


class _Closed(Exception):
    """Carries the reason."""


class _Observed(t.Protocol):
    """What a backend observed of one member: its answer, and its copy of the state record."""

    @property
    def reported_answer(self) -> Answer | None: ...

    @property
    def record(self) -> dict[str, t.Any] | None: ...


def gate(
    name: Name,
    samples: t.Sequence[t.Sequence[Answer]],
    member: str | None = None,
    cluster_id: str | None = None,
) -> GateResult:
    """Return whether the gate is open in the last of `samples`.

    A sample holds the answers of all members. An answer that carries an earlier status counts as two samples.
    `member` is a name as in the answers, a Raft address or a server id (full, or its first four digits).
    `cluster_id` is the recorded one. `may_remove` without a member asks for one that is not live anyway, such as a ghost.
    """
    spread: list[list[Answer]] = []
    for sample in samples:
        if any(answer.earlier_status for answer in sample):
            spread.append([answer.earlier() for answer in sample])
        spread.append(list(sample))
    try:
        _Gates([build_view(sample, cluster_id) for sample in spread], cluster_id).check(name, member)
    except _Closed as e:
        return GateResult(False, str(e))
    return GateResult(True)


def gate_reason(name: Name, observations: t.Sequence[_Observed], member: str | None) -> str:
    """Return why the gate is closed by the observations of one round, empty if it is open."""
    recorded = {o.record["cid"] for o in observations if o.record and o.record.get("cid")}
    if len(recorded) > 1:
        return f"the copies of the state record name different clusters: {', '.join(sorted(recorded))}"
    answers = [o.reported_answer for o in observations if o.reported_answer is not None]
    return gate(name, [answers], member, next(iter(recorded), None)).reason


class _Gates:
    def __init__(self, views: list[View], cluster_id: str | None) -> None:
        if not views:
            raise _Closed("no member was asked")
        self.views = views
        self.now = views[-1]
        if cluster_id is not None and self.now.cluster_id != cluster_id:
            raise _Closed(f"no member answers for the recorded cluster {cluster_id}")

    def check(self, name: Name, member: str | None) -> None:
        checks: dict[Name, t.Callable[[], None]] = {
            "one_leader": self.one_leader,
            "quiet": self.quiet,
            "caught_up": lambda: self.caught_up(self._listed(member)),
            "may_stop": lambda: self.may_stop(self._listed(member)),
            "may_remove": lambda: self.may_remove(self._find(member)),
            "may_add": self.may_add,
        }
        if name not in checks:
            raise ValueError(f"no gate is called {name}")
        checks[name]()

    # --- the gates ----------------------------------------------------------------------------------------------------

    def one_leader(self) -> None:
        status = self._leader_status()
        if self.now.foreign:
            raise _Closed(f"another cluster answers, too: {', '.join(self.now.foreign)}")
        if len(self.now.claims) != 1:
            raise _Closed(f"{len(self.now.claims)} members call themselves leader")
        row = self.now.claims[0].server
        if row is None or not row.leader:
            raise _Closed(f"{self.now.claims[0].member} is not leader in its _Server database")
        for server in self.now.participating_servers:
            answer = self.now.find_answer(server)
            leader_sid = answer.status.leader_sid if answer and answer.status else None
            if leader_sid != status.sid:
                raise _Closed(f"{self.now.name(server)} does not follow {self.now.claims[0].member}")
        recent = [view.leader.status for view in self.views[-_COMMIT_SAMPLES:] if view.leader and view.leader.status]
        # Under writes there always are some: then the commit index has to advance.
        committed = [sample.log_next - sample.not_committed for sample in recent]
        if all(sample.not_committed for sample in recent) and committed[-1] <= committed[0]:
            raise _Closed(f"{status.not_committed} log entries are not committed")

    def quiet(self) -> None:
        status = self._leader_status()
        if status.changes or any(server.phase for server in status.servers):
            raise _Closed("members are being added or removed")
        if status.election_timer_target is not None:
            raise _Closed(f"the election timer is changing to {status.election_timer_target} ms")
        if len(status.servers) == 1:
            return  # no other member could be elected
        needed = 2 * status.election_timer
        if status.election_won is not None and status.election_won > needed:
            return
        leader = self.now.leader
        if leader is None:
            raise AssertionError("a view that passed has a leader")
        for view in self.views[:-1]:
            before = view.leader
            same = before is not None and before.status is not None and before.status.term == status.term
            if same and before is not None and (leader.taken - before.taken) * 1000 >= needed:
                return
        raise _Closed(f"the last election is not {needed / 1000:g} s old yet")

    def caught_up(self, server: ListedServer) -> None:
        if server.is_self:
            return
        if len(self.views) < 2:
            raise _Closed("two samples are needed to know whether a member is caught up")
        for view in self.views[-2:]:
            known = next((s for s in view.listed if (s.sid, s.address) == (server.sid, server.address)), None)
            lag = view.lag(known) if known is not None else None
            if lag is None:
                raise _Closed(f"it is unknown how far {self.now.name(server)} is behind")
            if lag > MAXIMUM_LAG:
                raise _Closed(f"{self.now.name(server)} is {lag} log entries behind")

    def may_stop(self, server: ListedServer) -> None:
        self.one_leader()
        self.quiet()
        size = len(self.now.listed)
        others = [other for other in self.now.participating_servers if other is not server]
        if len(others) < majority(size):
            raise _Closed(
                f"without {self.now.name(server)} only {len(others)} of {size} members are left, {majority(size)} are needed"
            )
        for other in others:
            self.caught_up(other)
        if server.is_self:
            self._can_elect(server, others, size)

    def _can_elect(self, leader: ListedServer, others: list[ListedServer], size: int) -> None:
        """Raise `_Closed` if no follower could win an election: the leader hears all of them, but its successor needs connections of its own."""
        for candidate in others:
            reached = [other for other in others if other is candidate or self._linked(candidate, other)]
            if len(reached) >= majority(size):
                return
        names = ", ".join(self.now.name(other) for other in others)
        raise _Closed(
            f"without {self.now.name(leader)} no member could be elected, because {names} do not reach each other"
        )

    def _linked(self, one: ListedServer, two: ListedServer) -> bool:
        """Return whether both ends say that they are connected, no matter which opened the connection; `0000` is a peer that has not sent its id."""
        for source, target in ((one, two), (two, one)):
            answer = self.now.find_answer(source)
            links = answer.status.links if answer and answer.status else ()
            if not any(link.connected and link.sid in (target.sid, "0000") for link in links):
                return False
        return True

    def may_remove(self, server: ListedServer | None) -> None:
        self.one_leader()
        self.quiet()
        size = len(self.now.listed) - 1
        others = [other for other in self.now.participating_servers if other is not server]
        if len(others) < majority(size):
            raise _Closed(
                f"after the removal {len(others)} of {size} members would be live, {majority(size)} are needed"
            )

    def may_add(self) -> None:
        self.one_leader()
        self.quiet()
        live = self.now.participating_servers
        absent = [self.now.name(server) for server in self.now.listed if server not in live]
        if absent:
            raise _Closed(f"not live: {', '.join(absent)}")

    # --- facts --------------------------------------------------------------------------------------------------------

    def _leader_status(self) -> ClusterStatus:
        if self.now.leader is None:
            raise _Closed("no member leads")
        if self.now.leader.status is None:
            raise _Closed(f"the control socket of the leader {self.now.leader.member} was not asked")
        return self.now.leader.status

    def _find(self, member: str | None) -> ListedServer | None:
        """Return the listed server of that name, address or id; None if it is not listed, or its id is unknown."""
        if member is None:
            return None
        self._leader_status()
        place = one_spelling(member)
        found = [s for s in self.now.listed if member in (self.now.name(s), s.sid) or place == one_spelling(s.address)]
        if not found and len(member) == 36:
            found = [server for server in self.now.listed if server.sid == member[:4]]
        if len(found) > 1:
            raise _Closed(f"{member} is listed {len(found)} times")
        return found[0] if found else None

    def _listed(self, member: str | None) -> ListedServer:
        server = self._find(member)
        if server is None:
            raise _Closed(f"{member} is not in the leader's list, or does not answer")
        return server
