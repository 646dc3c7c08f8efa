# SPDX-License-Identifier: GPL-3.0-or-later
"""A cluster that is on record, as one round sees it: what its members say of each other, and the record that the round will write. Facts only; nothing
is decided here. Pure.
"""

from __future__ import annotations

import dataclasses
import typing as t

from .observation import DISK_MISSING, STARTABLE, Observation, newest_leader
from .parse import ClusterStatus
from .record import FORMER, Member, Record
from .step import Run, find_unexamined, members_of
from .view import freshness, majority

# Files that the launcher neither starts nor moves aside by itself. It gives one up when the record names its server id as given up.
NEVER_STARTS = frozenset({"dead-join", "broken", "joining-outdated", "unidentifiable", "outdated-copy", "other-disk"})
WRITE_FAILED = "after a failed write a server takes part again only when it is restarted"


class RecordedCluster:
    """`observations` are by member, with what the others know of it; `as_observed` has them unchanged. `record` changes during a round."""

    def __init__(self, run: Run, record: Record, observed: list[Observation]) -> None:
        self.run, self.record, self.database = run, record, run.database
        self.leader = newest_leader(observed)
        self.listed = self.leader.listed if self.leader is not None else {}
        self.failed = {o.member for o in observed if o.write_failed and not o.is_lost and not o.replace_reason}
        self.as_observed = {o.member: o for o in observed}
        self.observations = {o.member: self._with_file_class(o) for o in observed}
        self.missing = find_unexamined(run, observed, record)
        self.addresses = members_of(run, record)
        self.is_contested = len([o for o in observed if o.leader and o.connected]) > 1
        self.warnings: list[str] = []
        self.undecided = ""  # the refusal of a changed address; forbids all but bringing back a leader

    def _with_file_class(self, o: Observation) -> Observation:
        """Return the observation of the member's own host, with what the others know of it."""
        if o.member in self.failed:  # one that would not come back waits; the others do not wait for it
            return dataclasses.replace(o, restart_reason="" if o.start_problem else WRITE_FAILED)
        return dataclasses.replace(o, file_class="outdated-copy") if self.has_outdated_copy(o) else o

    def has_outdated_copy(self, o: Observation) -> bool:
        """Return whether a file is an old copy of this member, from before it joined again under its present server id (R8).

        The launcher has compared cluster and address, so it is no file of another member; and the leader does not list its id any more.
        """
        return self.has_foreign_sid(o) and self.is_unlisted(o.file_sid)

    def has_foreign_sid(self, o: Observation) -> bool:
        """Return whether the file of a stopped member has a server id that is neither its own in the record nor that of another member."""
        return not o.running and self._is_recorded_otherwise(o)

    def _is_recorded_otherwise(self, o: Observation) -> bool:
        member = self.record.members.get(o.member)
        others = {sid for x in self.as_observed.values() if x.member != o.member for sid in (x.sid, x.file_sid)}
        return (
            o.file_class == "foreign-sid"
            and o.file_sid is not None
            and member is not None
            and member.state in ("confirmed", "replacing")
            and member.sid != o.file_sid
            and o.file_sid not in others | self.sids_of_others(o)
        )

    def is_awaiting_leader(self, o: Observation) -> bool:
        """Return whether only a leader knows what its file is, and the other members can still elect one, which a refusal now would prevent."""
        others = [
            x for x in self.as_observed.values() if x.member != o.member and (x.running or self.can_start_from_file(x))
        ]
        return self.leader is None and self.has_foreign_sid(o) and len(others) >= majority(len(self.record.present))

    def has_never_joined(self, name: str, member: Member) -> bool:
        """Return whether a member never had the address that is recorded for it: neither its file nor the leader's list knows of a join (R26)."""
        o = self.observations.get(name)
        # One that is held back for now is `replacing` without an id.
        if o is None or member.state not in ("expected", "replacing"):
            return False
        if o.connected:
            return self.is_listed_as_declared(o)
        if member.sid is not None and (self.leader is None or not self.is_unlisted(member.sid)):
            return False
        sid = o.sid or o.file_sid
        # A server that was removed goes on without its database, and joins again like one that never did.
        is_joiner = o.file_class in ("joining", "joining-outdated", "left") and self.is_unlisted(sid)
        is_blank = not o.running and (
            o.file_class in ("none", "empty") or (o.file_class in NEVER_STARTS and self.is_unlisted(o.file_sid))
        )
        return (is_blank or is_joiner or self.is_failed_join(o)) and member.address not in self.listed.values()

    def is_failed_join(self, o: Observation) -> bool:
        """Return whether it was to join under an address that is no longer declared. The leader lists neither its id nor its address."""
        member = self.record.members.get(o.member)
        return (
            o.file_class == "foreign-address"
            and not o.connected
            and self.leader is not None
            and (o.file_sid is None or self.is_unlisted(o.file_sid))
            and (
                member is None
                or (
                    member.state in ("expected", "replacing")
                    and (member.sid == o.file_sid or self.is_unlisted(member.sid))
                )
            )
        )

    def has_joined_again(self, o: Observation) -> bool:
        """Return whether a member lost its disk and joined under another id: its copy of the record was older and still expected it.

        The leader lists that id under the member's own address, so it is no copy of another member; the old id is a ghost from now on.
        """
        member = self.record.members.get(o.member)
        return (
            member is not None
            and member.state in ("confirmed", "replacing")
            and o.connected
            and o.sid != member.sid
            and self.listed_address(o.sid) == member.address
            and all(other.sid != member.sid for other in self.observations.values())
        )

    def has_joined_beside(self, o: Observation) -> bool:
        """Return whether a member was wiped and joined by hand, and its file is needed to elect a leader.

        A running member lists its recorded id and the id of its file, both at its address. After the removal of a lost member (R5) no list has both.
        """
        member = self.record.members.get(o.member)
        if (
            self.leader is not None
            or member is None
            or not self._is_recorded_otherwise(o)
            or not (member.sid and o.file_sid)
        ):
            return False
        beside = {member.sid[:4], o.file_sid[:4]}
        return any(
            beside <= {short for short, address in x.listed.items() if address == member.address}
            for x in self.as_observed.values()
            if x.running
        )

    def is_recorded_elsewhere(self, o: Observation) -> bool:
        return o.file_class == "foreign-address" and self.is_listed_as_declared(o)

    def is_listed_as_declared(self, o: Observation) -> bool:
        """Return whether the leader lists this server under the address that is declared: then another one in the record is not its own."""
        return o.connected and self.listed_address(o.sid) == self.addresses[o.member]

    def has_joined_while_held_back(self, o: Observation, member: Member) -> bool:
        """Return whether a member joined before the record held it back; without a leader only its file shows that, and it starts from it."""
        return (
            self.leader is None
            and member.state == "replacing"
            and not o.running
            and o.file_class == "member"
            and o.file_sid != member.sid
        )

    def has_older_record(self, o: Observation) -> bool:
        """Return whether only an older copy of the record on its host calls its server id foreign. It is written again."""
        member = self.record.members.get(o.member)
        return (
            o.file_class == "foreign-sid"
            and member is not None
            and member.sid == (o.sid or o.file_sid)
            and o.recorded != self.record
        )

    def can_be_confirmed(self, o: Observation, member: Member) -> bool:
        """Return whether a member that is expected or being replaced takes part already, so that it only has to be confirmed.

        The id that was given up counts only where the leader lists it, or, while nobody leads, each server that reports a list: then its removal was never
        committed, and its vote may be needed.
        """
        if member.state not in ("expected", "replacing"):
            return False
        sid = o.sid if o.running else o.file_sid
        if self.leader is None and not o.running:
            lists = [x.listed for x in self.running() if x.listed and x.file_class != "joining"]
            is_kept = member.state == "replacing" and o.file_class == "member" and sid is not None and sid == member.sid
            # A file that this launcher never served may be an old copy, and nothing here remembers what it should have.
            is_judged = o.ours or o.witness_index is not None
            return is_kept and is_judged and bool(lists) and all(t.cast(str, sid)[:4] in listed for listed in lists)
        listed = self.leader is not None and not self.is_unlisted(sid) and sid is not None
        if o.is_lost:  # a member all the same, whose file was removed or not written before its join was recorded
            return member.state == "expected" and member.sid != sid and (o.connected or o.write_failed) and listed
        if o.connected and sid != member.sid:
            return member.state == "expected" or listed
        if o.running:
            return o.connected and listed
        is_copy = sid in self.sids_of_others(o)  # given up under the id of the member whose disk it was
        is_own = sid == member.sid or self.listed_address(sid) == member.address
        return o.file_class == "member" and listed and is_own and not is_copy

    def listed_address(self, sid: str | None) -> str | None:
        """Return the address under which the leader lists this server, None if it does not."""
        return self.listed.get(sid[:4]) if sid else None

    def is_unlisted(self, sid: str | None) -> bool:
        """Return whether the leader lists no server `sid`; False without a leader, since then nothing is known."""
        return self.leader is not None and (sid is None or sid[:4] not in self.listed)

    def can_start_from_file(self, o: Observation) -> bool:
        member = self.record.members.get(o.member)
        if member is None:  # declared since the record was written
            return False
        given_up = member.state == "expected" and member.sid is not None and member.sid == o.file_sid
        return (
            o.file_class in STARTABLE
            and member.state in ("expected", "confirmed", "leaving")
            and not given_up
            and member.address == self.addresses[o.member]
        )

    def voters(self) -> list[str]:
        """Return the members on record that vote, which one that never joined does not: three of five that are declared may be all there are."""
        others = {o.file_sid for o in self.observations.values() if o.file_class in ("joining", "left")}
        return [
            name
            for name, m in self.record.members.items()
            if m.sid and m.sid not in others and m.state not in {"expected", *FORMER}
        ]

    def electorates(self, running: t.Sequence[Observation]) -> list[tuple[int, int]]:
        """Return (votes, members) for the list of each of these servers, the longest first, and at last for the record.

        A server counts votes by its own list. The record may lack a join or a removal that a run had no time to write, so it counts only where a
        server reports no list.
        """
        voters = self.voters()
        running = [o for o in running if o.file_class != "left"]
        sids = {sid[:4] for o in running if (sid := o.sid or o.file_sid)}
        lists = sorted(
            (set(o.listed) for o in running if o.listed and not self.is_unlisted(o.sid)), key=len, reverse=True
        )
        found = [(len(sids & listed), len(listed)) for listed in lists]
        if not lists or any(o.member in voters and not o.listed for o in running):
            found.append((len({o.member for o in running}.intersection(voters)), len(voters)))
        return found

    def can_elect(self, running: t.Sequence[Observation]) -> bool:
        """Return whether these servers can elect a leader."""
        return any(votes >= majority(of) for votes, of in self.electorates(running))

    def running(self) -> list[Observation]:
        """Return the members whose server runs."""
        return [o for o in self.observations.values() if o.running]

    def is_dispensable(self, o: Observation) -> bool:
        """Return whether the others are a majority of the leader's list."""
        others = [
            x for x in self.observations.values() if x is not o and x.connected and x.sid and x.sid[:4] in self.listed
        ]
        return len(others) >= majority(len(self.listed))

    def old_sid(self, member: Member) -> str | None:
        """Return the server id that has to leave the list before this member joins again, None if there is none.

        A record that was lost, or a file that was copied from another member, leaves the right one to be found by its address.
        """
        if member.sid and self.listed_address(member.sid) == member.address:
            return member.sid
        return next((short for short, address in self.listed.items() if address == member.address), None)

    def sids_of_others(self, o: Observation) -> set[str]:
        """Return the server ids that the record gives to other members, those excepted that are given up."""
        members = self.record.members.items()
        return {m.sid for name, m in members if name != o.member and m.state != "expected" and m.sid}

    def leader_status(self) -> ClusterStatus | None:
        return status_of(self.leader) if self.leader is not None else None

    def heard_sids(self) -> set[str]:
        """Return the server ids (four digits) that the leader has heard from lately."""
        status = self.leader_status()
        limit = freshness(status.election_timer) if status else 0
        return {
            s.sid for s in (status.servers if status else ()) if s.last_message is not None and s.last_message < limit
        }

    def lag(self, o: Observation) -> int:
        """Return the number of log entries that the leader has and this member lacks; a very large one if that is unknown."""
        status = self.leader_status()
        listed = next((s for s in status.servers if o.sid and s.sid == o.sid[:4]), None) if status else None
        if status is None or listed is None or listed.match_index is None:
            return 0 if o.leader else 1 << 62
        return max(0, status.log_next - 1 - listed.match_index)


def status_of(o: Observation) -> ClusterStatus | None:
    """Return what `cluster/status` said on this member, None if it said nothing."""
    return o.reported_answer.status if o.reported_answer else None


def describe_lost(o: Observation) -> str:
    """Return the name of a member that does not run, with what is known of its file."""
    if o.file_class == "outdated-copy" and o.last_index is not None:
        return f"{o.member} (an old copy: its log ends at entry {o.last_index} of term {o.last_term}, the member had entry {o.witness_index} or a later term)"
    if o.file_class == DISK_MISSING:
        return f"{o.member} ({o.file_reason.rstrip('.')})"
    known = f", log entry {o.last_index}" if o.last_index is not None else ""
    problem = f", and it would not start: {o.start_problem.rstrip('.')}" if o.start_problem else ""
    return f"{o.member} ({o.file_class}{known}{problem})"
