"""What the leader proxy does before it serves."""

from __future__ import annotations

import pathlib

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._agent import leader_proxy
from ansible_collections.c5c3.ovn.plugins.module_utils._agent.leader_proxy import (
    LedMember,
    choose_member,
    is_left,
    next_state,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.answer import Answer, Problem, ServerView


def test_the_file_of_a_former_process_says_nothing(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next container of a pod finds it, and its startup probe would pass before anybody listens."""
    alive = tmp_path / "alive"
    alive.touch()
    monkeypatch.setenv("OVN_ALIVE_FILE", str(alive))
    monkeypatch.delenv("OVN_NORTHBOUND", raising=False)
    assert leader_proxy.main(["--alive"]) == 0
    assert leader_proxy.main([]) == 2  # without settings it does not come to listen
    assert leader_proxy.main(["--alive"]) == 1
    assert leader_proxy.main([]) == 2  # nor is the file needed


GONE = LedMember()
FOLLOWER = LedMember(connected=True, since=1.0)
LEADER = LedMember(connected=True, leader=True, since=1.0)
LATER = LedMember(connected=True, leader=True, since=2.0)


def answer(connected: bool, leader: bool, *problems: Problem) -> Answer:
    return Answer("m1", "OVN_Northbound", server=ServerView("clustered", connected, leader), problems=problems)


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        pytest.param([FOLLOWER, LEADER, FOLLOWER], 1, id="the leader"),
        pytest.param([FOLLOWER, FOLLOWER, GONE], None, id="an election"),
        pytest.param([LEADER, LATER, FOLLOWER], 1, id="one without power still says that it leads"),
        pytest.param([LATER, LEADER, FOLLOWER], 0, id="in whatever order"),
        pytest.param([GONE, GONE, GONE], None, id="nobody answers"),
    ],
)
@pytest.mark.parametrize("current", [None, 0, 2])
def test_who_needs_the_leader_is_led_to_the_last_one_elected(
    members: list[LedMember], expected: int | None, current: int | None
) -> None:
    assert choose_member(members, leader_only=True, current=current) == expected


@pytest.mark.parametrize(
    ("members", "current", "expected"),
    [
        pytest.param([LEADER, FOLLOWER, FOLLOWER], None, 1, id="not the leader, which has the most to do"),
        pytest.param([LEADER, GONE, GONE], None, 0, id="the leader if it is the only one"),
        pytest.param([LEADER, FOLLOWER, FOLLOWER], 2, 2, id="it stays where it is"),
        pytest.param([FOLLOWER, FOLLOWER, LEADER], 2, 2, id="also if that one is elected"),
        pytest.param([LEADER, GONE, FOLLOWER], 1, 2, id="until that one is gone"),
        pytest.param([GONE, GONE, GONE], 1, None, id="nobody is left"),
    ],
)
def test_who_takes_any_member_stays_with_it(
    members: list[LedMember], current: int | None, expected: int | None
) -> None:
    assert choose_member(members, leader_only=False, current=current) == expected


def test_a_state_is_as_old_as_its_last_change() -> None:
    elected = next_state(FOLLOWER, answer(connected=True, leader=True), 5.0)
    assert elected == LedMember(connected=True, leader=True, since=5.0)
    assert next_state(elected, answer(connected=True, leader=True), 6.0) is elected


@pytest.mark.parametrize(
    "given",
    [
        pytest.param(None, id="no answer yet"),
        pytest.param(answer(True, True, Problem("timeout", "it hangs")), id="it could not be asked"),
        pytest.param(answer(connected=False, leader=False), id="it lost its cluster"),
        pytest.param(answer(connected=False, leader=True), id="a leader without a cluster"),
    ],
)
def test_who_does_not_take_part_is_gone(given: Answer | None) -> None:
    assert next_state(LEADER, given, 7.0) == LedMember(since=7.0)


@pytest.mark.parametrize(
    ("state", "leader_only", "left"),
    [
        pytest.param(FOLLOWER, True, False, id="its clients leave it by themselves, and come at once"),
        pytest.param(LEADER, True, True, id="it does not know that another one leads"),
        pytest.param(GONE, True, True, id="it does not answer"),
        pytest.param(LEADER, False, False, id="any member will do"),
        pytest.param(GONE, False, True, id="but not one that is gone"),
    ],
)
def test_clients_are_cut_off_only_from_who_is_not_there(state: LedMember, leader_only: bool, left: bool) -> None:
    assert is_left(state, leader_only=leader_only) is left
