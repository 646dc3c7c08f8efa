# SPDX-License-Identifier: GPL-3.0-or-later
"""What a run does next with a cluster that is on record: confirm, start, replace, join, restart; one step a round, the most urgent first. Pure.

Progress (R29): a member that is broken or runs with settings of the past is handled before any gate that waits for it.
"""

from __future__ import annotations

import dataclasses

from .._base.databases import OVSDB_ELECTION_TIMER
from .._base.errors import Refused
from .cluster_witness import Entry, LogTerms
from .observation import DISK_MISSING, Observation
from .record import Record
from .recorded_cluster import WRITE_FAILED, RecordedCluster, describe_lost, status_of
from .recorded_members import refuse_strangers, refuse_undeclared, update_record
from .replacement import Replacement
from .step import Gate, History, Round, Run, Step, Unexamined, find_stopped, next_revision
from .step_gates import StepGates
from .view import majority

# Seconds. An election takes up to three timers, and a restart must not disturb one.
_ELECTION_SLACK = 2.0


class Maintenance:
    """A recorded cluster: confirm, start, replace, join, restart; one step a round, the most urgent first."""

    def __init__(
        self,
        run: Run,
        record: Record,
        observed: list[Observation],
        gate: Gate,
        history: History,
        *,
        changed: bool = False,
    ) -> None:
        self.cluster = RecordedCluster(run, record, observed)
        self.steps = StepGates(self.cluster, gate)
        self.replacement = Replacement(self.cluster, self.steps)
        self.history, self.changed = history, changed
        self.ahead: int | None = None

    def round(self) -> Round:
        refuse_strangers(self.cluster)
        before = self.cluster.record
        self._warn()
        update_record(self.cluster)
        updated = self.cluster.record
        refusal: Refused | None = None
        try:
            if self.history.refusal is not None:
                raise self.history.refusal
            step = self._compare_with_witnesses() or self._step()
        except Refused as e:
            if updated == before and not any(
                self.cluster.has_older_record(o) for o in self.cluster.observations.values()
            ):
                raise
            # Members that have joined are recorded even if nothing else can be done: the old server id is needed when a disk is lost.
            self.cluster.record, step, refusal = updated, None, e
        if step is not None:
            targets = {
                name: self.cluster.as_observed[name].target()
                for name in step.members
                if name in self.cluster.as_observed
            }
            step = dataclasses.replace(step, expects=targets)
        # Not by revision: two runs with different parts of the hosts may each have written the same number.
        stale = any(o.recorded is not before and o.recorded != before for o in self.cluster.observations.values())
        written = next_revision(self.cluster.record) if self.changed or stale or self.cluster.record != before else None
        return Round(
            written,
            step,
            tuple(self.cluster.warnings),
            recorded=before,
            stale_copies=stale or self.changed,
            ahead=self.ahead,
            refusal=refusal,
        )

    def _warn(self) -> None:
        unknown = [o.member for o in self.cluster.observations.values() if o.file_class == "unexamined"]
        if unknown:
            self.cluster.warnings.append(
                f"{self.cluster.database}: {', '.join(unknown)} has a file, but no launcher to examine it; what follows is known once it is installed."
            )
        for o in self.cluster.observations.values():
            if o.file_class == DISK_MISSING and o.running:
                self.cluster.warnings.append(
                    f"{self.cluster.database} on {o.member} runs, but would not start again: {o.file_reason}"
                )
            if o.member in self.cluster.failed and o.start_problem:
                self.cluster.warnings.append(
                    f"{self.cluster.database} on {o.member} stopped after a failed write, and is not restarted: it would not come back. "
                    f"{o.start_problem.rstrip('.')}. Free space on its disk, then run again."
                )

    def _compare_with_witnesses(self) -> Step | None:
        """Raise `Refused` if writes were lost: the leader's log must have every entry that a current member is known to have committed (R25).

        Observations are not made at one moment, so a witness may be ahead of the leader's answer; not of the one a round later.
        """
        status = self.cluster.leader_status()
        if (
            self.cluster.leader is None
            or status is None
            or self.cluster.is_contested
            or self.cluster.run.accept_rollback
        ):
            return None
        known = [
            (index, o.member)
            for o in self.cluster.observations.values()
            for sid, index in o.witnesses.items()
            if sid[:4] in self.cluster.leader.listed
        ]
        self._refuse_contradiction(self.cluster.leader)
        index, witness = max(known, default=(0, ""))
        last = status.log_next - 1
        if index <= last:
            return None
        if self.history.ahead is not None and self.history.ahead > last:
            raise Refused(
                f"{self.cluster.database} lost acknowledged writes: {witness} remembers log entry {index}, and the log of the leader "
                f"{self.cluster.leader.member} ends at {last}. An old copy of a database was started. This run changes nothing more. "
                f"Restore a member that has the newer entries, or accept the loss with {self.cluster.run.texts.accept_rollback}."
            )
        self.ahead = index
        return Step(
            "wait",
            (self.cluster.leader.member,),
            f"compare the log of {self.cluster.database} with what {witness} remembers",
        )

    def _refuse_contradiction(self, leader: Observation) -> None:
        """Raise `Refused` if the leader's log cannot hold a committed entry that a member remembers: newer writes do not hide the loss."""
        terms = leader.reported_answer.terms if leader.reported_answer is not None else LogTerms()
        for o in self.cluster.observations.values():
            entry = Entry(*o.witness_entry) if o.witness_entry is not None else None
            if entry is not None and not self.cluster.is_unlisted(o.sid or o.file_sid) and terms.contradicts(entry):
                remedy = "Mount the disk" if o.file_class == DISK_MISSING else "Keep the file"
                raise Refused(
                    f"{self.cluster.database} lost acknowledged writes: {o.member} remembers log entry {entry.log_index} of term {entry.term}, and the log of "
                    f"the leader {leader.member} has another one there. An old copy or a damaged file was started. This run changes nothing more. "
                    f"{remedy} of {o.member}, which may have the entry, or accept the loss with {self.cluster.run.texts.accept_rollback}."
                )

    def _step(self) -> Step | None:
        stopped = [
            o for o in self.cluster.observations.values() if not o.running and self.cluster.can_start_from_file(o)
        ]
        startable = [o.member for o in stopped if not o.start_problem]
        if startable:
            return Step(
                "start",
                tuple(startable),
                f"start {self.cluster.database} on {', '.join(startable)} from the files that are there",
            )
        step = self._without_leader() if self.cluster.leader is None else self._with_leader()
        waits = step is None or step.action == "wait"
        if self.cluster.undecided and waits and set(self._outdated_without_leader()).isdisjoint(self.cluster.voters()):
            raise Refused(self.cluster.undecided)
        if stopped and waits:
            raise Refused(
                f"{self.cluster.database} cannot start: "
                + "; ".join(f"on {o.member} {o.start_problem.rstrip('.')}" for o in stopped)
                + ". Its file is kept. Correct that, then run again."
            )
        return step or self._await_starting()

    def _await_starting(self) -> Step | None:
        names = tuple(
            o.member for o in self.cluster.observations.values() if o.running and not o.connected and o.starting
        )
        reason = f"wait for {', '.join(names)} to find the other members of {self.cluster.database}"
        return Step("wait", names, reason) if names else None

    def _refuse_failed(self) -> None:
        """Raise `Refused` if a quorum needs a member that would not come back after its failed write."""
        running = self.cluster.running()
        failed = [
            o
            for o in running
            if o.write_failed and (o.start_problem or o.file_class == DISK_MISSING) and not o.replace_reason
        ]
        if failed and not self.cluster.can_elect([o for o in running if o not in failed]):
            for o in failed:
                self.steps.refuse_start_problem(o)

    def _refuse_gone(self) -> None:
        """Raise `Refused` for a confirmed member that has to join again and would not start; not while a restart may bring back a leader."""
        running = self.cluster.running()
        if any(o.restart_reason and not o.connected and o.member not in self.cluster.failed for o in running):
            return
        lists = [o.listed for o in running if o.listed]
        for o in self.cluster.observations.values():
            is_removed = o.write_failed and o.sid is not None and all(o.sid[:4] not in listed for listed in lists)
            if (o.is_lost or is_removed) and self.cluster.record.members[o.member].state == "confirmed":
                self.steps.refuse_start_problem(o)

    def _with_leader(self) -> Step | None:
        refuse_undeclared(self.cluster)
        if not self.cluster.missing:  # who leads without a quorum does not notice at once
            self._refuse_failed()
            self._refuse_without_quorum()
        for decide in (
            self._restart_disconnected,
            self._restart_alone,
            self.replacement.replace,
            self.replacement.remove_ghost,
            self._join,
            self._stop_lost,
            self.replacement.replace_running,
            self._restart,
        ):
            step = decide()
            if step:
                if step.action == "wait":
                    # What it waits for may be a restart: corrected settings have to reach the others, too (R29).
                    try:
                        restart = self._restart()
                        step = restart if restart is not None and restart.action == "restart" else step
                    except Refused as e:
                        # The wait may end all the same; if it does not, the restart may be what is missing.
                        between, problem = ";" if ": " in step.reason else ":", str(e).partition(" Correct that,")[0]
                        step = dataclasses.replace(step, reason=f"{step.reason}{between} {problem.rstrip('.')}")
                self._refuse_unexamined(step.reason)
                return step
        return None

    def _refuse_unexamined(self, reason: str) -> None:
        if self.cluster.missing:
            raise Unexamined(
                f"{self.cluster.database} needs a change ({reason}), but {', '.join(self.cluster.missing)} could not be examined. "
                f"{self.cluster.run.texts.reach} Nothing was changed."
            )

    def _without_leader(self) -> Step | None:
        refuse_undeclared(self.cluster)
        self._refuse_without_quorum()
        running = self.cluster.running()
        if not self.cluster.can_elect(running):
            return None  # the members that were not examined may well lead
        with_room = tuple(
            name
            for name in self.cluster.observations
            if name in self.cluster.failed
            and self.cluster.observations[name].restart_reason
            and self.cluster.observations[name].file_class != DISK_MISSING
        )
        if with_room:  # even if others cannot be examined: it costs nothing
            reason = f"restart {self.cluster.database} on {', '.join(with_room)}: {WRITE_FAILED}"
            return Step("restart", with_room, reason)
        self._refuse_failed()
        for o in self.cluster.observations.values():
            if o.is_lost and self.cluster.record.members[o.member].state == "confirmed":
                self._refuse_unexamined(f"{o.member} has to join again")  # whoever is elected
        self._refuse_gone()
        outdated = self._outdated_without_leader()
        timers = [status.election_timer for o in running if (status := status_of(o)) is not None]
        patience = 3 * max(timers, default=OVSDB_ELECTION_TIMER) / 1000 + _ELECTION_SLACK
        if outdated and self.history.leaderless > patience:
            for name in outdated:
                self.steps.refuse_start_problem(self.cluster.observations[name])
            # All at once: no client is served now, and one alone may not understand the others.
            reason = f"restart {self.cluster.database} on {', '.join(outdated)}: no member leads, and the settings have changed"
            return Step("restart", outdated, reason)
        doubtful = [o.member for o in self.cluster.observations.values() if self.cluster.has_foreign_sid(o)]
        why = f", which alone knows whose file {', '.join(doubtful)} has" if doubtful else ""
        reason = f"wait for {self.cluster.database} to elect a leader{why}{self._advise_start()}"
        return Step("wait", tuple(o.member for o in running), reason)

    def _outdated_without_leader(self) -> tuple[str, ...]:
        """Return the members whose new settings may be what lets them elect a leader; a run restarts them if none leads for some time."""
        run = self.cluster.run
        # Those of an adoption are served, if at all, by what runs them now: one at a time or none.
        if self.cluster.leader is not None or self.cluster.missing or run.adopt or not run.restart:
            return ()
        return tuple(o.member for o in self.cluster.running() if o.restart_reason and not o.is_lost)

    def _refuse_without_quorum(self) -> None:
        """Raise `Refused` if nobody can lead. Who still calls itself leader has not noticed yet; a member that was not examined may lead alone by now."""
        running = self.cluster.running()
        if self.cluster.missing or self.cluster.can_elect(running):
            return
        votes, of = self.cluster.electorates(running)[0]
        gone = [o for o in self.cluster.observations.values() if not o.running or o.file_class == "left"]
        lost = "; ".join(map(describe_lost, gone)) or "none"
        accept = ""
        classes = {o.file_class for o in self.cluster.observations.values()}
        if "outdated-copy" in classes:
            accept = f", or start the old copies and accept the loss of what they lack with {self.cluster.run.texts.accept_rollback}"
        elif "other-disk" in classes:
            accept = (
                f", or start the files on the other disks as they are with {self.cluster.run.texts.accept_rollback}"
            )
        accept += self._advise_start()
        raise Refused(
            f"{self.cluster.database} has no quorum: {votes} of {of} members can run, {majority(of)} are needed. Missing: {lost}. "
            f"Nothing is created or dropped by itself, and no run rebuilds a cluster from one member or a backup. Bring back a member with its file{accept}."
        )

    def _advise_start(self) -> str:
        """Return what a person has to start if no leader is found, because no run does."""
        stopped = find_stopped(self.cluster.run, self.cluster.record, list(self.cluster.observations.values()))
        start = f"; if that lasts, start what ran {', '.join(stopped)}, which a run has stopped" if stopped else ""
        return f"{start}{self.steps.advise_restart()}"

    def _restart_disconnected(self) -> Step | None:
        """Return the restart of a running member that is not connected: it costs nothing, and corrected settings reach it only so (R29)."""
        # Members before joiners: no member joins while another is away (R6).
        for o in sorted(
            self.cluster.observations.values(), key=lambda o: self.cluster.record.members[o.member].state == "expected"
        ):
            state = self.cluster.record.members[o.member].state
            # A joiner has nothing to lose.
            keeps = not o.is_lost or (state == "expected" and self.cluster.is_unlisted(o.sid))
            keeps = keeps and o.file_class != DISK_MISSING
            is_due = o.restart_reason and (self.cluster.run.restart or o.member in self.cluster.failed)
            if o.running and not o.connected and is_due and keeps and state in ("expected", "confirmed"):
                return self.steps.restart_of(o)
        return None

    def _restart_alone(self) -> Step | None:
        """Return the restart of a leader without followers: corrected settings have to reach it before a member can join (R29).

        No client has its endpoints before all members have joined once. Afterwards the restart of the only member is an outage.
        """
        leader = self.cluster.leader
        if (
            leader is None
            or leader.is_lost
            or not leader.restart_reason
            or not self.cluster.run.restart
            or len(leader.listed) != 1
        ):
            return None
        if len(self.cluster.record.present) == 1 or not (
            self.cluster.run.allow_outage or not self.cluster.record.formed
        ):
            return None
        return self.steps.restart_of(leader)

    def _stop_lost(self) -> Step | None:
        return self.replacement.pending_stop

    def _join(self) -> Step | None:
        for o in self.cluster.observations.values():
            if o.member in self.cluster.missing or self.cluster.record.members[o.member].state != "expected":
                continue
            if not o.running and o.file_class == DISK_MISSING:
                continue
            if not o.running:
                self.steps.refuse_start_problem(o)
                step = Step("start", (o.member,), f"join {o.member} to {self.cluster.database}")
                return self.steps.gated("may_add", None, step)
            if not o.connected:
                reason = f"wait for {o.member} to finish joining {self.cluster.database}"
                alone = self.cluster.leader if len(self.cluster.listed) == 1 else None
                if alone is not None and alone.restart_reason and not alone.is_lost:
                    reason += (
                        f": {alone.member} leads alone and has to restart, because {alone.restart_reason}. That is an outage, "
                        f"so it needs {self.cluster.run.texts.outage}"
                    )
                return Step("wait", (o.member,), reason)
        return None

    def _restart(self) -> Step | None:
        """Return the restart of one outdated member: those that lag first, the leader last, decided again in each round."""
        # One whose file is gone would come back without data.
        due = [o for o in self.cluster.observations.values() if o.restart_reason and o.running and not o.is_lost]
        if not due or not self.cluster.run.restart:
            if due:
                self.cluster.warnings.append(
                    f"{self.cluster.database}: a restart is due on {', '.join(o.member for o in due)} ({due[0].restart_reason})."
                )
            return None
        for o in due:
            self.steps.refuse_start_problem(o)
        target = min(due, key=lambda o: (o.leader, -self.cluster.lag(o)))
        step = self.steps.restart_of(target)
        if len(self.cluster.record.present) == 1:
            if self.cluster.run.allow_outage:
                return step
            self.cluster.warnings.append(
                f"{step.reason}; with one member this is an outage, so it waits for {self.cluster.run.texts.outage}."
            )
            return None
        return self.steps.gated("may_stop", target.member, step)
