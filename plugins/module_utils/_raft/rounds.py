# SPDX-License-Identifier: GPL-3.0-or-later
"""The one loop that brings a Raft database to its declared state: observe, refuse or plan one step, acquire the lock, write the record, execute.

`next_round` is pure, with the clock as an argument, and everything that one round hands to the next is plain data (`RoundProgress`): the role
`ovn_central` carries it through Ansible's tasks, `converge` through a Python loop. Neither decides anything.
"""

from __future__ import annotations

import dataclasses
import time
import typing as t

from .._base.errors import Changed, TimedOut
from .gates import gate_reason
from .observation import DISK_MISSING, STARTABLE, Observation
from .plan import plan_round
from .record import Record
from .step import Gate, History, Round, Run, Step, Unexamined

# What the rounds of a Raft database need of the place where its members run: machines, pods, a simulation, servers on loopback.


class RaftBackend(t.Protocol):
    """The members of one database, on machines or in pods. A backend observes and executes; `rounds.py` decides."""

    def observe(self) -> t.Mapping[str, Observation]:
        """Return the observation of every member, all made at the same time. One that could not be examined is missing, which does not mean "absent"."""

    def acquire(self, decided: Round) -> bool:
        """Acquire or renew the right to act. True: it was not held before, so what was observed before may be outdated.

        The title of `decided` shows other runs what is done. `Refused` names the holder.
        """

    def able_to_start(self) -> t.Collection[str]:
        """Return the members that start by themselves as soon as the record lets them: those with a pod, and every machine."""

    def write_record(self, record: Record, step: Step | None) -> None:
        """Store the record where every member and every later run finds it. `step` comes next. `Changed` as for `execute`."""

    def execute(self, step: Step, record: Record) -> None:
        """Observe the target again, execute the step if it is still as in `step.expects`, and wait for its effect.

        `Changed` if the target has changed meanwhile: nothing was done, and the next round observes it.
        """

    def report(self, decided: Round) -> None:
        """Report what the next round does, before it is done."""


@dataclasses.dataclass(frozen=True)
class RoundProgress:
    """What the next round has to know of the rounds before. Times are seconds of the clock that `next_round` is given.

    `reason` is the step that was planned last, and `since` when it was planned first. `leaderless_since` is the first of the observations
    without a leader, `ahead` the highest log index that a witness knew and no leader had.
    """

    reason: str = ""
    since: float = 0.0
    leaderless_since: float | None = None
    ahead: int | None = None

    def as_dict(self) -> dict[str, t.Any]:
        return dataclasses.asdict(self)


def next_round(
    run: Run,
    observations: t.Mapping[str, Observation],
    progress: RoundProgress,
    now: float,
    *,
    able_to_start: t.Collection[str] | None = None,
    gate: Gate = gate_reason,
) -> tuple[Round, RoundProgress]:
    """Return the next round and what to hand to the one after it.

    `Refused` if a rule forbids to go on, `TimedOut` if the same step has been due for `run.wait_timeout` seconds. Nothing was changed then.
    """
    led = any(o.leader and o.connected for o in observations.values())
    leaderless_since = None if led else (progress.leaderless_since if progress.leaderless_since is not None else now)
    leaderless = 0.0 if leaderless_since is None else now - leaderless_since
    decided = plan_round(run, observations, gate, History(leaderless, progress.ahead))
    if decided.record is not None:
        held = hold_back(decided, observations, run.declared if able_to_start is None else able_to_start)
        if held is not decided.record:
            decided = dataclasses.replace(decided, record=held)
    if decided.refusal is not None and decided.record is None:
        raise decided.refusal
    reason = decided.step.reason if decided.step else ""
    # The reason of a gate has figures that change: the step counts, not what it waits for.
    kind = _kind(decided.step)
    since = progress.since if kind and kind == progress.reason else now
    if decided.step is not None and now - since > run.wait_timeout:
        raise TimedOut(
            f"Timed out after {run.wait_timeout:g} s waiting for this step: {reason}. No data was lost and no member is half-way in a step: correct the "
            "cause, then run again."
        )
    return decided, RoundProgress(kind, since, leaderless_since, decided.ahead)


def _kind(step: Step | None) -> str:
    return (
        ""
        if step is None
        else f"{step.action} {' '.join(step.members)} {step.sid or ''} {step.reason.partition(': ')[0]}"
    )


def hold_back(
    decided: Round, observations: t.Mapping[str, Observation], able_to_start: t.Collection[str]
) -> Record | None:
    """Return the record as it may be written now, None if it says nothing new.

    A member joins as soon as the record expects it. So the record says that only in the round that starts the member: after its gate was
    open, and after its old server id was removed.
    """
    record = decided.record
    if record is None:
        return None
    before = decided.recorded
    starting = decided.step.members if decided.step is not None and decided.step.action == "start" else ()
    for name, member in record.members.items():
        joins = member.state == "expected" and record.cid is not None and name in able_to_start
        o = observations.get(name)
        was = before.members.get(name) if before else None
        # No member could join before the cluster had an id, even if the record expected it.
        could_join = before is not None and before.cid is not None and was is not None and was.state == "expected"
        may_have_joined = could_join and (o is None or o.file_class in STARTABLE)
        if joins and name not in starting and not may_have_joined and not (o is not None and o.running):
            record = record.with_member(name, state="replacing")
    unchanged = before is not None and record.replace(revision=before.revision) == before
    return None if unchanged and not decided.stale_copies else record


def converge(
    backend: RaftBackend,
    run: Run,
    *,
    clock: t.Callable[[], float] = time.monotonic,
    make_examinable: t.Callable[[], bool] = lambda: False,
) -> list[str]:
    """Execute one safe step after the other until none is left; return the warnings of the last round.

    `make_examinable` acts on what keeps members from being examined, and returns whether it did. It is called only when nothing that is known
    forbids this run (R27). A run that ends anywhere in here is finished by the next one. `incomplete` returns the members that take no part in the end.
    """
    progress = RoundProgress()
    while True:
        observations = backend.observe()
        try:
            decided, progress = next_round(run, observations, progress, clock(), able_to_start=backend.able_to_start())
        except Unexamined:
            if make_examinable():
                continue
            raise
        # With one of these, the next round may refuse.
        is_certain = decided.refusal is None and decided.ahead is None
        if is_certain and make_examinable():
            continue
        if decided.is_empty:
            return list(decided.warnings)
        backend.report(decided)
        if backend.acquire(decided):
            continue  # another run may have acted between the observation and the lock
        record = recorded_after(decided)
        try:
            if decided.record is not None:
                backend.write_record(decided.record, decided.step)
            if decided.step is not None:
                backend.execute(decided.step, record)
        except Changed:
            continue


def recorded_after(decided: Round) -> Record:
    """Return the record that counts once this round has written its own."""
    record = decided.record or decided.recorded
    if record is None:
        raise AssertionError("a step without a record")
    return record


def incomplete(run: Run, observations: t.Mapping[str, Observation]) -> list[str]:
    """Return why the database is not as declared although no step is left: a sentence for each member that takes no part, or may have lost its file (R34)."""
    missing = []
    for name in run.declared:
        o = observations.get(name)
        if o is None or not o.connected:
            why = (
                "it could not be examined" if o is None else o.file_reason or f"its file is of the class {o.file_class}"
            )
            remedy = run.texts.reach
            # Its host answered, so reaching it is no remedy.
            if o is not None and o.file_class == DISK_MISSING:
                remedy = f"Mount its disk, or accept the loss with {run.texts.accept_lost_disk}."
            elif o is not None and o.replace_reason:
                why, remedy = (
                    o.replace_reason.partition(",")[0],
                    "See the log of its server, repair it, then run again.",
                )
            missing.append(f"{run.database} on {name} takes no part in its cluster: {why.rstrip('.')}. {remedy}")
        elif o.file_class == "unknown":  # what could not be examined is not done (R28)
            why = o.file_reason.rstrip(".") or "its directory cannot be read"
            missing.append(
                f"{run.database} on {name} runs, and its file could not be found: {why}. Correct that, then run again."
            )
    return missing


def latest_record(observations: t.Mapping[str, Observation]) -> Record | None:
    """Return the copy with the highest revision among those that were observed; `plan_round` has refused copies that disagree."""
    copies = [o.recorded for o in observations.values() if o.recorded]
    return max(copies, key=lambda record: record.revision, default=None)
