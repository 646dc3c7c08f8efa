# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of the members one by one, of the configuration that lists them, and of what surrounds them. Pure."""

from __future__ import annotations

import typing as t

from .answer import Answer, host_of
from .cluster_witness import Entry
from .findings import VerdictFindings, list_members
from .parse import ClusterStatus, ListedServer
from .version import faults
from .view import MAXIMUM_LAG, connected, duplicates


class MemberChecks:
    """The checks of each member and of the configuration, and the part of the result about each member."""

    def __init__(self, findings: VerdictFindings) -> None:
        self.findings, self.view = findings, findings.view

    def ghosts(self) -> list[ListedServer]:
        """Return the listed servers without a member: unheard, and not just down, since another member has the address or all declared members are known."""
        view = self.view
        if view.leader is None or view.leader.status is None:
            return []
        unclaimed = [server for server in view.listed if view.find_answer(server) is None and not view.is_heard(server)]
        addresses = duplicates(server.address for server in view.listed)
        taken = {answer.status.address for answer in view.responding if answer.status is not None}
        complete = (
            self.findings.expected is not None
            and not view.unresponsive
            and len(view.listed) - len(unclaimed) >= self.findings.expected
            and all(view.find_answer(server) for server in view.listed if server not in unclaimed)
        )
        return [server for server in unclaimed if server.address in addresses or server.address in taken or complete]

    def describe_ghost(self, server: ListedServer) -> dict[str, t.Any]:
        return {
            "server_id": server.sid,
            "address": server.address,
            "match_index": server.match_index,
            "last_message": server.last_message,
        }

    def check_unresponsive(self) -> None:
        for answer in self.view.unresponsive:
            renamed = [name for name, cid in answer.other_databases.items() if cid and cid == self.view.cluster_id]
            if renamed:
                self.findings.problem(
                    "wrong_name",
                    answer.member,
                    f'{answer.member} joined this cluster under the database name "{renamed[0]}" instead of {answer.database}. '
                    "Remove it from the cluster and let it join again with the right name.",
                )
                continue
            if answer.is_responding:
                model = answer.server.model if answer.server else "unknown"
                self.findings.problem(
                    "not_clustered",
                    answer.member,
                    f"{answer.member} serves {answer.database} as {model}, not as a member of a cluster.",
                )
            for problem in answer.problems:
                message = _with_name(answer.member, problem.message)
                if problem.code == "timeout":
                    message += f" If {answer.member} stays unresponsive, check its log and its disk, then restart it: its file stays as it is."
                self.findings.problem(problem.code, answer.member, message)
            if not answer.problems and not answer.is_responding:
                self.findings.problem(
                    "unreachable",
                    answer.member,
                    f"{answer.member} is unresponsive. Check that its host and its server run.",
                )
        for answer in self.view.responding:
            for problem in answer.problems:
                # It did answer elsewhere; what stays unknown is reported, and a closed client port is a problem of its own.
                self.findings.problem(problem.code, answer.member, _with_name(answer.member, problem.message))

    def check_each(self, ghosts: list[ListedServer]) -> None:
        view = self.view
        for answer in view.joining:
            if view.cluster_id and answer.cluster_id and answer.cluster_id != view.cluster_id:
                self.findings.problem(
                    "foreign_cluster",
                    answer.member,
                    f"{answer.member} tries to join cluster {answer.cluster_id}, this one is {view.cluster_id}. It will never succeed: "
                    "move its file aside and join again.",
                )
            else:
                remotes = (
                    f" through {', '.join(answer.status.remotes)}" if answer.status and answer.status.remotes else ""
                )
                self.findings.problem("joining", answer.member, f"{answer.member} is joining the cluster{remotes}.")
        for answer in view.members:
            self._member(answer)
        self._memories()
        for server in view.listed:
            if (
                view.leader is None
                or view.leader.status is None
                or server in ghosts
                or view.find_answer(server) is not None
                or view.is_heard(server)
            ):
                continue
            age = "never" if server.last_message is None else f"{server.last_message / 1000:g} s ago"
            self.findings.problem(
                "member_missing",
                server.address,
                f"{server.address} ({server.sid}) is unresponsive: the leader heard it {age}. Start it, or replace it if its disk is lost.",
            )

    def _member(self, answer: Answer) -> None:
        view, status = self.view, answer.status
        entry = view.entry(answer)
        name = answer.member
        if status is not None and status.status == "leaving cluster":
            self.findings.problem("leaving", name, f"{name} is leaving the cluster.")
        elif not connected(answer):
            self.findings.problem("disconnected", name, _disconnected_message(answer))
        if view.leader is not None and view.leader.status is not None and entry is None:
            self.findings.problem(
                "not_listed",
                name,
                f"{name} ({(answer.server_id or '')[:4]}) is not in the leader's list: it was removed while it was down. "
                "Move its file aside and let it join again.",
            )
        is_comparable = (
            entry is not None and view.leader is not None and view.leader.status is not None and connected(answer)
        )
        if is_comparable and entry is not None and not view.is_heard(entry):
            age = "never" if entry.last_message is None else f"{entry.last_message / 1000:g} s ago"
            self.findings.problem(
                "unheard",
                name,
                f"{name} is unresponsive to the leader, which heard it {age}. Check the Raft port between them: firewall, certificates, routes.",
            )
        self._lag(answer, entry)
        if status is not None and status.unknown_lines:
            self.findings.warning(
                "unknown_status",
                name,
                f'{name} prints a status line that is not known here: "{status.unknown_lines[0][:100]}".',
            )

    def _memories(self) -> None:
        """Compare what members remember with their own logs and that of the leader, whose length newer writes restore; also of members that are down."""
        leader, listed = self.view.leader, {server.sid for server in self.view.listed}
        for answer in self.view.answers:
            lost, (sid, entry) = answer.terms.lost, answer.terms.committed or ("", None)
            if lost is not None and (answer in self.view.members or sid[:4] in listed):
                self._lost_writes(answer.member, lost, "its log")
            elif leader is not None and entry is not None and sid[:4] in listed and leader.terms.contradicts(entry):
                self._lost_writes(answer.member, entry, f"the log of the leader {leader.member}")

    def _lost_writes(self, member: str, entry: Entry, log: str) -> None:
        self.findings.problem(
            "lost_writes",
            member,
            f"Acknowledged writes were lost: {member} had log entry {entry.log_index} of term {entry.term}, and {log} has another one there. Repair the "
            "networks from Neutron (neutron-ovn-db-sync-util), then accept the loss with accept_rollback of ovn_cluster, "
            "ovn_central_permit=rollback on machines.",
        )

    def _lag(self, answer: Answer, entry: ListedServer | None) -> None:
        lag = self._lag_of(answer, entry)
        if lag is not None and lag > MAXIMUM_LAG:
            self.findings.problem(
                "lagging",
                answer.member,
                f"{answer.member} is {lag} log entries behind the leader. Check for a full disk or a slow network before anything is restarted.",
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

    def check_configuration(self, ghosts: list[ListedServer]) -> None:
        view = self.view
        for server in ghosts:
            self.findings.problem(
                "ghost",
                server.address,
                f"{server.sid} at {server.address} is in the member list, but no member has that id: it counts against the quorum. Remove it by its id.",
            )
        leader = view.leader
        if leader is None or leader.status is None:
            if (
                leader is not None
                and self.findings.expected is not None
                and len(view.members) != self.findings.expected
            ):
                self.findings.problem(
                    "member_count", None, f"{len(view.members)} members answer, expected are {self.findings.expected}."
                )
            return
        self._check_list(leader.status, ghosts)
        self._changes(leader)
        self._check_connections(leader, leader.status, ghosts)

    def _check_list(self, status: ClusterStatus, ghosts: list[ListedServer]) -> None:
        ghostly = {server.address for server in ghosts}
        for address in sorted(duplicates(server.address for server in status.servers) - ghostly):
            self.findings.problem("duplicate_address", address, f"{address} is listed more than once.")
        size = len(status.servers)
        if self.findings.expected is not None and size != self.findings.expected:
            self.findings.problem(
                "member_count", None, f"The cluster has {size} members, expected are {self.findings.expected}."
            )
        elif size % 2 == 0:
            self.findings.warning(
                "even_members", None, f"{size} members tolerate no more failures than {size - 1}: use an odd number."
            )

    def _check_connections(self, leader: Answer, status: ClusterStatus, ghosts: list[ListedServer]) -> None:
        view = self.view
        for server in status.servers:
            if server.is_self or not view.is_heard(server):
                continue
            incoming, outgoing = status.linked(server.sid)
            if incoming != outgoing and (view.find_answer(server) is not None or not view.unresponsive):
                way = "from" if outgoing else "to"
                self.findings.warning(
                    "one_way",
                    view.name(server),
                    f"Raft between {leader.member} and {view.name(server)} has no connection {way} {view.name(server)}. "
                    "It works one way, but a firewall may hide behind it until the leader changes.",
                )
        unasked = [
            server.address
            for server in status.servers
            if view.find_answer(server) is None and view.is_heard(server) and server not in ghosts
        ]
        if unasked and not self.view.unresponsive:
            self.findings.warning(
                "partial_view",
                None,
                f"Not asked: {', '.join(unasked)}. The leader {leader.member} hears them; nothing else is known about them.",
            )

    def _changes(self, leader: Answer) -> None:
        status = leader.status
        if status is None:
            raise AssertionError("a leader is one because of its status")
        for change in status.changes:
            if change.kind == "adding":
                self.findings.problem("joining", change.address, f"{change.address} is being added ({change.phase}).")
            else:
                self.findings.problem("leaving", change.address, f"{change.address} is being removed.")
        for server in status.servers:
            if server.phase:
                code = "leaving" if server.phase == "removing" else "joining"
                self.findings.problem(
                    code, self.view.name(server), f"{self.view.name(server)} is not a full member yet ({server.phase})."
                )
        if status.election_timer_target is not None:
            self.findings.warning(
                "election_timer_changing",
                None,
                f"The election timer is changing from {status.election_timer} to {status.election_timer_target} ms.",
            )
        others = [(a.member, a.status.election_timer) for a in self.view.members if a.status and connected(a)]
        for member, timer in others:
            if timer == status.election_timer:
                continue
            self.findings.problem(
                "election_timer_differs",
                member,
                f"{member} uses an election timer of {timer} ms, the leader {status.election_timer} ms.",
            )

    def check_surroundings(self) -> None:
        view = self.view
        ids = duplicates(answer.server_id for answer in view.responding if answer.server_id)
        for server_id in sorted(ids):
            names = list_members([answer for answer in view.responding if answer.server_id == server_id])
            self.findings.problem(
                "duplicate_server_id",
                None,
                f"{names} run with the same server id {server_id[:4]}: one has a copy of the other's file. Stop the copy.",
            )
        for answer in view.answers:
            days = answer.certificate_days
            if days is not None and days < self.findings.certificate_days:
                self.findings.warning(
                    "certificate_expires",
                    answer.member,
                    f"The certificate that {answer.member} serves expires in {days:g} days.",
                )
        by_version: dict[tuple[int, int, int], list[Answer]] = {}
        for answer in view.responding:
            if answer.version_numbers is not None:
                by_version.setdefault(answer.version_numbers, []).append(answer)
        for version, answers in sorted(by_version.items()):
            number = ".".join(map(str, version))
            place = f" on {list_members(answers)}" if len(by_version) > 1 else ""
            for fault in faults(version):
                fixed_in = fault.fixed_in(version)
                self.findings.warning(
                    fault.code,
                    None,
                    f"Open vSwitch {number}{place} has a known fault, fixed in {fixed_in} or by a backport: {fault.message}.",
                    fixed_in,
                )

    # --- what is returned of each member ------------------------------------------------------------------------------

    def describe_all(self, ghosts: list[ListedServer]) -> t.Iterator[dict[str, t.Any]]:
        view = self.view
        reported: list[Answer] = []
        for server in view.listed:
            if server in ghosts:
                continue
            answer = view.find_answer(server) or self._find_unresponsive(server)
            if answer is not None:
                reported.append(answer)
            yield self._described(answer, server)
        for answer in view.answers:
            if answer not in reported:
                yield self._described(answer, None)

    def _find_unresponsive(self, server: ListedServer) -> Answer | None:
        """Return the unresponsive place that must be this member: it has its host, or both are the only ones left."""
        view = self.view
        for answer in view.unresponsive:
            if host_of(answer.member) == host_of(server.address):
                return answer
        unheard = [other for other in view.listed if view.find_answer(other) is None]
        return view.unresponsive[0] if len(view.unresponsive) == 1 and unheard == [server] else None

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
            "reachable": bool(answer and answer.is_responding),
            "listed": server is not None if view.listed else None,
            "role": status.role if status else (None if row is None else "leader" if row.leader else "follower"),
            "status": status.status if status else None,
            "connected": connected(answer) if answer and answer.is_responding else None,
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


def _disconnected_message(answer: Answer) -> str:
    """Return the message about a member that answers and takes no part in the cluster, with what to do where its state tells."""
    state = answer.status.status if answer.status else "not connected"
    message = f"{answer.member} does not take part in the cluster (status: {state})."
    if state == "failed":
        message += " It could not write its database file, and does not try again. Free space on its disk, then run c5c3.ovn.central: that restarts it."
    elif any(problem.code == "no_database" for problem in answer.problems):
        message += (
            " Its server has closed the database: after it left the cluster, or some time after it could not write its file. "
            "Check the space on its disk, then run c5c3.ovn.central."
        )
    return message


def _with_name(member: str, message: str) -> str:
    return message if member in message else f"{member}: {message}"
