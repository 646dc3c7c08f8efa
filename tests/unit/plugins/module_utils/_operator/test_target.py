"""When a place is worked on next."""

from __future__ import annotations

import math

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._operator.target import (
    INTERVAL,
    LONGEST_PAUSE,
    SETTLE,
    Schedule,
)


def test_nothing_is_due_before_something_wakes_it() -> None:
    assert Schedule(600).due == math.inf


def test_edits_come_in_groups() -> None:
    schedule = Schedule(600)
    schedule.wake(10, urgent=True)
    schedule.wake(10.3)
    assert schedule.due == 10 + SETTLE


def test_what_comes_during_a_run_is_looked_at_once_more() -> None:
    schedule = Schedule(600)
    schedule.wake(0)
    schedule.begin()
    schedule.wake(1)
    schedule.wake(2)
    schedule.end(30, failed=False)
    assert schedule.due == 30 + INTERVAL


def test_after_a_quiet_run_it_is_looked_at_by_the_resync() -> None:
    schedule = Schedule(600)
    schedule.begin()
    schedule.end(30, failed=False)
    assert schedule.due == 630


@pytest.mark.parametrize(("failures", "pause"), [(1, 5), (2, 10), (3, 20), (7, LONGEST_PAUSE), (50, LONGEST_PAUSE)])
def test_failures_are_tried_again_ever_later(failures: int, pause: float) -> None:
    schedule = Schedule(6000)
    for _number in range(failures):
        schedule.begin()
        schedule.end(100, failed=True)
    assert schedule.due == 100 + pause


def test_an_edit_does_not_wait_for_the_pause_and_noise_does() -> None:
    schedule = Schedule(600)
    for _number in range(4):
        schedule.begin()
        schedule.end(100, failed=True)
    schedule.wake(101)
    assert schedule.due == 140
    schedule.wake(102, urgent=True)
    assert schedule.due == 102 + SETTLE


@pytest.mark.parametrize(("urgent", "due"), [(False, 100 + 40), (True, 99 + SETTLE)])
def test_what_comes_during_a_run_that_fails_waits_for_the_pause_unless_it_is_an_edit(urgent: bool, due: float) -> None:
    schedule = Schedule(600)
    for _number in range(3):
        schedule.begin()
        schedule.end(50, failed=True)
    schedule.wake(60, urgent=True)  # what came before the run began is dealt with
    schedule.begin()
    schedule.wake(99, urgent=urgent)
    schedule.end(100, failed=True)
    assert schedule.due == due


def test_success_ends_the_pauses() -> None:
    schedule = Schedule(600)
    for failed in (True, True, False, True):
        schedule.begin()
        schedule.end(100, failed=failed)
    assert schedule.due == 105
