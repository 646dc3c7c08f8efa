# SPDX-License-Identifier: GPL-3.0-or-later
"""Rolls out both databases of a control plane, one after the other: `DatabaseRollout` is the `RaftBackend` of one whose members are pods."""

from __future__ import annotations

import contextlib
import dataclasses
import time
import typing as t

from .._api.witness_map import IsDue, differs
from .._base.databases import Database
from .._base.deadline import Deadline, report_progress
from .._base.errors import Changed, Conflict, OvnError, Refused, TimedOut, Unreachable
from .._kubernetes.rollout_progress import CONTAINER, update_revision
from .._kubernetes.timestamps import unix_seconds
from .._kubernetes.wait_tracker import Progress
from .._raft.cluster_witness import ClusterWitness, differs_meaningfully, merge_cluster_witness
from .._raft.gates import gate_reason
from .._raft.observation import Observation
from .._raft.plan import plan_round, predict_rounds
from .._raft.record import Record
from .._raft.rounds import converge
from .._raft.sizing import FINDS_OTHERS_IN_PODS_SECONDS
from .._raft.step import Round, Step, Unexamined, find_unexamined
from .leader_proxy import Handover, Relays, is_rollout, relays_to_await
from .observed_members import ObservedDatabase
from .stores import WitnessStore, known_members, observed_witness, of_recorded_cluster

_PAUSE = 2.0  # seconds after a step that was refused for the moment


class Scale(t.Protocol):
    """Scales the StatefulSet to `replicas` pods. `statefulset` is the observed one: `Changed` if it is another one now."""

    def __call__(self, replicas: int, statefulset: t.Mapping[str, t.Any] | None) -> None: ...


class DatabaseRollout:
    """Rolls out one database: it decides with what `observed` has seen, and acts on its pods."""

    def __init__(
        self,
        observed: ObservedDatabase,
        scale: Scale,
        *,
        election_timer: int,
        witness: WitnessStore | None = None,
        handover: Handover | None = None,
    ) -> None:
        """`handover`: of a database with relays."""
        self.observed, self.run = observed, observed.run
        self.scale, self.election_timer = scale, election_timer
        self.witness, self._witness_deleted = witness, False
        self.handover, self.relays = handover, Relays(observed.members)
        self.warnings: list[str] = []
        self.founding = False  # check mode: whether the run will create the cluster
        self.deleted: set[str] = set()  # check mode: members whose empty claims and idle pods will have been deleted
        self.deadline, self.wait_timeout = Deadline(0), 0.0
        self._predicted: dict[str, Observation] = {}
        self._starts_since: float | None = None  # since when this run waits for servers that have just started
        self._blocked_by = ""  # why the last step could not be executed

    # --- acting ----------------------------------------------------------------------------------------------------------

    def simulate(self) -> None:
        """Check mode: predict the whole plan, in order."""
        observations, record = self.observed.read_members(), self.observed.store.read()
        for name in self.deleted & set(self.run.declared):
            observations[name] = Observation(name, record=record.as_dict() if record else None, installed=False)
        self._predicted, recreated = self.observed.observations, self.observed.predict_pod_recreation(self.deleted)
        try:
            decided = plan_round(self.run, observations, gate_reason)
        except Unexamined:
            coming = recreated | self.observed.members_without_pods()
            if set(find_unexamined(self.run, list(observations.values()), record)) - coming:
                raise
            self.warnings.append(
                f"What follows for {self.run.database} is known when {', '.join(sorted(coming))} runs."
            )
            return
        self.founding = decided.founding
        self.warnings += decided.warnings
        steps, self._predicted = predict_rounds(self.run, self.observed.observations, gate_reason)
        self.observed.steps += steps
        if decided.record and not self.observed.steps:
            self.observed.steps.append(f"write the state record of {self.run.database}")

    @property
    def is_predicted_complete(self) -> bool:
        """Check mode: return whether every declared member takes part after the plan."""
        return not self.observed.not_participating(self._predicted)

    @property
    def predicted_replicas(self) -> int:
        """Check mode: return how many pods there are after the plan. Members that join are the last of the declared ones."""
        running = {name for name, member in self._predicted.items() if member.running}
        joined = (index + 1 for index, name in enumerate(self.run.declared) if name in running)
        return max(self.observed.replicas, *joined, 0)

    def roll_out(self, deadline: Deadline, wait_timeout: float) -> None:
        """Execute one safe step after the other. An interrupted run is finished by the next one. `wait_timeout` (seconds) is that of the whole run."""
        self.deadline, self.wait_timeout = deadline, wait_timeout
        self.run = dataclasses.replace(self.run, wait_timeout=round(deadline.left(), 1))
        try:
            self.warnings += converge(
                self, self.run, make_examinable=lambda: self.observed.recreate_stuck_pods(self.deadline)
            )
            # What was observed before the witness was deleted is outdated, too.
            if not self._delete_witness("accept what was lost"):
                with contextlib.suppress(Changed):  # the client that keeps writing it knows as much
                    self._update_witness(differs_meaningfully)
        except (Refused, TimedOut, Unreachable) as e:
            raise self._with_diagnosis(e) from e

    def _with_diagnosis(self, error: OvnError) -> OvnError:
        """Return the same error with what Kubernetes says about it, unless it is about another run."""
        if "holder" in error.details:
            return error
        known = str(error)
        messages = [self._blocked_by, "" if "Kubernetes says" in known else self.observed.diagnose()]
        more = " ".join(message for message in messages if message and message not in known)
        return type(error)(f"{known} {more}".rstrip(), **error.details)

    # --- the backend -----------------------------------------------------------------------------------------------------

    def observe(self) -> dict[str, Observation]:
        self.observed.await_examined(self.deadline)  # each time: a command in a pod may fail once on a busy node
        for name in self._starting():
            self.observed.observations[name] = dataclasses.replace(self.observed.observations[name], starting=True)
        return self.observed.observations

    def acquire(self, decided: Round) -> bool:
        step = decided.title
        if self.deadline.expired:
            raise TimedOut(
                f"Timed out after {self.wait_timeout:g} s waiting for this step: {step}. The databases are safe; run again to go on."
            )
        fresh = self.observed.context.lease.acquire_or_renew(step)
        # The witness of a refused database stays, also if its record is written first (R27).
        return (decided.refusal is None and self._delete_witness(step)) or fresh

    def able_to_start(self) -> t.Collection[str]:
        """Return the members with a pod: it starts its member as soon as the record lets it."""
        return list(self.run.declared)[: self.observed.replicas]

    def report(self, decided: Round) -> None:
        report_progress(decided.title)

    def write_record(self, record: Record, step: Step | None) -> None:
        if step is not None and step.action == "start":
            self._check_targets(step)  # this record is what lets the member start
        self.observed.context.lease.check()
        self.observed.store.write(record, self.election_timer)
        self.observed.members.annotate_to_resync(record)
        if not self.observed.steps and (step is None or step.action == "wait"):  # else it belongs to the step
            self.observed.note(f"write the state record of {self.run.database}")

    def execute(self, step: Step, record: Record) -> None:
        rolls = (
            self.handover is not None
            and step.action == "restart"
            and is_rollout(step.members, self.observed.observations)
        )
        if step.action == "restart" and self._prepare_restart(step, rolls=rolls):
            raise Changed("What was observed before relays were waited for is outdated.")
        try:
            self._execute(step, record)
            if rolls:
                self.relays.wait(step.members, self.deadline)
        except Changed as e:
            self._blocked_by = str(e)
            time.sleep(min(_PAUSE, self.deadline.left()))
            raise
        self._blocked_by = ""

    def _prepare_restart(self, step: Step, *, rolls: bool) -> bool:
        """Have chassis and northd served while these members restart; return whether that took time, so that the gates have to be asked again (G1).

        Without a leader nobody is served, and nothing can be written: the restart may be what brings one. One that only mends waits for no relay (R29).
        """
        if self.handover is None:
            return False
        took_time = self.observed.leader is not None and self.handover.open_port(self.deadline)
        if rolls:
            pods = self.observed.pods
            took_time |= self.handover.move_clients(pods, self.deadline)
            others = relays_to_await(pods, step.members, update_revision(self.observed.set))
            took_time |= self.relays.wait(others, self.deadline)
        return took_time

    def _execute(self, step: Step, record: Record) -> None:
        if step.action == "start":
            self._scale_up_for(step)
        elif step.action != "wait":
            self._check_targets(step)
        if step.action != "wait":
            # The witness of a launcher is lost with its pod; the next pod reads what is written now.
            self._update_witness(differs, holds_lease=True)
            self.observed.note(step.reason)
        self.observed.members.execute(step, record, self.deadline)

    def _update_witness(self, is_due: IsDue, *, holds_lease: bool = False) -> None:
        """Record how new the files of all members are, as far as this run knows (R25). Servers that are no members are dropped under the Lease."""
        record = self.observed.store.read()
        if self.witness is None or record is None or not record.cid:
            return
        now = observed_witness(record, self.observed.observations.values(), self.observed.remembered)
        ours = known_members(record, self.observed.observations.values())
        if holds_lease:
            self.observed.context.lease.check()

        def change(stored: ClusterWitness) -> ClusterWitness:
            known = of_recorded_cluster(stored, record, ours) if holds_lease else stored
            return merge_cluster_witness(known, now)

        try:
            self.witness.map.update(change, is_due)
        except Conflict as e:
            raise Changed(str(e)) from e

    def _delete_witness(self, step: str) -> bool:
        """Delete the witness once, if the operator accepts older files; else each start would refuse them again. Return whether it was done."""
        record = self.observed.store.read()
        if (
            not self.run.accept_rollback
            or self._witness_deleted
            or self.witness is None
            or record is None
            or not record.cid
        ):
            return False
        self._witness_deleted = True
        self.observed.context.lease.acquire_or_renew(step)
        self.observed.context.lease.check()
        cid = record.cid
        self.witness.map.update(lambda _stored: ClusterWitness(cid))
        self.observed.members.delete_witness(self.witness.map.read_text, self.deadline)
        return True

    def _check_targets(self, step: Step) -> None:
        """Raise `Changed` if a target of the step is no longer as it was when the step was planned."""
        before, self.observed.pods = self.observed.pods, self.observed.members.pods()
        now = self.observed.observe_pods(list(step.expects))
        for name, expected in step.expects.items():
            if name not in now:
                raise Changed(
                    f"{name} cannot be examined any more: {self.observed.unknown.get(name, 'it does not answer')}."
                )
            if now[name].target() != expected or _uid(before.get(name)) != _uid(self.observed.pods.get(name)):
                raise Changed(f"{name} has changed since this step was planned: {step.reason}.")

    def _starting(self) -> list[str]:
        """Return the members whose servers have just started and do not take part yet; none once that has lasted too long: they crash again and again."""
        if not self.observed.context.wait:
            return []
        servers = [
            name
            for name in self.observed.not_participating(self.observed.observations)
            if name in self.observed.observations and self.observed.observations[name].running
        ]
        # Clocks of nodes may be ahead.
        young = [
            name
            for name in servers
            if abs(self.observed.context.now() - _started_at(self.observed.pods[name])) < FINDS_OTHERS_IN_PODS_SECONDS
        ]
        now = time.monotonic()
        if not self.observed.not_participating(self.observed.observations):
            self._starts_since = None
        elif young and self._starts_since is None:
            self._starts_since = now
        return (
            young if self._starts_since is not None and now - self._starts_since <= FINDS_OTHERS_IN_PODS_SECONDS else []
        )

    def _scale_up_for(self, step: Step) -> None:
        """Scale up for a join: pods exist from the first to the last that was ever started, one more at a time."""
        order = list(self.run.declared)
        needed = max(order.index(name) for name in step.members) + 1
        if needed > self.observed.replicas:
            self.observed.context.lease.check()
            self.scale(needed, self.observed.set)
            self.observed.replicas = needed


def _uid(pod: t.Mapping[str, t.Any] | None) -> str:
    return str(pod["metadata"].get("uid", "")) if pod else ""


def _started_at(pod: t.Mapping[str, t.Any]) -> float:
    """Return the start time of the container of the database, in seconds since 1970; 0 if it does not run."""
    containers = (pod.get("status") or {}).get("containerStatuses") or []
    running = [(one.get("state") or {}).get("running") or {} for one in containers if one["name"] == CONTAINER]
    return max((unix_seconds(one.get("startedAt")) for one in running), default=0.0)


def raise_combined(failures: t.Sequence[BaseException]) -> None:
    """Raise one error with what stopped each database; nothing without failures."""
    if not failures:
        return
    first, *others = failures
    if isinstance(first, OvnError) and others:
        raise type(first)(" ".join(str(error) for error in failures), **first.details) from first
    raise first


# What the first database leaves of the time to the second one.
_RESERVED, _RESERVED_SECONDS = 0.3, 30.0


def roll_out_databases(
    databases: t.Mapping[Database, DatabaseRollout],
    deadline: Deadline,
    progress: Progress,
    *,
    server: str,
    check_mode: bool,
) -> None:
    """Roll out one database after the other. A failure of the first does not keep the second from its rounds. `server` is the API server's URL."""
    failures: list[BaseException] = []
    for left, database in zip(reversed(range(len(databases))), databases.values()):
        try:
            if check_mode:
                database.simulate()
            else:
                rest = deadline.left()
                share = deadline.within(rest - left * min(_RESERVED_SECONDS, rest * _RESERVED))
                database.roll_out(share, deadline.seconds)
        except (Unreachable, TimedOut) as e:
            failures.append(e)
            if server in str(e):
                break  # without the API server the second one cannot be observed either
        except OvnError as e:
            failures.append(e)
    for database in databases.values():
        progress.steps += database.observed.steps
        progress.warnings += database.warnings
    raise_combined(failures)
