# SPDX-License-Identifier: GPL-3.0-or-later
"""The answers of all members together: which cluster, which leader, which members are in the configuration, which the leader hears.
Verdict and gates read the same view, so that they never disagree about a fact.
"""

from __future__ import annotations

import collections
import dataclasses
import functools
import typing as t

from .._base.databases import OVSDB_ELECTION_TIMER
from .answer import Answer, merge
from .parse import ClusterStatus, ListedServer

# Members are asked one after the other, while the database moves on: an index that was read later is larger, which is no lag. Pure.

# Seconds that a member gets to apply what the leader has applied.
GRACE = 1.0


class Sample(t.NamedTuple):
    """A log index and when it was asked for, on the monotonic clock."""

    time: float
    log_index: int


def align_indexes(answers: t.Sequence[Answer], indexes: t.Mapping[str, t.Sequence[Sample]]) -> list[Answer]:
    """Return the answers with indexes that can be compared: a member is behind by what the leader had well before the member was asked.

    `indexes` has the samples of each member, the newest last.
    """
    leader = next((answer for answer in answers if answer.server is not None and answer.server.leader), None)
    if leader is None or leader.server is None or leader.server.log_index is None:
        return list(answers)
    head = leader.server.log_index
    compared = []
    for answer in answers:
        samples = indexes.get(answer.member, ())
        if answer is not leader and answer.server is not None and answer.server.log_index is not None and samples:
            newest = samples[-1]
            then = [s.log_index for s in indexes.get(leader.member, ()) if s.time <= newest.time - GRACE]
            lag = max(0, then[-1] - newest.log_index) if then else 0
            answer = dataclasses.replace(answer, server=answer.server._replace(log_index=head - lag))
        compared.append(answer)
    return compared


# Milliseconds. Heartbeats come every third of the election timer; the floor is for fast timers on slow machines.
MINIMUM_FRESHNESS = 3000
# Log entries that a member may be behind and still count as caught up.
MAXIMUM_LAG = 50


def clustered(answer: Answer) -> bool:
    return answer.cluster_status is not None or (answer.server is not None and answer.server.model == "clustered")


def joined(answer: Answer) -> bool:
    """Return whether the member has joined: a joiner has no log yet, and may print the id of a cluster that never takes it in."""
    if answer.status is not None:
        return not answer.status.joining
    return answer.server is not None and answer.server.log_index is not None


def connected(answer: Answer) -> bool:
    """Return whether the member regards itself as connected. `_Server` is more exact: after a restart cluster/status says `cluster member` at once."""
    if answer.server is not None:
        return answer.server.connected
    status = answer.status
    return status is not None and status.status == "cluster member" and status.leader_sid is not None


def leads(answer: Answer) -> bool:
    """Return whether the member claims to lead."""
    if answer.status is not None:
        return answer.status.role == "leader"
    return answer.server is not None and answer.server.leader


class View:
    """All properties are about the cluster `cluster_id`; answers of other clusters are in `foreign`."""

    def __init__(self, answers: t.Sequence[Answer], expected_cluster_id: str | None) -> None:
        self.answers = answers  # merged: one for each member
        self.expected_cluster_id = expected_cluster_id

    @functools.cached_property
    def responding(self) -> list[Answer]:
        """Return the members of any Raft cluster that answered."""
        return [answer for answer in self.answers if answer.is_responding and clustered(answer)]

    @functools.cached_property
    def unresponsive(self) -> list[Answer]:
        """Return the places that did not answer, or are no Raft server of this database."""
        return [answer for answer in self.answers if not (answer.is_responding and clustered(answer))]

    @functools.cached_property
    def joining(self) -> list[Answer]:
        return [answer for answer in self.responding if not joined(answer)]

    @functools.cached_property
    def cluster_ids(self) -> dict[str, list[Answer]]:
        """Return the answers by cluster id, the largest cluster first; joiners do not count."""
        found: dict[str, list[Answer]] = {}
        for answer in self.responding:
            if joined(answer) and answer.cluster_id:
                found.setdefault(answer.cluster_id, []).append(answer)
        if len(found) < 2:
            return found  # nearly always, and every gate reads it
        return dict(
            sorted(found.items(), key=lambda item: (-sum(connected(a) for a in item[1]), -len(item[1]), item[0]))
        )

    @functools.cached_property
    def cluster_id(self) -> str | None:
        """Return the expected cluster if it answers, else the one with most members."""
        if self.expected_cluster_id in self.cluster_ids:
            return self.expected_cluster_id
        return next(iter(self.cluster_ids), None)

    @functools.cached_property
    def members(self) -> list[Answer]:
        """Return the joined members of the cluster that answer."""
        return self.cluster_ids.get(self.cluster_id or "", [])

    @functools.cached_property
    def foreign(self) -> dict[str, list[Answer]]:
        return {cid: answers for cid, answers in self.cluster_ids.items() if cid != self.cluster_id}

    @functools.cached_property
    def claims(self) -> list[Answer]:
        """Return the members that claim to lead, the most credible first: the highest term, then the one that hears most; else in a stable order."""

        def credibility(answer: Answer) -> tuple[int, int, str]:
            status = answer.status
            return (*((-status.term, -fresh_count(status)) if status else (0, 0)), answer.server_id or "")

        found = [answer for answer in self.members if leads(answer)]
        return sorted(found, key=credibility) if len(found) > 1 else found

    @functools.cached_property
    def leader(self) -> Answer | None:
        return self.claims[0] if self.claims else None

    @functools.cached_property
    def configuration(self) -> ClusterStatus | None:
        """Return the status whose list of servers counts: the leader's; without one the latest of any member."""
        if self.leader is not None:
            return self.leader.status
        known = [answer.status for answer in self.members if answer.status is not None]
        return max(known, key=lambda status: (status.log_next - status.not_committed, status.term)) if known else None

    @property
    def listed(self) -> tuple[ListedServer, ...]:
        return self.configuration.servers if self.configuration else ()

    @property
    def election_timer(self) -> int | None:
        return self.configuration.election_timer if self.configuration else None

    @property
    def freshness(self) -> int:
        """Return the maximum age in milliseconds of a last message that shows that a member is alive."""
        return freshness(self.election_timer)

    def find_answer(self, server: ListedServer) -> Answer | None:
        """Return the answer of a listed server; a list holds four digits, so the address has to fit as well where it is known."""
        for answer in self.responding:
            if (
                answer.server_id
                and answer.server_id[:4] == server.sid
                and (answer.status is None or answer.status.address == server.address)
            ):
                return answer
        return None

    def entry(self, answer: Answer) -> ListedServer | None:
        """Return the line of the list for this member, None without one."""
        return next((server for server in self.listed if self.find_answer(server) is answer), None)

    def lag(self, server: ListedServer) -> int | None:
        """Return the number of log entries that the leader has and the member lacks, None if unknown."""
        if self.leader is None or self.leader.status is None:
            return None
        if server.is_self:
            return 0
        return None if server.match_index is None else max(0, self.leader.status.log_next - 1 - server.match_index)

    def is_heard(self, server: ListedServer) -> bool:
        """Return whether the leader hears this member (or is it)."""
        return server.is_self or (server.last_message is not None and server.last_message < self.freshness)

    def is_participating(self, server: ListedServer) -> bool:
        """Return whether the leader hears the server, and the server itself is connected to this cluster."""
        answer = self.find_answer(server)
        return (
            self.leader is not None
            and self.is_heard(server)
            and answer is not None
            and answer.server is not None
            and answer.server.connected
            and answer.cluster_id == self.cluster_id
        )

    @functools.cached_property
    def participating_servers(self) -> list[ListedServer]:
        return [server for server in self.listed if self.is_participating(server)]

    def name(self, server: ListedServer) -> str:
        answer = self.find_answer(server)
        return answer.member if answer else server.address


def freshness(election_timer: int | None) -> int:
    return max(2 * (election_timer or OVSDB_ELECTION_TIMER), MINIMUM_FRESHNESS)


def fresh_count(status: ClusterStatus) -> int:
    """Return how many servers of its list this member hears, itself included."""
    limit = freshness(status.election_timer)
    return sum(1 for s in status.servers if s.is_self or (s.last_message is not None and s.last_message < limit))


def majority(members: int) -> int:
    return members // 2 + 1


def duplicates(values: t.Iterable[str]) -> set[str]:
    return {value for value, count in collections.Counter(values).items() if count > 1}


def build_view(answers: t.Iterable[Answer], expected_cluster_id: str | None = None) -> View:
    """Return the view of one sample."""
    return View(merge(answers), expected_cluster_id)
