# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

The verdict about one Raft database from the answers of all its members.

What counts as evidence, strongest first:

* The leader's own list with fresh messages of a majority: an isolated leader keeps calling itself leader, but its list grows old.
  A member that we asked in vain only counts as heard if the leader heard it within one election timer.
* `connected` of a majority of the members, where no list can be seen (`_Server` only).
* A follower that heard its leader within one election timer: a leader without a majority steps down, so that one has it. The verdict
  is `degraded` then, because nothing is known of the others.

A member's word about itself is never enough, and neither is a follower's list: it shows old values of the other followers.
A problem spoils `healthy`, a warning does not.
"""

from __future__ import annotations

import typing as t

from .answer import Answer, host_of
from .parse import ListedServer
from .version import faults
from .view import DEFAULT_TIMER, MAXIMUM_LAG, View, connected, duplicates, joined, look, majority

Word = t.Literal["healthy", "degraded", "no_quorum", "split", "forming", "unreachable"]

CERTIFICATE_DAYS = 14


class Reason(t.NamedTuple):
    code: str
    member: str | None
    message: str
    severity: str = "problem"  # problem | warning

    def as_dict(self) -> dict[str, t.Any]:
        return self._asdict()


class Verdict(t.NamedTuple):
    """`as_dict` has the names of the module's return values. `passing`: may look different a moment later, so ask again."""

    verdict: Word
    writable: bool
    reasons: tuple[Reason, ...]
    cluster_id: str | None = None
    leader: str | None = None
    term: int | None = None
    election_timer: int | None = None
    members: tuple[dict[str, t.Any], ...] = ()
    ghosts: tuple[dict[str, t.Any], ...] = ()
    raw_read_only: bool = False
    passing: bool = False

    @property
    def healthy(self) -> bool:
        return self.verdict == "healthy"

    def as_dict(self) -> dict[str, t.Any]:
        return {
            "verdict": self.verdict,
            "healthy": self.healthy,
            "writable": self.writable,
            "raw_read_only": self.raw_read_only,
            "reasons": [reason.as_dict() for reason in self.reasons],
            "cluster_id": self.cluster_id,
            "leader": self.leader,
            "term": self.term,
            "election_timer": self.election_timer,
            "members": list(self.members),
            "ghosts": list(self.ghosts),
        }

    def words(self) -> str:
        """The verdict in one line, problems first."""
        ordered = sorted(self.reasons, key=lambda reason: reason.severity == "warning")
        return f"{self.verdict}: {' '.join(reason.message for reason in ordered)}" if ordered else self.verdict


def assess(
    answers: t.Sequence[Answer],
    expected_members: int | None = None,
    expected_cluster_id: str | None = None,
    *,
    earlier: t.Sequence[t.Sequence[Answer]] = (),
    certificate_days: float = CERTIFICATE_DAYS,
) -> Verdict:
    """Judge one sample. `earlier` samples, a moment apart, tell a blocked write from a busy database."""
    view = look(answers, expected_cluster_id)
    return _Judge(
        view, expected_members, [look(sample, expected_cluster_id) for sample in earlier], certificate_days
    ).verdict()


class _Judge:
    def __init__(self, view: View, expected_members: int | None, earlier: list[View], certificate_days: float) -> None:
        self.view = view
        self.expected = expected_members
        self.earlier = earlier
        self.certificate_days = certificate_days
        self.reasons: list[Reason] = []
        self.passing = False

    def problem(self, code: str, member: str | None, message: str) -> None:
        self.reasons.append(Reason(code, member, message))

    def warning(self, code: str, member: str | None, message: str) -> None:
        self.reasons.append(Reason(code, member, message, "warning"))

    def verdict(self) -> Verdict:
        view = self.view
        word, writable = self._state()
        ghosts = self._ghosts()
        self._silence()
        self._each_member(ghosts)
        self._configuration(ghosts)
        self._surroundings()
        if word == "healthy":
            word = self._spoiled()
        leader = view.leader
        return Verdict(
            verdict=word,
            writable=writable,
            reasons=tuple(dict.fromkeys(self.reasons)),
            cluster_id=view.cluster_id,
            leader=leader.member if leader else self._leader_by_hearsay(),
            term=max((a.status.term for a in view.members if a.status), default=None),
            election_timer=view.election_timer,
            members=tuple(self._members(ghosts)),
            ghosts=tuple(self._ghost(server) for server in ghosts),
            raw_read_only=word == "no_quorum" and bool(view.members),
            passing=self.passing,
        )

    # --- the cluster as a whole ---------------------------------------------------------------------------------------

    def _state(self) -> tuple[Word, bool]:
        """`healthy` here means: nothing is wrong with leader and majority."""
        view = self.view
        if not view.voices:
            if not view.silent:
                self.problem("unreachable", None, "Nobody was asked.")
            return "unreachable", False
        if self._two_clusters() or self._two_leaders():
            return "split", False
        if not view.members:
            return "forming", False
        if len(view.claims) > 1:
            self._stale_leaders()
        if view.leader is not None:
            return self._led(view.leader)
        return self._leaderless()

    def _two_clusters(self) -> bool:
        view = self.view
        expected = view.expected_cluster_id
        if view.foreign:
            sides = "; ".join(f"{cid}: {_names(answers)}" for cid, answers in view.cluster_ids.items())
            self.problem(
                "two_clusters",
                None,
                f"Members answer for different clusters ({sides}). Change nothing, back up each side, decide which one stays.",
            )
            return True
        if expected and view.cluster_id and view.cluster_id != expected:
            self.problem(
                "foreign_cluster",
                None,
                f"{_names(view.members)} answer for cluster {view.cluster_id}, expected is {expected}. "
                "A second cluster was created, or the expected id is out of date.",
            )
            return True
        return False

    def _two_leaders(self) -> bool:
        by_term: dict[int, list[Answer]] = {}
        for answer in self.view.claims:
            if answer.status is not None:
                by_term.setdefault(answer.status.term, []).append(answer)
        for term, answers in by_term.items():
            if len({answer.server_id for answer in answers}) > 1:
                self.problem(
                    "two_leaders", None, f"{_names(answers)} all lead in term {term}: their member lists have diverged."
                )
                return True
        return False

    def _stale_leaders(self) -> None:
        """An old leader does not know yet that it was replaced; it steps down within two or three election timers."""
        self.passing = True
        leader, *others = self.view.claims
        for answer in others:
            if leader.status is not None and answer.status is not None:
                words = f"still calls itself leader of term {answer.status.term}; {leader.member} leads term {leader.status.term}"
            else:
                words = f"and {leader.member} both call themselves leader; without the terms nobody can tell which is the old one"
            self.problem("stale_leader", answer.member, f"{answer.member} {words}. Ask again in a moment.")

    def _led(self, leader: Answer) -> tuple[Word, bool]:
        if leader.status is None:
            return self._led_unseen(leader)
        listed = leader.status.servers
        needed = majority(len(listed))
        supporting = [server for server in listed if self._supports(server)]
        if len(supporting) < needed:
            missing = ", ".join(self.view.name(server) for server in listed if server not in supporting)
            self.problem(
                "no_quorum",
                leader.member,
                f"{leader.member} still calls itself leader, but hears {len(supporting)} of {len(listed)} members, {needed} are needed. "
                f"Missing: {missing}. Start them with their files; nothing can be written until then.",
            )
            return "no_quorum", False
        # Those we asked in vain are believed for one election timer only: look again if they are needed.
        self.passing |= sum(1 for server in supporting if self.view.voice(server)) < needed and bool(self.view.silent)
        if self._blocked():
            return "no_quorum", False
        return "healthy", True

    def _supports(self, server: ListedServer) -> bool:
        """Whether this member is behind the leader."""
        view = self.view
        if not view.heard(server):
            return False
        voice = view.voice(server)
        if voice is not None:
            return server.is_self or connected(voice)
        if self._asked_in_vain(server):
            return (server.last_message or 0) < (view.election_timer or DEFAULT_TIMER)
        return True

    def _asked_in_vain(self, server: ListedServer) -> bool:
        """A silent place of that address, or any silent place without an address that could be this member."""
        hosts = {host_of(entry.address) for entry in self.view.listed}
        return any(
            host_of(answer.member) == host_of(server.address) or host_of(answer.member) not in hosts
            for answer in self.view.silent
        )

    def _blocked(self) -> bool:
        """The same entries uncommitted in all samples: disks of a majority are full, or it hangs."""
        samples = [view.leader.status if view.leader else None for view in [*self.earlier, self.view]]
        known = [status for status in samples if status is not None]
        status = known[-1]
        if not status.not_committed:
            return False
        self.passing = True
        commits = {sample.log_next - sample.not_committed for sample in known}
        if len(known) >= 3 and len(commits) == 1 and all(sample.not_committed for sample in known):
            self.problem(
                "writes_blocked",
                None,
                f"{status.not_committed} log entries stay uncommitted although a majority is connected. "
                "Look for full disks on the members, and compact before any restart.",
            )
            return True
        self.warning("uncommitted", None, f"{status.not_committed} log entries are not committed yet.")
        return False

    def _led_unseen(self, leader: Answer) -> tuple[Word, bool]:
        """Only `_Server` of the leader: no list, so the members themselves have to be many enough."""
        view = self.view
        taking_part = [answer for answer in view.members if connected(answer)]
        total = self._size()
        if len(taking_part) < majority(total):
            self.problem(
                "no_quorum",
                None,
                f"{leader.member} calls itself leader, but only {len(taking_part)} of {total} members say that they take part. "
                "Its own word is no proof; ask the others, or its control socket.",
            )
            return "no_quorum", False
        self.warning(
            "partial_view",
            None,
            f"The member list of {leader.member} was not seen (only a control socket shows it): ghosts and one-way connections cannot be told.",
        )
        if self.expected is None:
            self.warning(
                "size_unknown", None, "How many members the cluster should have is not known: set expected_members."
            )
        return "healthy", True

    def _leaderless(self) -> tuple[Word, bool]:
        view = self.view
        taking_part = [answer for answer in view.members if connected(answer)]
        total = self._size()
        hearsay = self._leader_by_hearsay()
        if hearsay is not None:
            self.problem(
                "partial_view",
                None,
                f"{_names(taking_part)} just heard the leader {hearsay}, which itself was not heard here. Its list alone shows who is missing: ask it.",
            )
            return "degraded", True
        if len(taking_part) >= majority(total):
            if all(answer.status is None for answer in taking_part) and len(view.voices) < total:
                self.problem(
                    "partial_view",
                    None,
                    f"{_names(taking_part)} take part, but the leader is not among them: ask all members.",
                )
                return "degraded", True
            self.passing = True
            timer = view.election_timer or DEFAULT_TIMER
            self.problem(
                "no_leader",
                None,
                f"{len(taking_part)} of {total} members are there, but none leads. An election may be under way: ask again in {3 * timer / 1000:g} s.",
            )
            return "no_quorum", False
        self.passing = any(joined(answer) for answer in view.voices) and total == len(view.members)
        self.problem(
            "no_quorum",
            None,
            f"{len(taking_part)} of {total} members take part, {majority(total)} are needed. "
            "Start the missing ones with their files; nothing can be written until then.",
        )
        return "no_quorum", False

    def _leader_by_hearsay(self) -> str | None:
        """The address of a leader that was not heard here, but by a member within one election timer."""
        view = self.view
        if view.leader is not None:
            return None
        for answer in view.members:
            status = answer.status
            if status is None or status.leader_sid is None or not connected(answer):
                continue
            server = status.listed(status.leader_sid)
            if (
                server is not None
                and view.voice(server) is None
                and server.last_message is not None
                and server.last_message < status.election_timer
            ):
                return server.address
        return None

    def _size(self) -> int:
        """Members of the configuration as far as anybody knows it."""
        view = self.view
        if view.listed:
            return len(view.listed)
        return max(self.expected or 0, len(view.answers) if self.expected is None else len(view.members))

    def _spoiled(self) -> Word:
        """What is left of healthy. A cluster that only waits for joiners is forming."""
        codes = {reason.code for reason in self.reasons if reason.severity == "problem"}
        if not codes:
            return "healthy"
        if "joining" in codes and codes <= {"joining", "member_count"}:
            return "forming"
        return "degraded"

    # --- its members --------------------------------------------------------------------------------------------------

    def _ghosts(self) -> list[ListedServer]:
        """Listed, unheard, nobody's, and not merely down: its address belongs to another one, or everybody else is accounted for."""
        view = self.view
        if view.leader is None or view.leader.status is None:
            return []
        nobodys = [server for server in view.listed if view.voice(server) is None and not view.heard(server)]
        addresses = duplicates(server.address for server in view.listed)
        taken = {answer.status.address for answer in view.voices if answer.status is not None}
        complete = (
            self.expected is not None
            and not view.silent
            and len(view.listed) - len(nobodys) >= self.expected
            and all(view.voice(server) for server in view.listed if server not in nobodys)
        )
        return [server for server in nobodys if server.address in addresses or server.address in taken or complete]

    def _ghost(self, server: ListedServer) -> dict[str, t.Any]:
        return {
            "server_id": server.sid,
            "address": server.address,
            "match_index": server.match_index,
            "last_message": server.last_message,
        }

    def _silence(self) -> None:
        for answer in self.view.silent:
            renamed = [name for name, cid in answer.other_databases.items() if cid and cid == self.view.cluster_id]
            if renamed:
                self.problem(
                    "wrong_name",
                    answer.member,
                    f'{answer.member} joined this cluster under the database name "{renamed[0]}" instead of {answer.database}. '
                    "Remove it from the cluster and let it join again with the right name.",
                )
                continue
            if answer.spoke:
                model = answer.server.model if answer.server else "unknown"
                self.problem(
                    "not_clustered",
                    answer.member,
                    f"{answer.member} serves {answer.database} as {model}, not as a member of a cluster.",
                )
            for problem in answer.problems:
                self.problem(problem.code, answer.member, _with_name(answer.member, problem.message))
            if not answer.problems and not answer.spoke:
                self.problem("unreachable", answer.member, f"{answer.member} gave no answer.")
        for answer in self.view.voices:
            for problem in answer.problems:
                # It did answer elsewhere; what stays hidden is told, and a closed client port is a fault of its own.
                self.problem(problem.code, answer.member, _with_name(answer.member, problem.message))

    def _each_member(self, ghosts: list[ListedServer]) -> None:
        view = self.view
        for answer in view.joining:
            if view.cluster_id and answer.cluster_id and answer.cluster_id != view.cluster_id:
                self.problem(
                    "foreign_cluster",
                    answer.member,
                    f"{answer.member} tries to join cluster {answer.cluster_id}, this one is {view.cluster_id}. It will never succeed: "
                    "move its file aside and join again.",
                )
            else:
                remotes = (
                    f" through {', '.join(answer.status.remotes)}" if answer.status and answer.status.remotes else ""
                )
                self.problem("joining", answer.member, f"{answer.member} is joining the cluster{remotes}.")
        for answer in view.members:
            self._member(answer)
        for server in view.listed:
            if (
                view.leader is None
                or view.leader.status is None
                or server in ghosts
                or view.voice(server) is not None
                or view.heard(server)
            ):
                continue
            age = "never" if server.last_message is None else f"{server.last_message / 1000:g} s ago"
            self.problem(
                "member_missing",
                server.address,
                f"The leader heard {server.address} ({server.sid}) {age}. Start it, or replace it if its disk is lost.",
            )

    def _member(self, answer: Answer) -> None:
        view, status = self.view, answer.status
        entry = view.entry(answer)
        name = answer.member
        if status is not None and status.status == "leaving cluster":
            self.problem("leaving", name, f"{name} is leaving the cluster.")
        elif not connected(answer):
            words = status.status if status else "not connected"
            self.problem("disconnected", name, f"{name} does not take part in the cluster (status: {words}).")
        if view.leader is not None and view.leader.status is not None and entry is None:
            self.problem(
                "not_listed",
                name,
                f"{name} ({(answer.server_id or '')[:4]}) is not in the leader's list: it was removed while it was down. "
                "Move its file aside and let it join again.",
            )
        judged = entry is not None and view.leader is not None and view.leader.status is not None and connected(answer)
        if judged and entry is not None and not view.heard(entry):
            age = "never" if entry.last_message is None else f"{entry.last_message / 1000:g} s ago"
            self.problem("unheard", name, f"The leader heard {name} {age}.")
        self._lag(answer, entry)
        if status is not None and status.unknown_lines:
            self.warning(
                "unknown_status",
                name,
                f'{name} prints a status line that is not known here: "{status.unknown_lines[0][:100]}".',
            )

    def _lag(self, answer: Answer, entry: ListedServer | None) -> None:
        lag = self._lag_of(answer, entry)
        if lag is not None and lag > MAXIMUM_LAG:
            self.problem(
                "lagging",
                answer.member,
                f"{answer.member} is {lag} log entries behind the leader. Look for a full disk or a slow network before anything is restarted.",
            )

    def _lag_of(self, answer: Answer, entry: ListedServer | None) -> int | None:
        if entry is not None:
            known = self.view.lag(entry)
            if known is not None:
                return known
        leader = self.view.leader
        if (
            leader
            and leader.server
            and answer.server
            and leader.server.log_index is not None
            and answer.server.log_index is not None
        ):
            return max(0, leader.server.log_index - answer.server.log_index)
        return None

    # --- the configuration and what surrounds it ----------------------------------------------------------------------

    def _configuration(self, ghosts: list[ListedServer]) -> None:
        view = self.view
        for server in ghosts:
            self.problem(
                "ghost",
                server.address,
                f"{server.sid} at {server.address} is in the member list, but nobody's: it counts against the quorum. Remove it by its id.",
            )
        leader = view.leader
        if leader is None or leader.status is None:
            if leader is not None and self.expected is not None and len(view.members) != self.expected:
                self.problem("member_count", None, f"{len(view.members)} members answer, expected are {self.expected}.")
            return
        status = leader.status
        ghostly = {server.address for server in ghosts}
        for address in sorted(duplicates(server.address for server in status.servers) - ghostly):
            self.problem("duplicate_address", address, f"{address} is listed more than once.")
        size = len(status.servers)
        if self.expected is not None and size != self.expected:
            self.problem("member_count", None, f"The cluster has {size} members, expected are {self.expected}.")
        elif size % 2 == 0:
            self.warning(
                "even_members", None, f"{size} members stand no more failures than {size - 1}: use an odd number."
            )
        self._changes(leader)
        for server in status.servers:
            if server.is_self or not view.heard(server):
                continue
            incoming, outgoing = status.linked(server.sid)
            if incoming != outgoing and (view.voice(server) is not None or not view.silent):
                way = "from" if outgoing else "to"
                self.warning(
                    "one_way",
                    view.name(server),
                    f"Raft between {leader.member} and {view.name(server)} has no connection {way} {view.name(server)}. "
                    "It works one way, but a firewall may hide behind it until the leader changes.",
                )
        unasked = [
            server.address
            for server in status.servers
            if view.voice(server) is None and view.heard(server) and server not in ghosts
        ]
        if unasked and not self.view.silent:
            self.warning(
                "partial_view",
                None,
                f"Not asked: {', '.join(unasked)}. The leader {leader.member} hears them; that is all that is known.",
            )

    def _changes(self, leader: Answer) -> None:
        status = leader.status
        if status is None:
            raise AssertionError("a leader is one because of its status")
        for change in status.changes:
            if change.kind == "adding":
                self.problem("joining", change.address, f"{change.address} is being added ({change.phase}).")
            else:
                self.problem("leaving", change.address, f"{change.address} is being removed.")
        for server in status.servers:
            if server.phase:
                code = "leaving" if server.phase == "removing" else "joining"
                self.problem(
                    code, self.view.name(server), f"{self.view.name(server)} is not a full member yet ({server.phase})."
                )
        if status.election_timer_target is not None:
            self.warning(
                "election_timer_changing",
                None,
                f"The election timer is changing from {status.election_timer} to {status.election_timer_target} ms.",
            )
        others = [(a.member, a.status.election_timer) for a in self.view.members if a.status and connected(a)]
        for member, timer in others:
            if timer == status.election_timer:
                continue
            self.problem(
                "election_timer_differs",
                member,
                f"{member} uses an election timer of {timer} ms, the leader {status.election_timer} ms.",
            )

    def _surroundings(self) -> None:
        view = self.view
        ids = duplicates(answer.server_id for answer in view.voices if answer.server_id)
        for server_id in sorted(ids):
            names = _names([answer for answer in view.voices if answer.server_id == server_id])
            self.problem(
                "duplicate_server_id",
                None,
                f"{names} run with the same server id {server_id[:4]}: one has a copy of the other's file. Stop it.",
            )
        for answer in view.answers:
            days = answer.certificate_days
            if days is not None and days < self.certificate_days:
                self.warning(
                    "certificate_expires",
                    answer.member,
                    f"The certificate that {answer.member} serves ends in {days:g} days.",
                )
        by_version: dict[tuple[int, int, int], list[Answer]] = {}
        for answer in view.voices:
            if answer.version_numbers is not None:
                by_version.setdefault(answer.version_numbers, []).append(answer)
        for version, answers in sorted(by_version.items()):
            known = faults(version)
            if known:
                number = ".".join(map(str, version))
                self.warning(
                    "version",
                    None,
                    f"Open vSwitch {number} on {_names(answers)} has known faults unless backported: {'; '.join(known)}.",
                )

    # --- what is returned of each member ------------------------------------------------------------------------------

    def _members(self, ghosts: list[ListedServer]) -> t.Iterator[dict[str, t.Any]]:
        view = self.view
        told: list[Answer] = []
        for server in view.listed:
            if server in ghosts:
                continue
            answer = view.voice(server) or self._silent_at(server)
            if answer is not None:
                told.append(answer)
            yield self._described(answer, server)
        for answer in view.answers:
            if answer not in told:
                yield self._described(answer, None)

    def _silent_at(self, server: ListedServer) -> Answer | None:
        """The silent place that must be this member: same host, or nobody else is left on either side."""
        view = self.view
        for answer in view.silent:
            if host_of(answer.member) == host_of(server.address):
                return answer
        unheard = [other for other in view.listed if view.voice(other) is None]
        return view.silent[0] if len(view.silent) == 1 and unheard == [server] else None

    def _described(self, answer: Answer | None, server: ListedServer | None) -> dict[str, t.Any]:
        view = self.view
        status = answer.status if answer else None
        row = answer.server if answer else None
        leader = view.leader.status if view.leader else None
        incoming, outgoing = leader.linked(server.sid) if leader and server and not server.is_self else (None, None)
        lag = self._lag_of(answer, server) if answer else view.lag(server) if server else None
        return {
            "member": answer.member if answer else server.address if server else "",
            "address": status.address if status else server.address if server else None,
            "server_id": (answer.server_id if answer else None) or (server.sid if server else None),
            "cluster_id": answer.cluster_id if answer else None,
            "reachable": bool(answer and answer.spoke),
            "listed": server is not None if view.listed else None,
            "role": status.role if status else (None if row is None else "leader" if row.leader else "follower"),
            "status": status.status if status else None,
            "connected": connected(answer) if answer and answer.spoke else None,
            "term": status.term if status else None,
            "leader": status.leader_sid if status else None,
            "vote": status.vote if status else None,
            "election_timer": status.election_timer if status else None,
            "log_start": status.log_start if status else None,
            "log_next": status.log_next if status else None,
            "not_committed": status.not_committed if status else None,
            "not_applied": status.not_applied if status else None,
            "index": row.log_index if row else None,
            "match_index": server.match_index if server else None,
            "lag": lag,
            "last_message": server.last_message if server and leader else None,
            "incoming": incoming,
            "outgoing": outgoing,
            "connections": [str(link) for link in status.links] if status else [],
            "disconnections": status.disconnections if status else None,
            "version": ".".join(map(str, answer.version_numbers)) if answer and answer.version_numbers else None,
            "certificate_days": answer.certificate_days if answer else None,
            "problems": [problem.message for problem in answer.problems] if answer else [],
        }


def _names(answers: t.Sequence[Answer]) -> str:
    return ", ".join(answer.member for answer in answers) or "nobody"


def _with_name(member: str, message: str) -> str:
    return message if member in message else f"{member}: {message}"
