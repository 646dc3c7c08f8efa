# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

What a run does next with a cluster that is on record: confirm, start, replace, join, restart; one step a round, the most urgent first. Pure.
"""

from __future__ import annotations

import typing as t

from .._errors import Refused
from .answer import Answer
from .observation import STARTABLE, Observation
from .record import Member, Record, parse_record
from .step import Gate, Round, Run, Step, cluster_ids, next_revision, refuse_unusable_files, split_message, unexamined
from .view import freshness

# Files that the launcher neither starts nor moves aside by itself. It gives one up when the record names its server id as given up.
_NEVER_STARTS = frozenset({"dead-join", "broken", "joining-outdated", "unidentifiable"})
# Stands in the record for the id of a file from which none can be read.
_NO_SID = "00000000-0000-0000-0000-000000000000"


class Maintenance:
    """A recorded cluster: confirm, start, replace, join, restart; one step a round, the most urgent first."""

    def __init__(self, run: Run, record: Record, seen: list[Observation], gate: Gate, *, changed: bool = False) -> None:
        self.run, self.record, self.gate, self.changed = run, record, gate, changed
        self.seen = {o.member: o for o in seen}
        self.missing = unexamined(run, seen)
        self.leader = next((o for o in seen if o.leader and o.connected), None)
        self.warnings: list[str] = []

    def round(self) -> Round:
        self._refuse_strangers()
        before = self.record
        unknown = [o.member for o in self.seen.values() if o.file_class == "unexamined"]
        if unknown:
            self.warnings.append(
                f"{self.run.database}: {', '.join(unknown)} has a file, but no launcher to examine it; what follows is known once it is installed."
            )
        self._update_members()
        step = self._step()
        # Not by revision: two runs with different parts of the hosts may each have written the same number.
        stale = any(o.record is None or parse_record(o.record) != before for o in self.seen.values())
        written = next_revision(self.record) if self.changed or stale or self.record != before else None
        return Round(written, step, tuple(self.warnings))

    def _refuse_strangers(self) -> None:
        cid = t.cast(str, self.record.cid)
        others = {other: members for other, members in cluster_ids(list(self.seen.values())).items() if other != cid}
        if others:
            raise Refused(split_message(self.run, {cid: ["the state record"], **others}))
        refuse_unusable_files(self.run, list(self.seen.values()))

    def _update_members(self) -> None:
        for name, address in self.run.declared.items():
            if name not in self.record.members:
                self.record = self.record.replace(members={**self.record.members, name: Member(address)})
        for o in self.seen.values():
            member = self.record.members[o.member]
            if member.state == "expected" and o.connected and o.sid != member.sid and not o.lost:
                self.record = self.record.with_member(o.member, state="confirmed", sid=o.sid)

    def _unlisted(self, sid: str | None) -> bool:
        """The leader says that `sid` is no member. Without a leader nothing is known."""
        return self.leader is not None and (sid is None or sid[:4] not in self.leader.listed)

    def _step(self) -> Step | None:
        idle = [o.member for o in self.seen.values() if not o.running and self._starts_from_file(o)]
        if idle:
            return Step(
                "start", tuple(idle), f"start {self.run.database} on {', '.join(idle)} from the files that are there"
            )
        if self.leader is None:
            return self._without_leader()
        for decide in (self._replace, self._evict_ghost, self._join, self._restart):
            step = decide()
            if step:
                if self.missing:
                    raise Refused(
                        f"{self.run.database} needs a change ({step.reason}), but {', '.join(self.missing)} could not be examined. "
                        f"{self.run.words.reach} Nothing was changed."
                    )
                return step
        return None

    def _starts_from_file(self, o: Observation) -> bool:
        member = self.record.members[o.member]
        given_up = member.state == "expected" and member.sid is not None and member.sid == o.file_sid
        return o.file_class in STARTABLE and member.state in ("expected", "confirmed") and not given_up

    def _without_leader(self) -> Step | None:
        running = [o.member for o in self.seen.values() if o.running]
        quorum = len(self.record.members) // 2 + 1
        if len(running) >= quorum:
            return Step("wait", tuple(running), f"wait for {self.run.database} to elect a leader")
        if len(running) + len(self.missing) >= quorum:
            return None  # the members that were not examined may well lead
        lost = ", ".join(f"{o.member} ({o.file_class})" for o in self.seen.values() if not o.running) or "none"
        raise Refused(
            f"{self.run.database} has no quorum: {len(running)} of {len(self.record.members)} members can run, {quorum} are needed; lost: {lost}. "
            "Nothing is created or dropped by itself. Bring back a member with its file, or rebuild from a survivor or a backup."
        )

    def _gated(self, gate: str, member: str | None, step: Step) -> Step:
        """The step if its gate is open now, else a wait that says why."""
        why = self.gate(gate, list(self.seen.values()), member)
        return Step("wait", step.members, f"{step.reason}: {why}") if why else step

    def _replace(self) -> Step | None:
        """A member whose disk is lost, or that the cluster no longer lists: out with the old server id before it joins anew.

        It stays in the record with its old id and as `expected`: that tells the launcher which file is given up.
        """
        if self.leader is None:
            raise AssertionError("only asked for when there is a leader")
        where = f"{self.run.database} on"
        for o in self.seen.values():
            member = self.record.members[o.member]
            if member.state == "expected" and o.file_class in _NEVER_STARTS and not o.running:
                step = self._give_up_file(o, member)
                if step:
                    return step
            zombie = member.state == "confirmed" and o.running and not o.connected and self._unlisted(member.sid)
            if not (member.state == "replacing" or (member.state == "confirmed" and (o.lost or zombie))):
                continue
            self.record = self.record.with_member(o.member, state="replacing")
            listed = not self._unlisted(member.sid)
            if o.running:
                step = Step("stop", (o.member,), f"stop {where} {o.member}: it has to join anew")
                return self._gated("may_stop", o.member, step) if listed else step
            if listed:
                old = f"the lost member {o.member} ({member.sid})"
                step = Step("kick", (self.leader.member,), f"remove {old} from {self.run.database}", sid=member.sid)
                return self._gated("may_remove", o.member, step)
            self.record = self.record.with_member(o.member, state="expected")
        return None

    def _give_up_file(self, o: Observation, member: Member) -> Step | None:
        """A join that was cut off: its file never starts. The launcher moves it aside once the record names its server id."""
        if self.leader is None:
            raise AssertionError("only asked for when there is a leader")
        if o.file_sid and not self._unlisted(o.file_sid):
            cut_off = f"{o.file_sid}, the cut-off join of {o.member}"
            step = Step("kick", (self.leader.member,), f"remove {cut_off}, from {self.run.database}", sid=o.file_sid)
            return self._gated("may_remove", o.member, step)
        self.record = self.record.with_member(o.member, sid=o.file_sid or member.sid or _NO_SID)
        return None

    def _evict_ghost(self) -> Step | None:
        """A server id in the leader's list that nobody has: left behind when a member was re-created without being removed first."""
        if self.leader is None:
            raise AssertionError("only asked for when there is a leader")
        if self.missing:
            return None
        owned = {sid[:4] for o in self.seen.values() for sid in (o.sid, o.file_sid) if sid}
        owned |= {m.sid[:4] for m in self.record.members.values() if m.sid}
        joining = any(o.running and not o.connected for o in self.seen.values())
        heard = self._heard()
        for short, address in sorted(self.leader.listed.items()):
            if short not in owned and address not in self.run.declared.values():
                state = "living" if short in heard else "silent"
                raise Refused(
                    f"{self.run.database} has a {state} member {short} at {address} that {self.run.words.declaration} does not name. "
                    f"{self.run.words.own}, or remove it with cluster/leave or cluster/kick. Nothing was changed."
                )
            if short not in owned and not joining:
                step = Step(
                    "kick",
                    (self.leader.member,),
                    f"remove the ghost {short} at {address} from {self.run.database}",
                    sid=short,
                )
                return self._gated("may_remove", None, step)
        return None

    def _heard(self) -> set[str]:
        """Server ids, four digits, that the leader has heard of lately."""
        status = Answer.from_dict(self.leader.answer).status if self.leader and self.leader.answer else None
        limit = freshness(status.election_timer) if status else 0
        return {
            s.sid for s in (status.servers if status else ()) if s.last_message is not None and s.last_message < limit
        }

    def _join(self) -> Step | None:
        for o in self.seen.values():
            if self.record.members[o.member].state == "expected" and not o.running:
                return self._gated(
                    "may_add", None, Step("start", (o.member,), f"join {o.member} to {self.run.database}")
                )
            if self.record.members[o.member].state == "expected" and not o.connected:
                return Step("wait", (o.member,), f"wait for {o.member} to finish joining {self.run.database}")
        return None

    def _restart(self) -> Step | None:
        """Followers first, the leader last; looked up anew each time."""
        due = [o for o in self.seen.values() if o.restart_reason and o.running]
        if not due or not self.run.restart:
            if due:
                self.warnings.append(
                    f"{self.run.database}: a restart is due on {', '.join(o.member for o in due)} ({due[0].restart_reason})."
                )
            return None
        target = min(due, key=lambda o: o.leader)
        step = Step(
            "restart", (target.member,), f"restart {self.run.database} on {target.member}: {target.restart_reason}"
        )
        if len(self.record.members) == 1:
            if self.run.allow_outage:
                return step
            self.warnings.append(
                f"{step.reason}; with one member this is an outage, so it waits for {self.run.words.outage}."
            )
            return None
        return self._gated("may_stop", target.member, step)
