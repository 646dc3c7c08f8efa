# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

Brings the settings of a database to the wanted state, on every member's host at the same time: only the member that leads acts.

Nothing is remembered between two looks. Whoever leads at a look does the next single step; the others wait until their own replica shows
the wanted state, or until the lead comes to them. So a lead that moves midway, a second run and a write of unknown outcome are ordinary.
"""

from __future__ import annotations

import dataclasses
import time
import typing as t

from .._deadline import Deadline
from .._errors import Conflict, OvnError, Refused, TimedOut, Unreachable
from .._ovsdb.rows import Operation
from .settings import DesiredSettings, Layout, ObservedSettings, SettingsPlan, plan_rows, timer_steps

Role = t.Literal["leader", "follower", "standalone", "none"]

_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.05, 0.5  # seconds between two looks at the own member


@dataclasses.dataclass(frozen=True)
class MemberState:
    """What the own member says at one look. `role` is `none` while no write can succeed through it; `reason` tells why."""

    role: Role
    reason: str = ""
    leader: str = ""
    election_timer: int | None = None
    pending_timer: int | None = None


class OwnMember(t.Protocol):
    """The own member, as the loop needs it; `member.py` has the real one."""

    def examine(self) -> MemberState: ...

    def read(self) -> ObservedSettings: ...

    def write(self, operations: t.Sequence[Operation]) -> None: ...

    def change_timer(self, milliseconds: int) -> None: ...


@dataclasses.dataclass
class Outcome:
    """What was done here, in order, and the values before and after. `uncertain`: a write whose answer never came."""

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
    """Return when the own member shows everything; in check mode, when it is known what would be done here."""
    outcome = Outcome(
        member.examine(), ObservedSettings()
    )  # a wrong socket fails here at once; later the member may restart
    leaderless: Deadline | None = None
    trouble: OvnError | None = None
    pause = _SHORTEST_PAUSE
    state = outcome.state
    while True:
        try:
            outcome.state = state
            if state.role == "none":
                leaderless = leaderless or deadline.within(_patience(state))
                if leaderless.expired:
                    raise _no_quorum(state, layout, outcome)
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
                        return _foretell(outcome, plan, steps)
                    pause = _SHORTEST_PAUSE
                    _one_step(member, outcome, plan, steps)
                elif check_mode:
                    return outcome
                else:
                    trouble = _still_missing(state, layout, plan, steps)
        except (Conflict, TimedOut, Unreachable) as e:
            trouble = e  # look again: after a write without an answer, the comparison tells whether it happened
        if deadline.expired:
            raise _gave_up(deadline, layout, outcome, trouble)
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
    """Rows first, then one step of the timer; a pending timer is only waited for."""
    if plan.operations:
        try:
            member.write(plan.operations)
        except TimedOut:
            outcome.record(plan)  # it may be done: better a "changed" too many than one too few
            raise
        outcome.record(plan)
    elif steps and outcome.state.pending_timer is None and outcome.state.election_timer is not None:
        member.change_timer(steps[0])
        outcome.record_timer(outcome.state.election_timer, steps[0])


def _foretell(outcome: Outcome, plan: SettingsPlan, steps: list[int]) -> Outcome:
    if plan.operations:
        outcome.record(plan)
    current = outcome.state.election_timer
    for step in steps:
        if current is not None:
            outcome.record_timer(current, step)
        current = step
    return outcome


def _patience(state: MemberState) -> float:
    """Seconds that an election may take before it counts as a loss of quorum."""
    return max(5.0, 3 * (state.election_timer or 0) / 1000 + 2)


def _details(outcome: Outcome) -> dict[str, t.Any]:
    return {"changed": outcome.changed, "actions": outcome.done.actions, "role": outcome.state.role}


def _no_quorum(state: MemberState, layout: Layout, outcome: Outcome) -> OvnError:
    written = "This host wrote nothing." if not outcome.changed else "Run again to finish what was begun."
    return Refused(
        f"The {layout.title} database cannot be written now: {state.reason}. {written} "
        "Ask ovn_raft_status which members are missing and start them.",
        **_details(outcome),
    )


def _still_missing(state: MemberState, layout: Layout, plan: SettingsPlan, steps: list[int]) -> OvnError:
    missing = [*plan.actions, *(["reach the wanted election timer"] if steps else [])]
    return TimedOut(
        f"the leader {state.leader or ''} of the {layout.title} database has yet to {'; '.join(missing[:3]) or 'finish'}. "
        "Does this task run on the leader's host as well?".replace("  ", " ")
    )


def _gave_up(deadline: Deadline, layout: Layout, outcome: Outcome, trouble: OvnError | None) -> OvnError:
    last = f"Last seen: {trouble}" if trouble else "The election timer was still changing."
    return TimedOut(
        f"The settings of the {layout.title} database were not reached within {deadline.seconds:g} s. {last} Run again: it goes on from there.",
        **_details(outcome),
    )
