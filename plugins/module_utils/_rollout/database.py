# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

One Raft database whose members are pods: observe all of them, plan one round, write the record, take one step, and so on until nothing is left.
"""

from __future__ import annotations

import contextlib
import time
import typing as t

from .._deadline import Deadline
from .._errors import OvnError, Refused, TimedOut
from .._kubernetes.moment import seconds
from .._pods.due import CONTAINER
from .._raft.foresee import play
from .._raft.gates import gate_reason
from .._raft.observation import Observation
from .._raft.plan import plan_round
from .._raft.record import Record
from .._raft.step import Round, Run, Step
from .observed import Context, ObservedDatabase
from .record_store import RecordStore

_DISRUPTIVE = ("stop", "restart", "kick")
# Seconds after its start in which a server is expected to find the others: a cluster's DNS keeps "no such name" for up to 30 s, and so does the
# server's own resolver; then there may be an election.
_FINDS_OTHERS = 90.0
_LOOKS_EVERY = 1.0


class Scale(t.Protocol):
    """Brings the StatefulSet to a number of pods."""

    def __call__(self, replicas: int) -> None: ...


class DatabaseRollout(ObservedDatabase):
    def __init__(
        self,
        context: Context,
        run: Run,
        store: RecordStore,
        scale: Scale,
        replicas: int,
        *,
        election_timer: int,
        stateful_set: t.Callable[[], dict[str, t.Any] | None],
        template_changed: bool = False,
    ) -> None:
        super().__init__(context, run, store, replicas, stateful_set, template_changed=template_changed)
        self.scale, self.election_timer = scale, election_timer
        self.warnings: list[str] = []
        self.gone: set[str] = set()  # check mode: members whose empty claims and idle pods will have been deleted
        self._world: dict[str, Observation] = {}
        self._waits_since: float | None = None  # for servers that have just started

    # --- acting ----------------------------------------------------------------------------------------------------------

    def foresee(self) -> None:
        """Check mode: the whole ordered plan."""
        seen, record = self.observe(), self.store.read()
        for name in self.gone & set(self.run.declared):
            seen[name] = Observation(name, record=record.as_dict() if record else None, installed=False)
        self._world, anew = self.seen, self.foresee_anew(self.gone)
        try:
            decided = plan_round(self.run, seen, gate_reason)
        except Refused:
            # Who is missing in a first run stops it; with these pods it goes on.
            if not anew or (record and record.cid) or set(self.run.declared) - set(seen) - anew:
                raise
            self.warnings.append(f"What follows for {self.run.database} is known when {', '.join(sorted(anew))} runs.")
            return
        self.warnings += decided.warnings
        steps, self._world = play(self.run, self.seen, gate_reason)
        self.steps += steps
        if decided.record and not self.steps:
            self.steps.append(f"write the state record of {self.run.database}")

    @property
    def will_be_whole(self) -> bool:
        """Check mode: whether every declared member takes part when the plan is carried out."""
        return not self._apart(self._world)

    def converge(self, deadline: Deadline) -> None:
        """One safe step after the other. A run that ends anywhere in here is finished by the next one."""
        while self._round(deadline):
            pass

    def _round(self, deadline: Deadline) -> bool:
        """Whether there was anything to do."""
        looked = time.monotonic()
        self.await_examined(deadline)  # each time: a command in a pod may fail once on a busy node
        decided = self._plan()
        with contextlib.ExitStack() as stack:
            if decided.step is not None and decided.step.action in _DISRUPTIVE:
                # The other database may have had its turn for minutes: what was seen before that says nothing about this moment.
                stack.enter_context(self.context.turn)
                looked = time.monotonic()
                self.await_examined(deadline)
                decided = self._plan()
            step = decided.step
            record = self._held_back(decided.record, step) if decided.record else None
            if record is None and step is None:
                if self._finds_others(deadline):
                    return True
                self.warnings += decided.warnings
                return False
            what = step.reason if step else f"write the state record of {self.run.database}"
            if self.context.lease.take(what) or self.context.lease.taken > looked:
                return True  # somebody may have acted before the Lease was ours, whichever database it was taken for
            if deadline.expired:
                raise TimedOut(
                    f"Gave up after {deadline.seconds:g} s: {what}. {self._trouble()} The databases are safe; run again to go on."
                )
            if record is not None:
                self._write(record, step)
            if step is not None:
                self._take(step, deadline)
        return True

    def _finds_others(self, deadline: Deadline) -> bool:
        """Waits a moment if a server that has just started does not take part yet; False if there is none."""
        if not self.context.wait or deadline.expired:
            return False
        servers = [name for name in self._apart(self.seen) if name in self.seen and self.seen[name].running]
        # Clocks of nodes may be ahead.
        if not any(abs(self.context.now() - _started_at(self.pods[name])) < _FINDS_OTHERS for name in servers):
            return False
        now = time.monotonic()
        self._waits_since = self._waits_since or now
        if now - self._waits_since > _FINDS_OTHERS:  # it starts again and again
            return False
        time.sleep(min(_LOOKS_EVERY, deadline.left()))
        return True

    def _plan(self) -> Round:
        try:
            return plan_round(self.run, self.seen, gate_reason)
        except Refused as e:
            trouble = self._trouble()
            raise Refused(f"{e} {trouble}".rstrip(), **e.details) from e

    def _write(self, record: Record, step: Step | None) -> None:
        self.store.write(record, self.election_timer)
        self.members.poke(record)
        if not self.steps and (step is None or step.action == "wait"):
            self._note(f"write the state record of {self.run.database}")  # else it belongs to the step that it records

    def _take(self, step: Step, deadline: Deadline) -> None:
        record = self.store.read()
        if record is None:
            raise AssertionError("a step without a record")
        if step.action == "start":
            self._make_room(step)
        if step.action != "wait":
            self._note(step.reason)
        try:
            self.members.take(step, record, deadline)
        except OvnError as e:
            trouble = "" if "Kubernetes says" in str(e) else self._trouble()
            raise type(e)(f"{e} {trouble}".rstrip(), **e.details) from e

    def _held_back(self, record: Record, step: Step | None) -> Record | None:
        """The record as it may be written now, None if it says nothing new.

        A pod joins as soon as the record expects it. So the record says that only in the round that starts the member: after the gate was seen
        open, and after the member's old server id was removed.
        """
        before, order = self.store.read(), list(self.run.declared)
        starting = step.members if step is not None and step.action == "start" else ()
        for name, member in record.members.items():
            waits = member.state == "expected" and record.cid is not None and name in order[: self.replicas]
            runs = name in self.seen and self.seen[name].running
            was = before.members.get(name) if before else None
            if waits and not runs and name not in starting and (was is None or was.state != "expected"):
                record = record.with_member(name, state="replacing")
        if before is not None and record.replace(revision=before.revision) == before:
            return None
        return record

    def _make_room(self, step: Step) -> None:
        """Pods exist from the first to the last that was ever started, one more at a time: one join at a time."""
        order = list(self.run.declared)
        needed = max(order.index(name) for name in step.members) + 1
        if needed > self.replicas:
            self.scale(needed)
            self.replicas = needed


def _started_at(pod: t.Mapping[str, t.Any]) -> float:
    """When the container of the database did, in seconds since 1970; long ago if it does not run."""
    containers = (pod.get("status") or {}).get("containerStatuses") or []
    running = [(one.get("state") or {}).get("running") or {} for one in containers if one["name"] == CONTAINER]
    return max((seconds(one.get("startedAt")) for one in running), default=0.0)


def raise_together(failures: t.Sequence[BaseException]) -> None:
    """What stopped one database and what stopped the other, in one error."""
    if not failures:
        return
    first, *others = failures
    if isinstance(first, OvnError) and others:
        raise type(first)(" ".join(str(error) for error in failures), **first.details) from first
    raise first
