# SPDX-License-Identifier: GPL-3.0-or-later
"""Brings the settings of a database to the desired state, on every member's host at the same time: only the member that leads acts.

No state is kept between two observations. The member that leads does the next single step; the others wait until their own replica shows the
desired state, or until they lead. So a leadership transfer midway, a second run and a write of unknown outcome need no special case.
"""

from __future__ import annotations

import dataclasses
import time
import typing as t

from .._base.deadline import Deadline
from .._base.errors import Conflict, OvnError, Refused, TimedOut, Unreachable
from .._ovsdb.rows import Operation
from .database_settings import DesiredSettings, Layout, ObservedSettings, SettingsPlan, plan_rows, timer_steps

Role = t.Literal["leader", "follower", "standalone", "none"]

_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.05, 0.5  # seconds between two observations of the own member


@dataclasses.dataclass(frozen=True)
class MemberState:
    """One observation of the own member. `role` is `none` while no write through it can succeed, for the `reason`. Timers in milliseconds."""

    role: Role
    reason: str = ""
    leader: str = ""
    election_timer: int | None = None
    pending_timer: int | None = None


class OwnMember(t.Protocol):
    """The own member, as `converge()` needs it: `LocalMember` or `PodDatabase`."""

    def examine(self) -> MemberState: ...

    def read(self) -> ObservedSettings: ...

    def write(self, operations: t.Sequence[Operation]) -> None: ...

    def change_timer(self, milliseconds: int) -> None: ...


@dataclasses.dataclass
class Outcome:
    """The last observation, and in `done` what this host changed, in order, with the values before and after."""

    state: MemberState
    observed: ObservedSettings
    done: SettingsPlan = dataclasses.field(default_factory=SettingsPlan)

    def record(self, plan: SettingsPlan) -> None:
        self.done.actions += plan.actions
        for group, values in plan.before.items():
            for key, value in values.items():
                self.done.before.setdefault(group, {}).setdefault(key, value)
        for group, values in plan.after.items():
            self.done.after.setdefault(group, {}).update(values)

    def record_timer(self, before: int, after: int) -> None:
        self.done.actions.append(f"change the election timer from {before} to {after} ms")
        self.done.before.setdefault("election_timer", before)
        self.done.after["election_timer"] = after

    @property
    def changed(self) -> bool:
        return bool(self.done.actions)


def converge(
    member: OwnMember, desired: DesiredSettings, layout: Layout, deadline: Deadline, *, check_mode: bool
) -> Outcome:
    """Return what was done when the own member shows the desired state; in check mode, what this host would do.

    `Refused` if there is no quorum to write, `TimedOut` with the last error if the desired state is not reached in time.
    """
    outcome = Outcome(
        member.examine(), ObservedSettings()
    )  # a wrong socket fails here at once; later the member may restart
    leaderless: Deadline | None = None
    last_error: OvnError | None = None
    pause = _SHORTEST_PAUSE
    state = outcome.state
    while True:
        try:
            outcome.state = state
            if state.role == "none":
                leaderless = leaderless or deadline.within(_patience(state))
                if leaderless.expired:
                    raise _no_quorum_error(state, layout, outcome)
            else:
                leaderless = None
                if desired.needs_rows:
                    outcome.observed = member.read()
                plan = plan_rows(desired, outcome.observed, layout)
                steps = _timer_steps(state, desired, layout)
                settled = desired.election_timer is None or state.pending_timer is None
                if not plan.operations and not steps and settled:
                    return outcome
                if state.role != "follower":
                    if check_mode:
                        return _predict(outcome, plan, steps)
                    pause = _SHORTEST_PAUSE
                    _one_step(member, outcome, plan, steps)
                elif check_mode:
                    return outcome
                else:
                    last_error = _pending_error(state, layout, plan, steps)
        except (Conflict, TimedOut, Unreachable) as e:
            last_error = e  # observe again: after a write without an answer, the comparison shows whether it happened
        if deadline.expired:
            raise _timeout_error(deadline, layout, outcome, last_error)
        time.sleep(min(pause, max(0.001, deadline.left())))
        pause = min(2 * pause, _LONGEST_PAUSE)
        try:
            state = member.examine()
        except (TimedOut, Unreachable) as e:
            state = MemberState("none", reason=str(e), election_timer=outcome.state.election_timer)


def _timer_steps(state: MemberState, desired: DesiredSettings, layout: Layout) -> list[int]:
    if desired.election_timer is None:
        return []
    if state.election_timer is None:
        raise Refused(
            f"The {layout.title} database is standalone: it has no election timer. Leave election_timer out, or make it a cluster."
        )
    return timer_steps(state.election_timer, desired.election_timer)


def _one_step(member: OwnMember, outcome: Outcome, plan: SettingsPlan, steps: list[int]) -> None:
    """Write the rows, or else change the timer by one step. A pending timer is waited for."""
    if plan.operations:
        try:
            member.write(plan.operations)
        except TimedOut:
            outcome.record(plan)  # it may be done: a wrong "changed" is better than a missing one
            raise
        outcome.record(plan)
    elif steps and outcome.state.pending_timer is None and outcome.state.election_timer is not None:
        member.change_timer(steps[0])
        outcome.record_timer(outcome.state.election_timer, steps[0])


def _predict(outcome: Outcome, plan: SettingsPlan, steps: list[int]) -> Outcome:
    if plan.operations:
        outcome.record(plan)
    current = outcome.state.election_timer
    for step in steps:
        if current is not None:
            outcome.record_timer(current, step)
        current = step
    return outcome


def _patience(state: MemberState) -> float:
    """Return the seconds that an election may take before it counts as a loss of quorum."""
    return max(5.0, 3 * (state.election_timer or 0) / 1000 + 2)


def _details(outcome: Outcome) -> dict[str, t.Any]:
    return {"changed": outcome.changed, "actions": outcome.done.actions, "role": outcome.state.role}


def _no_quorum_error(state: MemberState, layout: Layout, outcome: Outcome) -> OvnError:
    written = "This host wrote nothing." if not outcome.changed else "Run again to finish what was begun."
    return Refused(
        f"The {layout.title} database cannot be written now: {state.reason}. {written} "
        "Ask ovn_raft_status which members are missing and start them.",
        **_details(outcome),
    )


def _pending_error(state: MemberState, layout: Layout, plan: SettingsPlan, steps: list[int]) -> OvnError:
    missing = [*plan.actions, *(["reach the desired election timer"] if steps else [])]
    return TimedOut(
        f"the leader {state.leader or ''} of the {layout.title} database has yet to {'; '.join(missing[:3]) or 'finish'}. "
        "Does this task run on the leader's host as well?".replace("  ", " ")
    )


def _timeout_error(deadline: Deadline, layout: Layout, outcome: Outcome, last_error: OvnError | None) -> OvnError:
    last = f"Last error: {last_error}" if last_error else "The election timer was still changing."
    return TimedOut(
        f"The settings of the {layout.title} database were not reached within {deadline.seconds:g} s. {last} Run again: it goes on from there.",
        **_details(outcome),
    )
