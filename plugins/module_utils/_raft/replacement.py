# SPDX-License-Identifier: GPL-3.0-or-later
"""Members that have to join again, or that give way to a new one, and server ids without a member (ghosts): stop, remove from the list, join. Pure."""

from __future__ import annotations

import dataclasses

from .._base.errors import Refused
from .gates import Name
from .observation import DISK_MISSING, Observation
from .record import NO_SID, Member
from .recorded_cluster import NEVER_STARTS, RecordedCluster
from .step import Step
from .step_gates import StepGates


class Replacement:
    """Needs a leader. `pending_stop` is the stop of a running member without a file: it waits for the others, so it comes last."""

    def __init__(self, cluster: RecordedCluster, steps: StepGates) -> None:
        self.cluster, self.steps = cluster, steps
        self.pending_stop: Step | None = None

    def _kick(self, sid: str, what: str) -> Step | None:
        """Return the removal of a server id without a member; None if another member has it, which is no reason to wait."""
        if self.cluster.leader is None:
            raise AssertionError("only asked for when there is a leader")
        if any(o.connected and o.sid and o.sid[: len(sid)] == sid for o in self.cluster.observations.values()):
            return None
        step = Step("kick", (self.cluster.leader.member,), f"remove {what} from {self.cluster.database}", sid=sid)
        if sid[:4] in self.cluster.heard_sids():
            return Step("wait", step.members, f"{step.reason}: the leader has heard it a moment ago")
        return self.steps.gated("may_remove", sid, step)

    def replace(self) -> Step | None:
        """Return the next step for a member whose disk is lost, or that the cluster no longer lists: its old server id is removed before it joins again.

        It stays in the record with its old id and as `expected`: so the launcher knows which file is given up.
        """
        if self.cluster.leader is None:
            raise AssertionError("only asked for when there is a leader")
        where = f"{self.cluster.database} on"
        for o in self.cluster.observations.values():
            if o.member in self.cluster.missing or o.file_class == DISK_MISSING:
                continue
            member = self.cluster.record.members[o.member]
            if (
                member.state == "expected"
                and not o.running
                and (o.file_class in NEVER_STARTS or self.cluster.is_failed_join(o))
            ):
                step = self._give_up_file(o, member)
                if step:
                    return step
            member = self._note_outcast(o, member)
            # A server that was removed calls itself connected until its first attempt to be elected has failed.
            takes_part = o.connected and not (self.cluster.listed and self.cluster.is_unlisted(o.sid))
            zombie = (
                member.state == "confirmed"
                and o.running
                and not takes_part
                and (self.cluster.is_unlisted(member.sid) or self._is_replaced(o, member))
            )
            if not (member.state == "replacing" or (member.state == "confirmed" and (o.is_lost or zombie))):
                continue
            if o.running and o.connected and not self.cluster.is_dispensable(o):
                if any(m.state == "expected" for m in self.cluster.record.members.values()):
                    if o.is_lost:
                        self.cluster.warnings.append(
                            f"{where} {o.member}: its file is gone, and the server goes on in memory until others have taken its data over. "
                            "Do not stop it before."
                        )
                    continue
                if len(self.cluster.leader.listed) == 1:
                    raise Refused(
                        f"{self.cluster.database} on {o.member}: its file is gone, and the only copy of the data is in the memory of the running server. "
                        "Nothing was changed. Let the server write it again with ovsdb-server/compact (ovs-appctl), then run again."
                    )
            step = Step("stop", (o.member,), f"stop {where} {o.member}: it has to join again")
            unsettled = self.steps.unsettled() if zombie and not o.is_lost else ""
            if unsettled:
                self.pending_stop = self.pending_stop or Step("wait", step.members, f"{step.reason}: {unsettled}")
                continue
            self.cluster.record = self.cluster.record.with_member(o.member, state="replacing")
            old_sid = self.cluster.old_sid(member)
            listed = not self.cluster.is_unlisted(old_sid)
            if o.running:
                # What ends is the server that runs; after another join that is not the one on record.
                running_sid = o.sid or (o.file_sid if o.file_class == "left" else old_sid)
                costs = not self.cluster.is_unlisted(running_sid)
                stop = self.steps.gated("may_stop", o.member, step) if costs else step
                if stop.action == "stop":
                    return stop
                self.pending_stop = self.pending_stop or stop
                continue  # other members can be replaced meanwhile, and may be what it waits for
            if listed and old_sid:
                kick = self._kick(old_sid, f"the lost member {o.member} ({old_sid})")
                if kick is None:
                    raise Refused(
                        f"{self.cluster.database}: the server {old_sid} of {o.member} answers on another host: its disk was moved or copied there. "
                        "Nothing was changed. Put the disk back, or stop that server and move its file away, then run again."
                    )
                return kick
            # What never starts has to be named as given up, or the launcher waits for the run.
            given_up = (o.file_sid or member.sid or NO_SID) if o.file_class in NEVER_STARTS else member.sid
            self.cluster.record = self.cluster.record.with_member(o.member, state="expected", sid=given_up)
        return None

    def _members_to_replace(self) -> list[Observation]:
        members, observations = self.cluster.record.members, self.cluster.observations.values()
        due = [o for o in observations if o.replace_reason and o.running and members[o.member].state == "confirmed"]
        return [o for o in due if o.connected or o.write_failed]  # any other one may take part again

    def _not_taking_part(self, besides: Observation) -> list[str]:
        members = self.cluster.record.members
        others = (o for o in self.cluster.observations.values() if o is not besides)
        return [o.member for o in others if not (o.connected and members[o.member].state == "confirmed")]

    def replace_running(self) -> Step | None:
        """Return the stop of one member that gives way to a new one on its host: one that will not write again first, then followers.

        From here on it is `replacing`, as after the loss of a disk (R5): its server id is removed before the new member joins. So whatever starts the old
        one again has an id that the cluster does not list, and its file, however old, is never that of a member (R8).
        """
        members, observations = self.cluster.record.members, self.cluster.observations
        due = self._members_to_replace()
        if not due:
            return None
        if len(self.cluster.record.present) == 1 or (len(self.cluster.listed) == 1 and not self.cluster.missing):
            raise Refused(
                f"{self.cluster.database} on {due[0].member}: {due[0].replace_reason}, and it is the only member, so no other one has its data for a new one. "
                'Nothing was changed. Take it over while nothing writes: see "A cluster of one in a container" in docs/adopt.md.'
            )
        target = min(due, key=lambda o: (o.connected, o.leader, -self.cluster.lag(o)))
        if target.leader and self.cluster.run.restart and any(o.restart_reason for o in observations.values()):
            return None  # the leader comes last
        step = Step(
            "stop", (target.member,), f"replace {self.cluster.database} on {target.member}: {target.replace_reason}"
        )
        others = self._not_taking_part(besides=target)
        if target.connected and others:
            return dataclasses.replace(
                step,
                action="wait",
                reason=f"{step.reason}: {', '.join(others)} takes no part in the cluster{self.steps.advise()}",
            )
        # Until the new one has joined, the cluster has a member less: each step of that has to be possible now.
        old_sid = self.cluster.old_sid(members[target.member])
        gates: list[tuple[Name, str | None]] = [("may_stop", target.member), ("may_remove", old_sid)]
        for gate, member in [("may_add", None), *gates] if target.connected else gates:
            step = self.steps.gated(gate, member, step)
            if step.action == "wait":
                return step
        self.cluster.record = self.cluster.record.with_member(target.member, state="replacing")
        return step

    def _is_replaced(self, o: Observation, member: Member) -> bool:
        """Return whether another program has started the server that the recorded one replaced: its id is out of the list, while ours is down."""
        return bool(o.replace_reason) and o.sid not in (None, member.sid) and self.cluster.is_unlisted(o.sid)

    def _note_outcast(self, o: Observation, member: Member) -> Member:
        """Return the member, as `replacing` if it is expected and runs, but was a member once and is none any more (R26).

        A joiner has no list with itself in it.
        """
        is_outcast = (
            member.state == "expected"
            and o.running
            and not o.connected
            and (
                o.file_class in ("left", "none")  # whatever it was, what it joins with would be lost with it
                or (o.file_class == "member" and o.sid is not None and self.cluster.is_unlisted(o.sid))
            )
            and not self.steps.unsettled()
        )
        if is_outcast:
            self.cluster.record = self.cluster.record.with_member(
                o.member, state="replacing", sid=o.sid or o.file_sid or member.sid
            )
        return self.cluster.record.members[o.member]

    def _give_up_file(self, o: Observation, member: Member) -> Step | None:
        """Return the step that gives up a file that never starts: the launcher moves it aside once the record names its server id."""
        if self.cluster.leader is None:
            raise AssertionError("only asked for when there is a leader")
        # One that is listed elsewhere is a copy of another member's file, whatever the record knows of that one.
        if o.file_sid and self.cluster.listed_address(o.file_sid) == member.address:
            kick = self._kick(o.file_sid, f"{o.file_sid}, the cut-off join of {o.member},")
            if kick is not None:
                return kick
        self.cluster.record = self.cluster.record.with_member(o.member, sid=o.file_sid or member.sid or NO_SID)
        return None

    def remove_ghost(self) -> Step | None:
        """Return the removal of a ghost: a listed server id without a member, left when a member was recreated without being removed first."""
        if self.cluster.leader is None:
            raise AssertionError("only asked for when there is a leader")
        if self.cluster.missing:
            return None
        owned = {sid[:4] for o in self.cluster.observations.values() for sid in (o.sid, o.file_sid) if sid}
        owned |= {m.sid[:4] for m in self.cluster.record.members.values() if m.sid}
        observed = self.cluster.observations.values()
        anonymous = any(o.sid is None and o.running for o in observed)
        # On a disk that is away may be a file with an id that no run has seen.
        away = {self.cluster.record.members[o.member].address for o in observed if o.file_class == DISK_MISSING}
        heard = self.cluster.heard_sids()
        for short, address in sorted(self.cluster.leader.listed.items()):
            if short not in owned and not anonymous and short not in heard and address not in away:
                return self._kick(short, f"the ghost {short} at {address}")
        return None
