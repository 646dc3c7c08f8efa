# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

What a run does next with a cluster that is on record: confirm, start, replace, join, restart; one step a round, the most urgent first. Pure.

Progress (R29): a member that is broken or runs with settings of the past is dealt with before any gate that waits for it.
"""

from __future__ import annotations

import contextlib
import dataclasses
import typing as t

from .._databases import OVSDB_ELECTION_TIMER
from .._errors import Refused
from .observation import DISK_MISSING, STARTABLE, Observation, newest_leader
from .parse import ClusterStatus
from .record import Member, Record
from .step import (
    UNUSABLE,
    Gate,
    History,
    Round,
    Run,
    Step,
    Unexamined,
    changed_address,
    cluster_ids,
    next_revision,
    refuse_unusable_files,
    split_message,
    undeclared_member,
    unexamined,
)
from .view import freshness, majority

# Files that the launcher neither starts nor moves aside by itself. It gives one up when the record names its server id as given up.
_NEVER_STARTS = frozenset({"dead-join", "broken", "joining-outdated", "unidentifiable", "outdated-copy", "other-disk"})
# Bytes without which a log entry of usual size does not fit.
_LEAST_FREE = 2**16
# Stands in the record for the id of a file from which none can be read.
NO_SID = "00000000-0000-0000-0000-000000000000"
_WRITE_FAILED = "after a failed write a server takes part again only when it is restarted"
# An election takes up to three timers; nobody who restarts members disturbs one.
_ELECTION_SLACK = 2.0


class Maintenance:
    """A recorded cluster: confirm, start, replace, join, restart; one step a round, the most urgent first."""

    def __init__(
        self,
        run: Run,
        record: Record,
        seen: list[Observation],
        gate: Gate,
        history: History,
        *,
        changed: bool = False,
    ) -> None:
        self.run, self.record, self.gate, self.history, self.changed = run, record, gate, history, changed
        self.leader = newest_leader(seen)
        self.listed = self.leader.listed if self.leader is not None else {}
        self.failed = {o.member for o in seen if o.write_failed and not o.lost}
        self.observed = {o.member: o for o in seen}
        self.seen = {o.member: self._understood(o) for o in seen}
        self.missing = unexamined(run, seen)
        self.is_contested = len([o for o in seen if o.leader and o.connected]) > 1
        self.warnings: list[str] = []
        self.ahead: int | None = None
        self.due_stop: Step | None = None  # of a running member without a file; waits for the others

    def round(self) -> Round:
        self._refuse_strangers()
        before = self.record
        unknown = [o.member for o in self.seen.values() if o.file_class == "unexamined"]
        if unknown:
            self.warnings.append(
                f"{self.run.database}: {', '.join(unknown)} has a file, but no launcher to examine it; what follows is known once it is installed."
            )
        for o in self.seen.values():
            if o.file_class == DISK_MISSING and o.running:
                self.warnings.append(
                    f"{self.run.database} on {o.member} runs, but would not start again: {o.file_reason}"
                )
            if o.member in self.failed and o.start_problem:
                self.warnings.append(
                    f"{self.run.database} on {o.member} stopped after a failed write, and is not restarted: it would not come back. "
                    f"{o.start_problem.rstrip('.')}. Free space on its disk, then run again."
                )
        self._update_members()
        noted = self.record
        refusal: Refused | None = None
        try:
            step = self._compare_with_witnesses() or self._step()
        except Refused as e:
            if noted == before and not any(self._has_old_copy(o) for o in self.seen.values()):
                raise
            # Who has joined is noted even if nothing else can be done: its old server id is needed when it loses its disk.
            self.record, step, refusal = noted, None, e
        if step is not None:
            targets = {name: self.observed[name].target() for name in step.members if name in self.observed}
            step = dataclasses.replace(step, expects=targets)
        # Not by revision: two runs with different parts of the hosts may each have written the same number.
        stale = any(o.recorded is not before and o.recorded != before for o in self.seen.values())
        written = next_revision(self.record) if self.changed or stale or self.record != before else None
        return Round(
            written,
            step,
            tuple(self.warnings),
            recorded=before,
            stale_copies=stale or self.changed,
            ahead=self.ahead,
            refusal=refusal,
        )

    def _understood(self, o: Observation) -> Observation:
        """What the others know of this member, added to what its own host says."""
        if o.member in self.failed:  # one that would not come back waits; the others do not wait for it
            return dataclasses.replace(o, restart_reason="" if o.start_problem else _WRITE_FAILED)
        return dataclasses.replace(o, file_class="outdated-copy") if self._is_former_self(o) else o

    def _is_former_self(self, o: Observation) -> bool:
        """Whether a file is an old copy of this member, from before it joined again under its present server id (R8).

        The launcher has compared cluster and address, so it is no file of another member; and the leader does not list its id any more.
        """
        return self._has_foreign_sid(o) and self._unlisted(o.file_sid)

    def _has_foreign_sid(self, o: Observation) -> bool:
        """Whether the file of a stopped member has a server id that is neither its own in the record nor anybody else's."""
        member = self.record.members.get(o.member)
        others = {sid for x in self.observed.values() if x is not o for sid in (x.sid, x.file_sid)}
        return (
            o.file_class == "foreign-sid"
            and not o.running
            and o.file_sid is not None
            and member is not None
            and member.state in ("confirmed", "replacing")
            and member.sid != o.file_sid
            and o.file_sid not in others | self._sids_of_others(o)
        )

    def _awaits_leader(self, o: Observation) -> bool:
        """Whether only a leader can tell what its file is, and the other members can still elect one. Refused now, it would keep them from it."""
        others = [x for x in self.observed.values() if x is not o and (x.running or self._starts_from_file(x))]
        return self.leader is None and self._has_foreign_sid(o) and len(others) >= majority(len(self.record.members))

    def _refuse_strangers(self) -> None:
        cid = t.cast(str, self.record.cid)
        others = {other: members for other, members in cluster_ids(list(self.seen.values())).items() if other != cid}
        if others:
            raise Refused(split_message(self.run, {cid: ["the state record"], **others}))
        known = (
            *(self._is_failed_join, self._has_joined_again, self._has_old_copy, self._is_recorded_elsewhere),
            self._awaits_leader,
        )
        doubtful = [o for o in self.seen.values() if o.file_class in UNUSABLE]
        refuse_unusable_files(self.run, [o for o in doubtful if not any(fact(o) for fact in known)])

    # --- the record ------------------------------------------------------------------------------------------------------

    def _update_members(self) -> None:
        for name, address in self.run.declared.items():
            member = self.record.members.get(name)
            if member is None or (member.address != address and self._never_joined(name, member)):
                self.record = self.record.replace(members={**self.record.members, name: Member(address)})
            elif member.address != address:
                raise Refused(changed_address(self.run, name, member.address, address))
        for o in self.seen.values():
            member = self.record.members[o.member]
            if self._takes_part(o, member) or self._has_joined_again(o):
                sid = o.sid or o.file_sid
                listed = self._listed_address(sid)
                if listed and listed != member.address:
                    raise Refused(changed_address(self.run, o.member, listed, self.run.declared[o.member]))
                self.record = self.record.with_member(o.member, state="confirmed", sid=sid)
            elif self._joined_while_held_back(o, member):
                self.record = self.record.with_member(o.member, state="expected")
        if not self.record.formed and all(m.state == "confirmed" for m in self.record.members.values()):
            self.record = self.record.replace(formed=True)

    def _never_joined(self, name: str, member: Member) -> bool:
        """Whether a member never had the address that is recorded for it: neither its file nor the leader's list knows of a join (R26)."""
        o = self.seen.get(name)
        # One that is held back for now is `replacing` without an id.
        if o is None or member.state not in ("expected", "replacing"):
            return False
        if o.connected:
            return self._is_listed_as_declared(o)
        if member.sid is not None and (self.leader is None or not self._unlisted(member.sid)):
            return False
        sid = o.sid or o.file_sid
        is_joiner = o.file_class in ("joining", "joining-outdated") and self.leader is not None and self._unlisted(sid)
        is_blank = not o.running and (
            o.file_class in ("none", "empty") or (o.file_class in _NEVER_STARTS and self._unlisted(o.file_sid))
        )
        return (is_blank or is_joiner or self._is_failed_join(o)) and member.address not in self.listed.values()

    def _is_failed_join(self, o: Observation) -> bool:
        """Whether it was to join under an address that nobody declares any more. The leader lists neither its id nor its address."""
        member = self.record.members.get(o.member)
        return (
            o.file_class == "foreign-address"
            and not o.connected
            and self.leader is not None
            and (o.file_sid is None or self._unlisted(o.file_sid))
            and (
                member is None
                or (
                    member.state in ("expected", "replacing")
                    and (member.sid == o.file_sid or self._unlisted(member.sid))
                )
            )
        )

    def _has_joined_again(self, o: Observation) -> bool:
        """Whether a member lost its disk and joined under another id: its copy of the record was older and still expected it.

        The leader lists that id under the member's own address, so it is no copy of another member; the old id is a ghost from now on.
        """
        member = self.record.members.get(o.member)
        return (
            member is not None
            and member.state in ("confirmed", "replacing")
            and o.connected
            and o.sid != member.sid
            and self._listed_address(o.sid) == member.address
            and all(other.sid != member.sid for other in self.seen.values())
        )

    def _is_recorded_elsewhere(self, o: Observation) -> bool:
        return o.file_class == "foreign-address" and self._is_listed_as_declared(o)

    def _is_listed_as_declared(self, o: Observation) -> bool:
        """Whether the leader lists this server under the address that is declared: then another one in the record is not its own."""
        return o.connected and self._listed_address(o.sid) == self.run.declared[o.member]

    def _joined_while_held_back(self, o: Observation, member: Member) -> bool:
        """Without a leader only the file tells that a member joined before the record held it back; it starts from there."""
        return (
            self.leader is None
            and member.state == "replacing"
            and not o.running
            and o.file_class == "member"
            and o.file_sid != member.sid
        )

    def _has_old_copy(self, o: Observation) -> bool:
        """Whether only an older copy of the record on its host calls its server id foreign. It is written again."""
        member = self.record.members.get(o.member)
        return (
            o.file_class == "foreign-sid"
            and member is not None
            and member.sid == (o.sid or o.file_sid)
            and o.recorded != self.record
        )

    def _takes_part(self, o: Observation, member: Member) -> bool:
        """Whether a member that is expected or being replaced takes part already, so that it only has to be confirmed.

        The id that was given up counts only where the leader lists it: then it was never removed, and its file is as good as any.
        """
        if member.state not in ("expected", "replacing"):
            return False
        sid = o.sid if o.running else o.file_sid
        listed = self.leader is not None and not self._unlisted(sid) and sid is not None
        if o.lost:  # a member all the same, whose file was removed before anybody noted that it had joined
            return member.state == "expected" and member.sid != sid and o.connected and listed
        if o.connected and sid != member.sid:
            return member.state == "expected" or listed
        if o.running:
            return o.connected and listed
        return (
            o.file_class == "member" and listed and (sid == member.sid or self._listed_address(sid) == member.address)
        )

    def _listed_address(self, sid: str | None) -> str | None:
        """The address under which the leader lists this server, None if it does not."""
        return self.listed.get(sid[:4]) if sid else None

    def _unlisted(self, sid: str | None) -> bool:
        """The leader says that `sid` is no member. Without a leader nothing is known."""
        return self.leader is not None and (sid is None or sid[:4] not in self.listed)

    # --- what others remember --------------------------------------------------------------------------------------------

    def _compare_with_witnesses(self) -> Step | None:
        """R25: the leader's log holds every entry that a member of today is known to have committed, else writes were lost.

        Observations are not made at one moment, so a witness may be ahead of the leader's answer; not of the one a round later.
        """
        status = self._leader_status()
        if self.leader is None or status is None or self.is_contested or self.run.accept_rollback:
            return None
        known = [
            (index, o.member)
            for o in self.seen.values()
            for sid, index in o.witnesses.items()
            if sid[:4] in self.leader.listed
        ]
        index, witness = max(known, default=(0, ""))
        last = status.log_next - 1
        if index <= last:
            return None
        if self.history.ahead is not None and self.history.ahead > last:
            raise Refused(
                f"{self.run.database} lost acknowledged writes: {witness} remembers log entry {index}, and the log of the leader {self.leader.member} ends at "
                f"{last}. An old copy of a database was started. Nothing was changed. Restore a member that has the newer entries, or accept the loss "
                f"with {self.run.words.accept_rollback}."
            )
        self.ahead = index
        return Step(
            "wait", (self.leader.member,), f"compare the log of {self.run.database} with what {witness} remembers"
        )

    # --- one step --------------------------------------------------------------------------------------------------------

    def _step(self) -> Step | None:
        idle = [o for o in self.seen.values() if not o.running and self._starts_from_file(o)]
        able = [o.member for o in idle if not o.start_problem]
        if able:
            return Step(
                "start", tuple(able), f"start {self.run.database} on {', '.join(able)} from the files that are there"
            )
        step = self._without_leader() if self.leader is None else self._with_leader()
        if idle and (step is None or step.action == "wait"):
            raise Refused(
                f"{self.run.database} cannot start: "
                + "; ".join(f"on {o.member} {o.start_problem.rstrip('.')}" for o in idle)
                + ". Its file is kept. Correct that, then run again."
            )
        return step or self._await_starting()

    def _await_starting(self) -> Step | None:
        names = tuple(o.member for o in self.seen.values() if o.running and not o.connected and o.starting)
        words = f"wait for {', '.join(names)} to find the other members of {self.run.database}"
        return Step("wait", names, words) if names else None

    def _starts_from_file(self, o: Observation) -> bool:
        member = self.record.members.get(o.member)
        if member is None:  # declared since the record was written
            return False
        given_up = member.state == "expected" and member.sid is not None and member.sid == o.file_sid
        return o.file_class in STARTABLE and member.state in ("expected", "confirmed") and not given_up

    def _with_leader(self) -> Step | None:
        self._refuse_undeclared()
        for decide in (
            self._restart_disconnected,
            self._restart_alone,
            self._replace,
            self._evict_ghost,
            self._join,
            self._stop_lost,
            self._restart,
        ):
            step = decide()
            if step:
                if step.action == "wait":
                    # What it waits for may be a restart: corrected settings have to reach the others, too (R29).
                    with contextlib.suppress(Refused):
                        restart = self._restart()
                        step = restart if restart is not None and restart.action == "restart" else step
                if self.missing:
                    raise Unexamined(
                        f"{self.run.database} needs a change ({step.reason}), but {', '.join(self.missing)} could not be examined. "
                        f"{self.run.words.reach} Nothing was changed."
                    )
                return step
        return None

    def _without_leader(self) -> Step | None:
        self._refuse_undeclared()
        # A member that never joined has no vote: three of five that are declared may be all there are.
        voters = [name for name, m in self.record.members.items() if self._may_vote(name, m)]
        running = [o for o in self.seen.values() if o.running]
        able = [o for o in running if o.member in voters]
        quorum = majority(len(voters))
        if len(able) >= quorum:
            with_room = tuple(name for name in self.seen if name in self.failed and self.seen[name].restart_reason)
            if with_room:  # even if others cannot be examined: it costs nothing
                words = f"restart {self.run.database} on {', '.join(with_room)}: {_WRITE_FAILED}"
                return Step("restart", with_room, words)
            if len([o for o in able if o.member not in self.failed]) < quorum:
                for name in sorted(self.failed):
                    self._refuse_start_problem(self.seen[name])
            outdated = tuple(o.member for o in running if o.restart_reason and not o.lost)
            timers = [status.election_timer for o in running if (status := _status(o)) is not None]
            patience = 3 * max(timers, default=OVSDB_ELECTION_TIMER) / 1000 + _ELECTION_SLACK
            if outdated and self.run.restart and not self.missing and self.history.leaderless > patience:
                for name in outdated:
                    self._refuse_start_problem(self.seen[name])
                # All at once: nobody is served now, and one alone may not understand the others.
                words = f"restart {self.run.database} on {', '.join(outdated)}: no member leads, and the settings have changed"
                return Step("restart", outdated, words)
            doubtful = [o.member for o in self.seen.values() if self._has_foreign_sid(o)]
            why = f", which alone can tell whose file {', '.join(doubtful)} has" if doubtful else ""
            return Step(
                "wait", tuple(o.member for o in running), f"wait for {self.run.database} to elect a leader{why}"
            )
        if len(able) + len([name for name in self.missing if name in voters]) >= quorum:
            return None  # the members that were not examined may well lead
        lost = "; ".join(_lost(o) for o in self.seen.values() if not o.running) or "none"
        accept = ""
        classes = {o.file_class for o in self.seen.values()}
        if "outdated-copy" in classes:
            accept = (
                f", or start the old copies and accept the loss of what they lack with {self.run.words.accept_rollback}"
            )
        elif "other-disk" in classes:
            accept = f", or start the files on the other disks as they are with {self.run.words.accept_rollback}"
        raise Refused(
            f"{self.run.database} has no quorum: {len(able)} of {len(voters)} members can run, {quorum} are needed. Not running: {lost}. "
            f"Nothing is created or dropped by itself. Bring back a member with its file{accept}, or rebuild from a survivor or a backup."
        )

    def _may_vote(self, name: str, member: Member) -> bool:
        """Whether it is on record as a member, or its file is one's: a run may have ended before it noted the join."""
        if member.sid and member.state not in ("expected", "absent"):
            return True
        o = self.seen.get(name)
        return o is not None and o.file_class == "member" and member.state == "expected" and o.file_sid != member.sid

    def _gated(self, gate: str, member: str | None, step: Step) -> Step:
        """The step if its gate is open now, else a wait that says why."""
        why = self.gate(gate, list(self.seen.values()), member)
        if gate == "may_stop" and not why:
            why = self._disks_full(member)
        return Step("wait", step.members, f"{step.reason}: {why}{self._disks_missing()}") if why else step

    def _disks_missing(self) -> str:
        """What closed gates may wait for: a member whose disk is not mounted does not come back by itself."""
        away = [o for o in self.seen.values() if o.file_class == DISK_MISSING and not o.running]
        # An adopted record does not know the id, but the leader's list has the address.
        listed = [o for o in away if self._old_sid(o, self.record.members[o.member])]
        if not listed:
            return ""
        return f"; {'; '.join(map(_lost, listed))}. Mount its disk, or accept the loss with {self.run.words.accept_lost_disk}"

    def _disks_full(self, member: str | None) -> str:
        """Why nobody could write without this member, empty if the others can: a server with a full disk answers as before, and keeps nothing."""
        others = [o for o in self.seen.values() if o.member != member and o.connected]
        full = [o.member for o in others if o.free_bytes is not None and o.free_bytes < _LEAST_FREE]
        if not full or len(others) - len(full) >= majority(len(self.listed)):
            return ""
        return f"the disk of {', '.join(full)} is full, so too few members could write without {member}"

    def _restart_disconnected(self) -> Step | None:
        """A running member that takes no part costs nothing when it restarts, and corrected settings reach it only so (R29)."""
        # Members before joiners: nobody joins while a member is away (R6).
        for o in sorted(self.seen.values(), key=lambda o: self.record.members[o.member].state == "expected"):
            state = self.record.members[o.member].state
            # A joiner has nothing to lose.
            keeps = not o.lost or (state == "expected" and self._unlisted(o.sid))
            keeps = keeps and o.file_class != DISK_MISSING
            is_due = o.restart_reason and (self.run.restart or o.member in self.failed)
            if o.running and not o.connected and is_due and keeps and state in ("expected", "confirmed"):
                return self._restart_of(o)
        return None

    def _restart_alone(self) -> Step | None:
        """A leader without followers has to get corrected settings before anybody can join it (R29).

        No client has its endpoints before all members have joined once. Afterwards the restart of the only member is an outage.
        """
        leader = self.leader
        if (
            leader is None
            or leader.lost
            or not leader.restart_reason
            or not self.run.restart
            or len(leader.listed) != 1
        ):
            return None
        if len(self.record.members) == 1 or not (self.run.allow_outage or not self.record.formed):
            return None
        return self._restart_of(leader)

    def _kick(self, sid: str, what: str) -> Step | None:
        """The removal of a server id that is nobody's any more; None if another member lives under it, which then is no reason to wait."""
        if self.leader is None:
            raise AssertionError("only asked for when there is a leader")
        if any(o.connected and o.sid and o.sid[: len(sid)] == sid for o in self.seen.values()):
            return None
        step = Step("kick", (self.leader.member,), f"remove {what} from {self.run.database}", sid=sid)
        if sid[:4] in self._heard():
            return Step("wait", step.members, f"{step.reason}: the leader has heard it a moment ago")
        return self._gated("may_remove", sid, step)

    def _replace(self) -> Step | None:
        """A member whose disk is lost, or that the cluster no longer lists: its old server id is removed before it joins again.

        It stays in the record with its old id and as `expected`: that tells the launcher which file is given up.
        """
        if self.leader is None:
            raise AssertionError("only asked for when there is a leader")
        where = f"{self.run.database} on"
        for o in self.seen.values():
            if o.member in self.missing or o.file_class == DISK_MISSING:
                continue
            member = self.record.members[o.member]
            if (
                member.state == "expected"
                and not o.running
                and (o.file_class in _NEVER_STARTS or self._is_failed_join(o))
            ):
                step = self._give_up_file(o, member)
                if step:
                    return step
            member = self._outcast(o, member)
            zombie = member.state == "confirmed" and o.running and not o.connected and self._unlisted(member.sid)
            if not (member.state == "replacing" or (member.state == "confirmed" and (o.lost or zombie))):
                continue
            if o.running and o.connected and not self._is_spare(o):
                if any(m.state == "expected" for m in self.record.members.values()):
                    self.warnings.append(
                        f"{where} {o.member}: its file is gone, and the server goes on in memory until others have taken its data over. "
                        "Do not stop it before."
                    )
                    continue
                if len(self.leader.listed) == 1:
                    raise Refused(
                        f"{self.run.database} on {o.member}: its file is gone, and the only copy of the data is in the memory of the running server. Nothing "
                        "was changed. Let the server write it again with ovsdb-server/compact (ovs-appctl), then run again."
                    )
            step = Step("stop", (o.member,), f"stop {where} {o.member}: it has to join again")
            unsettled = self._unsettled() if zombie and not o.lost else ""
            if unsettled:
                self.due_stop = self.due_stop or Step("wait", step.members, f"{step.reason}: {unsettled}")
                continue
            self.record = self.record.with_member(o.member, state="replacing")
            old_sid = self._old_sid(o, member)
            listed = not self._unlisted(old_sid)
            if o.running:
                stop = self._gated("may_stop", o.member, step) if listed else step
                if stop.action == "stop":
                    return stop
                self.due_stop = self.due_stop or stop
                continue  # other members can be replaced meanwhile, and may be what it waits for
            if listed and old_sid:
                kick = self._kick(old_sid, f"the lost member {o.member} ({old_sid})")
                if kick is None:
                    raise Refused(
                        f"{self.run.database}: the server {old_sid} of {o.member} answers on another host: its disk was moved or copied there. Nothing was "
                        "changed. Put the disk back, or stop that server and move its file away, then run again."
                    )
                return kick
            # What never starts has to be named as given up, or the launcher waits for the run.
            given_up = (o.file_sid or member.sid or NO_SID) if o.file_class in _NEVER_STARTS else member.sid
            self.record = self.record.with_member(o.member, state="expected", sid=given_up)
        return None

    def _unsettled(self) -> str:
        """Why the leader's list may not last, empty if it will: with a removal that is not committed, the next leader has the member again."""
        seen = list(self.seen.values())
        return self.gate("one_leader", seen, None) or self.gate("quiet", seen, None)

    def _stop_lost(self) -> Step | None:
        return self.due_stop

    def _is_spare(self, o: Observation) -> bool:
        """Whether the others are a majority of the leader's list."""
        others = [x for x in self.seen.values() if x is not o and x.connected and x.sid and x.sid[:4] in self.listed]
        return len(others) >= majority(len(self.listed))

    def _old_sid(self, o: Observation, member: Member) -> str | None:
        """The server id that has to leave the list before this member joins again, None if there is none.

        A record that was lost, or a file that was copied from another member, leaves the right one to be found by its address.
        """
        others = self._sids_of_others(o)
        if member.sid and member.sid not in others and not self._unlisted(member.sid):
            return member.sid
        taken = {sid[:4] for sid in others} | {x.sid[:4] for x in self.seen.values() if x is not o and x.sid}
        return next(
            (short for short, address in self.listed.items() if address == member.address and short not in taken), None
        )

    def _sids_of_others(self, o: Observation) -> set[str]:
        """Return the server ids that the record gives to other members, those excepted that are given up."""
        members = self.record.members.items()
        return {m.sid for name, m in members if name != o.member and m.state != "expected" and m.sid}

    def _outcast(self, o: Observation, member: Member) -> Member:
        """Whether an expected member that runs was a member once and is none any more: a joiner has no list with itself in it (R26)."""
        is_outcast = (
            member.state == "expected"
            and o.running
            and not o.connected
            and (o.file_class == "left" or (o.file_class == "member" and o.sid is not None and self._unlisted(o.sid)))
            and not self._unsettled()
        )
        if is_outcast:
            self.record = self.record.with_member(o.member, state="replacing", sid=o.sid or o.file_sid or member.sid)
        return self.record.members[o.member]

    def _give_up_file(self, o: Observation, member: Member) -> Step | None:
        """A file that never starts. The launcher moves it aside once the record names its server id."""
        if self.leader is None:
            raise AssertionError("only asked for when there is a leader")
        is_copy = o.file_sid in self._sids_of_others(o)
        if o.file_sid and not is_copy and not self._unlisted(o.file_sid):
            kick = self._kick(o.file_sid, f"{o.file_sid}, the cut-off join of {o.member},")
            if kick is not None:
                return kick
        self.record = self.record.with_member(o.member, sid=o.file_sid or member.sid or NO_SID)
        return None

    def _evict_ghost(self) -> Step | None:
        """A server id in the leader's list that nobody has: left behind when a member was re-created without being removed first."""
        if self.leader is None:
            raise AssertionError("only asked for when there is a leader")
        if self.missing:
            return None
        owned = {sid[:4] for o in self.seen.values() for sid in (o.sid, o.file_sid) if sid}
        owned |= {m.sid[:4] for m in self.record.members.values() if m.sid}
        anonymous = any(
            o.sid is None
            and (o.running or (o.file_class == DISK_MISSING and self.record.members[o.member].sid is None))
            for o in self.seen.values()
        )
        heard = self._heard()
        for short, address in sorted(self.leader.listed.items()):
            if short not in owned and not anonymous and short not in heard:
                return self._kick(short, f"the ghost {short} at {address}")
        return None

    def _refuse_undeclared(self) -> None:
        """A member that this run does not know of: what is decided without it may be wrong. One that leads is named by those that follow it."""
        listed = dict(self.listed)
        if self.leader is None:
            for status in (_status(o) for o in self.seen.values() if o.connected):
                listed |= {
                    s.sid: s.address
                    for s in (status.servers if status else ())
                    if status and s.sid == status.leader_sid
                }
        known = {sid[:4] for o in self.seen.values() for sid in (o.sid, o.file_sid) if sid}
        known |= {m.sid[:4] for m in self.record.members.values() if m.sid}
        for short, address in sorted(listed.items()):
            if short not in known and address not in self.run.declared.values():
                state = "living" if short in self._heard() or self.leader is None else "silent"
                raise Refused(undeclared_member(self.run, f"{state} member {short}", address))

    def _leader_status(self) -> ClusterStatus | None:
        return _status(self.leader) if self.leader is not None else None

    def _heard(self) -> set[str]:
        """Server ids, four digits, that the leader has heard of lately."""
        status = self._leader_status()
        limit = freshness(status.election_timer) if status else 0
        return {
            s.sid for s in (status.servers if status else ()) if s.last_message is not None and s.last_message < limit
        }

    def _join(self) -> Step | None:
        for o in self.seen.values():
            if o.member in self.missing or self.record.members[o.member].state != "expected":
                continue
            if not o.running and o.file_class == DISK_MISSING:
                continue
            if not o.running:
                self._refuse_start_problem(o)
                step = Step("start", (o.member,), f"join {o.member} to {self.run.database}")
                return self._gated("may_add", None, step)
            if not o.connected:
                words = f"wait for {o.member} to finish joining {self.run.database}"
                alone = self.leader if len(self.listed) == 1 else None
                if alone is not None and alone.restart_reason and not alone.lost:
                    words += (
                        f": {alone.member} leads alone and has to restart, because {alone.restart_reason}. That is an outage, "
                        f"so it needs {self.run.words.outage}"
                    )
                return Step("wait", (o.member,), words)
        return None

    def _restart(self) -> Step | None:
        """Members that lag first, the leader last, looked up again each time."""
        # One whose file is gone would come back without data.
        due = [o for o in self.seen.values() if o.restart_reason and o.running and not o.lost]
        if not due or not self.run.restart:
            if due:
                self.warnings.append(
                    f"{self.run.database}: a restart is due on {', '.join(o.member for o in due)} ({due[0].restart_reason})."
                )
            return None
        target = min(due, key=lambda o: (o.leader, -self._lag(o)))
        step = self._restart_of(target)
        if len(self.record.members) == 1:
            if self.run.allow_outage:
                return step
            self.warnings.append(
                f"{step.reason}; with one member this is an outage, so it waits for {self.run.words.outage}."
            )
            return None
        return self._gated("may_stop", target.member, step)

    def _restart_of(self, o: Observation) -> Step:
        """Return the restart of one member; `Refused` if it would not come back."""
        self._refuse_start_problem(o)
        return Step("restart", (o.member,), f"restart {self.run.database} on {o.member}: {o.restart_reason}")

    def _refuse_start_problem(self, o: Observation) -> None:
        """R33: nothing is stopped that would not come back, and nothing joins with an address that is not its own."""
        problem = o.file_reason if o.file_class == DISK_MISSING else o.start_problem
        if problem:
            raise Refused(
                f"{self.run.database} on {o.member} is not {'restarted' if o.running else 'started'}: it would not come back. "
                f"{problem.rstrip('.')}. Correct that, then run again."
            )

    def _lag(self, o: Observation) -> int:
        """Log entries that the leader has and this member has not; as many as possible where nobody knows."""
        status = self._leader_status()
        listed = next((s for s in status.servers if o.sid and s.sid == o.sid[:4]), None) if status else None
        if status is None or listed is None or listed.match_index is None:
            return 0 if o.leader else 1 << 62
        return max(0, status.log_next - 1 - listed.match_index)


def _status(o: Observation) -> ClusterStatus | None:
    return o.said.status if o.said else None


def _lost(o: Observation) -> str:
    """A member that does not run, with what is known of its file."""
    if o.file_class == "outdated-copy" and o.last_index is not None:
        return f"{o.member} (an old copy: its log ends at entry {o.last_index} of term {o.last_term}, the member had entry {o.witness_index} or a later term)"
    if o.file_class == DISK_MISSING:
        return f"{o.member} ({o.file_reason.rstrip('.')})"
    known = f", log entry {o.last_index}" if o.last_index is not None else ""
    return f"{o.member} ({o.file_class}{known})"
