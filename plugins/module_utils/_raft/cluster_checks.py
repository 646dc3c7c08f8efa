# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of the cluster as a whole: one cluster, one leader, a majority that it hears. Pure."""

from __future__ import annotations

from .._base.databases import OVSDB_ELECTION_TIMER
from .._base.errors import list_names
from .answer import Answer, host_of
from .contents import compare
from .findings import Health, VerdictFindings, list_members
from .parse import ListedServer
from .view import connected, joined, majority

_TABLES_NAMED = 8


class ClusterChecks:
    """The checks that decide the health of the cluster: which members answer, and which of them leads."""

    def __init__(self, findings: VerdictFindings) -> None:
        self.findings, self.view = findings, findings.view

    def state(self) -> tuple[Health, bool]:
        """Return the health and whether the cluster is writable. `healthy` here means: leader and majority are as they should be."""
        view = self.view
        if not view.responding:
            if not view.unresponsive:
                self.findings.problem("unreachable", None, "No member was asked.")
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
            sides = "; ".join(f"{cid}: {list_members(answers)}" for cid, answers in view.cluster_ids.items())
            self.findings.problem(
                "two_clusters",
                None,
                f"Members answer for different clusters ({sides}). Change nothing, back up each side, decide which one stays.",
            )
            return True
        if expected and view.cluster_id and view.cluster_id != expected:
            self.findings.problem(
                "foreign_cluster",
                None,
                f"{list_members(view.members)} answer for cluster {view.cluster_id}, expected is {expected}. "
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
                self.findings.problem(
                    "two_leaders",
                    None,
                    f"{list_members(answers)} all lead in term {term}: their member lists have diverged.",
                )
                return True
        return False

    def _stale_leaders(self) -> None:
        """Report leaders of older terms: one does not know yet that it was replaced, and steps down within two or three election timers."""
        self.findings.transient = True
        leader, *others = self.view.claims
        for answer in others:
            if leader.status is not None and answer.status is not None:
                claim = f"still calls itself leader of term {answer.status.term}; {leader.member} leads term {leader.status.term}"
            else:
                claim = f"and {leader.member} both call themselves leader; without the terms it is unknown which is the old one"
            self.findings.problem("stale_leader", answer.member, f"{answer.member} {claim}. Ask again in a moment.")

    def _led(self, leader: Answer) -> tuple[Health, bool]:
        if leader.status is None:
            return self._led_without_list(leader)
        listed = leader.status.servers
        needed = majority(len(listed))
        supporting = [server for server in listed if self._supports(server)]
        if len(supporting) < needed:
            missing = ", ".join(self.view.name(server) for server in listed if server not in supporting)
            self.findings.problem(
                "no_quorum",
                leader.member,
                f"{leader.member} still calls itself leader, but hears {len(supporting)} of {len(listed)} members, {needed} are needed. "
                f"Missing: {missing}. Start them with their files; nothing can be written until then.",
            )
            return "no_quorum", False
        # Members that did not answer count for one election timer only: take another sample if they are needed.
        self.findings.transient |= sum(1 for server in supporting if self.view.find_answer(server)) < needed and bool(
            self.view.unresponsive
        )
        if self._blocked():
            return "no_quorum", False
        return "healthy", True

    def _supports(self, server: ListedServer) -> bool:
        """Return whether this member supports the leader."""
        view = self.view
        if not view.is_heard(server):
            return False
        answer = view.find_answer(server)
        if answer is not None:
            return server.is_self or connected(answer)
        if self._is_asked_without_answer(server):
            return (server.last_message or 0) < (view.election_timer or OVSDB_ELECTION_TIMER)
        return True

    def _is_asked_without_answer(self, server: ListedServer) -> bool:
        """Return whether this member was asked and did not answer: a place of its address, or one without a listed address that could be it."""
        hosts = {host_of(entry.address) for entry in self.view.listed}
        return any(
            host_of(answer.member) == host_of(server.address) or host_of(answer.member) not in hosts
            for answer in self.view.unresponsive
        )

    def _blocked(self) -> bool:
        """Return whether the same entries stay uncommitted in all samples: disks of a majority are full, or it hangs."""
        samples = [view.leader.status if view.leader else None for view in [*self.findings.earlier, self.view]]
        known = [status for status in samples if status is not None]
        status = known[-1]
        if not status.not_committed:
            return False
        self.findings.transient = True
        commits = {sample.log_next - sample.not_committed for sample in known}
        if len(known) >= 3 and len(commits) == 1 and all(sample.not_committed for sample in known):
            self.findings.problem(
                "writes_blocked",
                None,
                f"{status.not_committed} log entries stay uncommitted although a majority is connected. "
                "Check for full disks on the members, and compact before any restart.",
            )
            return True
        self.findings.warning("uncommitted", None, f"{status.not_committed} log entries are not committed yet.")
        return False

    def _led_without_list(self, leader: Answer) -> tuple[Health, bool]:
        """Return health and writability if only `_Server` of the leader is known: without its list, enough members must answer themselves."""
        view = self.view
        taking_part = [answer for answer in view.members if connected(answer)]
        total = self._size()
        if len(taking_part) < majority(total):
            self.findings.problem(
                "no_quorum",
                None,
                f"{leader.member} calls itself leader, but only {len(taking_part)} of {total} members say that they take part. "
                "Its own word is no proof; ask the others, or its control socket.",
            )
            return "no_quorum", False
        self.findings.warning(
            "partial_view",
            None,
            f"The member list of {leader.member} is unknown (only a control socket shows it): ghosts and one-way connections cannot be detected.",
        )
        if self.findings.expected is None:
            self.findings.warning(
                "size_unknown", None, "How many members the cluster should have is not known: set expected_members."
            )
        return "healthy", True

    def _leaderless(self) -> tuple[Health, bool]:
        view = self.view
        taking_part = [answer for answer in view.members if connected(answer)]
        total = self._size()
        heard_leader = self.leader_heard_by_members()
        if heard_leader is not None:
            self.findings.problem(
                "partial_view",
                None,
                f"{list_members(taking_part)} have just heard the leader {heard_leader}, which did not answer here. "
                "Only its list shows what is missing: ask it.",
            )
            return "degraded", True
        if len(taking_part) >= majority(total):
            if all(answer.status is None for answer in taking_part) and len(view.responding) < total:
                self.findings.problem(
                    "partial_view",
                    None,
                    f"{list_members(taking_part)} take part, but the leader is not among them: ask all members.",
                )
                return "degraded", True
            return self._in_election(len(taking_part), total), False
        self.findings.transient = any(joined(answer) for answer in view.responding) and total == len(view.members)
        self.findings.problem(
            "no_quorum",
            None,
            f"{len(taking_part)} of {total} members take part, {majority(total)} are needed. "
            "Start the missing ones with their files; nothing can be written until then.",
        )
        return "no_quorum", False

    def _in_election(self, taking_part: int, total: int) -> Health:
        self.findings.transient = True
        timer = self.view.election_timer or OVSDB_ELECTION_TIMER
        absent = (self.findings.expected or 0) - total
        more = f" {absent} declared members have not joined yet." if absent > 0 else ""
        self.findings.problem(
            "no_leader",
            None,
            f"{taking_part} of {total} members take part, but none leads.{more} An election may be under way: "
            f"ask again in {3 * timer / 1000:g} s.",
        )
        return "forming" if absent > 0 and taking_part == total else "no_quorum"

    def leader_heard_by_members(self) -> str | None:
        """Return the address of a leader that did not answer here, but that a member has heard within one election timer; None without one."""
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
                and view.find_answer(server) is None
                and server.last_message is not None
                and server.last_message < status.election_timer
            ):
                return server.address
        return None

    def _size(self) -> int:
        """Return the number of members in the configuration, as far as it is known."""
        view = self.view
        if view.listed:
            return len(view.listed)
        return max(
            self.findings.expected or 0, len(view.answers) if self.findings.expected is None else len(view.members)
        )

    def diverged(self) -> bool:
        """Return whether members hold different data at the same log index, as far as that was read. No status of OVSDB shows it."""
        view = self.view
        read = {answer.member: answer.contents for answer in view.members if answer.contents is not None}
        found = compare(read, view.leader.member if view.leader else None)
        for difference in found.differences:
            one, *others = difference.groups
            tables = list_names(difference.tables, _TABLES_NAMED, kind="tables")
            self.findings.problem(
                "diverged",
                ", ".join(name for group in others for name in group),
                f"Members hold different data at log index {difference.log_index}: {', '.join(one)} {'differ' if len(one) > 1 else 'differs'} from "
                f"{'; '.join(', '.join(group) for group in others)} in {tables}. One of them ran with an old copy of its file. "
                "Back up each of them now (ovsdb-client backup unix:SOCKET), decide which data is right, then replace the other members one by one.",
            )
        unread = [f"{member}: {cause}" for member, cause in found.unread.items()]
        apart = [f"{member} was read at log index {index}" for member, index in found.apart.items()]
        if unread or apart:
            self.findings.warning(
                "not_compared",
                None,
                f"Not all members could be compared by what they hold: {'; '.join([*unread, *apart])}. Run it again when the database is written to less.",
            )
        return bool(found.differences)

    def lower_health(self) -> Health:
        """Return the health that the problems leave. A cluster that only waits for joiners is forming."""
        codes = {reason.code for reason in self.findings.reasons if reason.severity == "problem"}
        if not codes:
            return "healthy"
        if "joining" in codes and codes <= {"joining", "member_count"}:
            return "forming"
        return "degraded"
