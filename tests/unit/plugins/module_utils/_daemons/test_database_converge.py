from __future__ import annotations

import time
import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._base.deadline import Deadline
from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import (
    Conflict,
    OvnError,
    Refused,
    TimedOut,
    Unreachable,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._daemons import database_converge as loop
from ansible_collections.c5c3.ovn.plugins.module_utils._daemons.database_converge import MemberState, converge
from ansible_collections.c5c3.ovn.plugins.module_utils._daemons.database_settings import (
    LAYOUTS,
    DesiredSettings,
    ObservedSettings,
)

NB = LAYOUTS["northbound"]
GLOBAL = "00000000-0000-4000-8000-00000000000f"
LEADER = MemberState("leader", election_timer=1000)
FOLLOWER = MemberState("follower", leader="5678 at tcp:192.0.2.2:6643", election_timer=1000)
ALONE = MemberState("none", reason="no leader is known", election_timer=1000)
STANDALONE = MemberState("standalone")


class FakeMember:
    """Plays back `states` (the last one for ever; the timer is its own) and stores options as the database would."""

    def __init__(self, *states: MemberState | OvnError, options: dict[str, str] | None = None) -> None:
        self.states = list(states)
        self.options = dict(options or {})
        self.timer = next((state.election_timer for state in states if isinstance(state, MemberState)), None)
        self.writes: list[t.Any] = []
        self.timers: list[int] = []
        self.troubles: list[OvnError] = []
        self.written_by_others: list[dict[str, str]] = []
        self.timer_from_look: tuple[int, int] | None = None
        self.looks = 0
        self.pending: int | None = None

    def examine(self) -> MemberState:
        self.looks += 1
        if self.timer_from_look and self.looks >= self.timer_from_look[0]:
            self.timer = self.timer_from_look[1]
        state = self.states.pop(0) if len(self.states) > 1 else self.states[0]
        if isinstance(state, OvnError):
            raise state
        timer = self.timer if state.election_timer else None
        self.pending = state.pending_timer
        return MemberState(state.role, state.reason, state.leader, timer, state.pending_timer)

    def read(self) -> ObservedSettings:
        if self.written_by_others:
            self.options.update(self.written_by_others.pop(0))
        return ObservedSettings(GLOBAL, {}, dict(self.options))

    def write(self, operations: t.Any) -> None:
        self.writes.append(operations)
        next_trouble, self.troubles = self.troubles[:1], self.troubles[1:]
        for problem in next_trouble:
            if isinstance(problem, Conflict):
                raise problem
        for mutation in operations[-1]["mutations"]:
            if mutation[:2] == ["options", "insert"]:
                self.options.update(mutation[2][1])
        for problem in next_trouble:
            raise problem

    def change_timer(self, milliseconds: int) -> None:
        assert self.pending is None, "a server refuses a change while another one is pending"
        self.timers.append(milliseconds)
        self.timer = milliseconds


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop.time, "sleep", lambda _seconds: None)


def run(member: FakeMember, desired: DesiredSettings, seconds: float = 5, check_mode: bool = False) -> loop.Outcome:
    return converge(member, desired, NB, Deadline(seconds), check_mode=check_mode)


OPTION = DesiredSettings(options={"a": "1"})


def test_the_leader_writes_once() -> None:
    member = FakeMember(LEADER)
    outcome = run(member, OPTION)
    assert outcome.changed
    assert len(member.writes) == 1
    assert outcome.done.before == {"options": {"a": None}}
    assert outcome.done.after == {"options": {"a": "1"}}


def test_a_standalone_server_writes() -> None:
    assert run(FakeMember(STANDALONE), OPTION).changed


def test_a_standalone_server_has_no_timer() -> None:
    with pytest.raises(Refused, match="standalone"):
        run(FakeMember(STANDALONE), DesiredSettings(election_timer=2000))


def test_a_follower_only_waits() -> None:
    member = FakeMember(FOLLOWER)
    member.written_by_others = [{}, {}, {"a": "1"}]
    outcome = run(member, OPTION)
    assert not outcome.changed
    assert member.writes == []
    assert outcome.observed.options == {"a": "1"}


def test_a_follower_that_waits_in_vain_names_what_is_missing() -> None:
    with pytest.raises(TimedOut, match=r"192.0.2.2.*set option a to 1"):
        run(FakeMember(FOLLOWER), OPTION, seconds=0.05)


def test_the_timer_goes_up_step_by_step() -> None:
    member = FakeMember(LEADER)
    outcome = run(member, DesiredSettings(election_timer=5000))
    assert member.timers == [2000, 4000, 5000]
    assert outcome.done.before == {"election_timer": 1000}
    assert outcome.done.after == {"election_timer": 5000}


def test_a_pending_step_is_waited_for() -> None:
    pending = MemberState("leader", election_timer=1000, pending_timer=2000)
    member = FakeMember(pending, pending, LEADER)
    run(member, DesiredSettings(election_timer=2000))
    assert member.timers == [2000]


def test_a_foreign_step_does_not_matter_when_no_timer_is_wanted() -> None:
    assert not run(
        FakeMember(MemberState("leader", election_timer=1000, pending_timer=2000)), DesiredSettings()
    ).changed


def test_the_lead_comes_here_in_mid_ramp() -> None:
    member = FakeMember(FOLLOWER, FOLLOWER, ALONE, LEADER)
    outcome = run(member, DesiredSettings(election_timer=4000))
    assert member.timers == [2000, 4000]
    assert outcome.changed


def test_the_lead_goes_away_in_mid_ramp() -> None:
    member = FakeMember(LEADER, FOLLOWER, FOLLOWER, FOLLOWER)
    member.timer_from_look = (4, 4000)  # the new leader's host went on
    outcome = run(member, DesiredSettings(election_timer=4000))
    assert member.timers == [2000]
    assert outcome.changed
    assert outcome.state.election_timer == 4000


def test_a_conflict_is_looked_at_again() -> None:
    member = FakeMember(LEADER)
    member.troubles = [Conflict("somebody was faster")]
    outcome = run(member, OPTION)
    assert len(member.writes) == 2
    assert outcome.done.actions == ["set option a to 1"]


def test_a_conflict_with_a_run_that_wrote_the_same_changes_nothing() -> None:
    member = FakeMember(LEADER)
    member.troubles = [Conflict("somebody was faster")]
    member.written_by_others = [{}, {"a": "1"}]
    assert not run(member, OPTION).changed


def test_a_write_without_an_answer_is_not_repeated_when_it_happened() -> None:
    member = FakeMember(LEADER)
    member.troubles = [TimedOut("no answer")]
    outcome = run(member, OPTION)
    assert len(member.writes) == 1
    assert outcome.changed


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Seconds that have passed: pauses cost no time but this."""
    passed = [0.0]

    def let_pass(seconds: float) -> None:
        passed[0] += seconds

    monkeypatch.setattr(time, "monotonic", lambda: passed[0])
    monkeypatch.setattr(loop.time, "sleep", let_pass)
    return passed


def test_no_quorum_writes_nothing(clock: list[float]) -> None:
    member = FakeMember(ALONE)
    with pytest.raises(Refused, match="no leader is known") as caught:
        run(member, OPTION, seconds=60)
    assert member.writes == []
    assert 5 <= clock[0] < 10  # an election may take as long
    assert caught.value.details["changed"] is False


def test_no_quorum_fails_even_when_the_old_rows_look_right(clock: list[float]) -> None:
    with pytest.raises(Refused, match="cannot be written"):
        run(FakeMember(ALONE, options={"a": "1"}), OPTION, seconds=60)


def test_an_election_is_waited_for() -> None:
    assert run(FakeMember(ALONE, ALONE, LEADER), OPTION).changed


def test_a_wrong_socket_fails_at_once() -> None:
    with pytest.raises(Unreachable):
        run(FakeMember(Unreachable("no such socket")), OPTION)


def test_a_member_that_restarts_is_waited_for() -> None:
    assert run(FakeMember(FOLLOWER, Unreachable("refused"), LEADER), OPTION).changed


@pytest.mark.parametrize(("state", "changed"), [(LEADER, True), (FOLLOWER, False), (STANDALONE, True)])
def test_check_mode_changes_nothing_and_tells_the_same(state: MemberState, changed: bool) -> None:
    member = FakeMember(state)
    desired = DesiredSettings(options={"a": "1"}, election_timer=4000 if state.election_timer else None)
    foretold = run(member, desired, check_mode=True)
    assert (member.writes, member.timers) == ([], [])
    assert foretold.changed is changed
    if changed:
        done = run(member, desired)
        assert done.done.actions == foretold.done.actions
        assert (done.done.before, done.done.after) == (foretold.done.before, foretold.done.after)


def test_giving_up_tells_what_was_done() -> None:
    member = FakeMember(LEADER)
    member.troubles = [Conflict("busy")] * 10**6
    with pytest.raises(TimedOut, match="busy") as caught:
        run(member, OPTION, seconds=0.05)
    assert caught.value.details["changed"] is False
