"""Interval 60: grace 30, the first question at 66. Interval 6: grace 3, the first question at 6.6."""

from __future__ import annotations

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._agent.answer_watch import (
    AnswerWatch,
    LocalAnswer,
    local_answer,
)


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        pytest.param({"ovn-nb-cfg": "7", "ovn-nb-cfg-ts": "1700000000250"}, LocalAnswer(7, 1700000000.25), id="both"),
        pytest.param({}, LocalAnswer(), id="no heartbeat yet"),
        pytest.param({"ovn-nb-cfg": "7"}, LocalAnswer(7), id="before 21.09"),
        pytest.param({"ovn-nb-cfg": "x", "ovn-nb-cfg-ts": "1"}, LocalAnswer(), id="no number"),
        pytest.param({"ovn-nb-cfg": "7", "ovn-nb-cfg-ts": "9" * 400}, LocalAnswer(), id="no time"),
    ],
)
def test_local_answer(keys: dict[str, str], expected: LocalAnswer) -> None:
    assert local_answer(keys) == expected


@pytest.mark.parametrize(
    ("number", "age", "interval", "fresh"),
    [
        pytest.param(1, 0, 60, True, id="now"),
        pytest.param(1, 65, 60, True, id="the next one is about to come"),
        pytest.param(1, 67, 60, False, id="the next one should have come"),
        pytest.param(1, 7, 6, False, id="of a shorter interval"),
        pytest.param(1, 65, 0, True, id="nobody sends any: as with the default"),
        pytest.param(0, 0, 60, False, id="none was answered"),
        pytest.param(1, -5, 60, False, id="the clock was set back"),
    ],
)
def test_is_fresh(number: int, age: float, interval: float, fresh: bool) -> None:
    assert AnswerWatch().is_fresh(LocalAnswer(number, 1000.0), interval, 1000.0 + age) is fresh


def test_late_after_the_grace_period() -> None:
    watch = AnswerWatch()
    assert watch.must_ask(LocalAnswer(7, 1000), 66)
    assert watch.is_alive(8, 60, 66) is None
    assert watch.pause(15, 66) == 15
    assert not watch.must_ask(LocalAnswer(7, 1000), 81)
    assert watch.pause(20, 81) == 15
    assert watch.must_ask(LocalAnswer(7, 1000), 96)
    # A later heartbeat does not begin the period again.
    assert watch.is_alive(9, 60, 96) is False
    assert watch.must_ask(LocalAnswer(8, 1100), 97), "a new answer is a reason to ask"
    assert watch.is_alive(9, 60, 97) is None
    assert watch.must_ask(LocalAnswer(9, 1101), 98)
    assert watch.is_alive(9, 60, 98) is True


@pytest.mark.parametrize("interval", [1, 6, 60, 300])
def test_a_frozen_chassis_is_late_within_two_intervals(interval: float) -> None:
    """It freezes just after an answer, and each look comes as late as it can."""
    look = min(10, interval / 4)
    watch, answer, now, alive = AnswerWatch(), LocalAnswer(7, 0.001), 0.0, None
    while alive is not False:
        now += max(0.001, watch.pause(look, now))
        if not watch.is_fresh(answer, interval, now) and watch.must_ask(answer, now):
            alive = watch.is_alive(7 if now < interval else 8, interval, now)
    assert now < 2 * interval


def test_questions_become_rare_while_nobody_sends_heartbeats() -> None:
    watch, answer, times = AnswerWatch(), LocalAnswer(7, 0.001), [0.0]
    for now in range(66, 1500):
        if watch.must_ask(answer, now):
            times.append(now)
            assert watch.is_alive(7, 60, now) is True
    assert [second - first for first, second in zip(times[1:], times[2:])] == [15, 30, 60, 120, 240, 300, 300, 300]


def test_a_database_that_was_made_again_counts_from_zero() -> None:
    watch = AnswerWatch()
    watch.must_ask(LocalAnswer(7, 0), 0)
    assert watch.is_alive(9, 60, 0) is None
    watch.must_ask(LocalAnswer(7, 0), 30)
    assert watch.is_alive(0, 60, 30) is True, "nobody has sent a heartbeat"
    assert watch.is_alive(1, 60, 40) is None
    assert watch.is_alive(1, 60, 70) is False, "7 is an answer to the database of before"
    watch.must_ask(LocalAnswer(1, 80), 80)
    assert watch.is_alive(1, 60, 80) is True
