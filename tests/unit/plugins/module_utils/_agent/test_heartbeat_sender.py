"""When the observer sends a heartbeat, and how long an answer may take; real chassis freeze in tests/integration/test_observer_heartbeats.py."""

from __future__ import annotations

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._agent.heartbeat_sender import (
    chassis_answer,
    grace,
    is_due,
    round_pause,
)


@pytest.mark.parametrize(
    ("previous", "number", "due"), [(None, 0, True), (None, 7, True), (7, 7, True), (7, 8, False), (7, 0, True)]
)
def test_a_heartbeat_of_somebody_else_is_enough(previous: int | None, number: int, due: bool) -> None:
    assert is_due(previous, number) is due


@pytest.mark.parametrize(
    ("options", "answer"),
    [
        ({}, True),
        ({"enable_chassis_nb_cfg_update": "true"}, True),
        ({"enable_chassis_nb_cfg_update": "False"}, False),
        ({"mac_prefix": "0a:00"}, True),
    ],
)
def test_chassis_that_are_told_not_to_answer(options: dict[str, str], answer: bool) -> None:
    assert chassis_answer(options) is answer


@pytest.mark.parametrize("interval", [1, 4, 20, 60, 300, 3600])
def test_a_frozen_chassis_is_found_within_two_intervals(interval: float) -> None:
    """It freezes just after its answer, and the round in which it would be late has just passed."""
    assert interval + grace(interval) + round_pause(interval) < 2 * interval


def test_without_heartbeats_of_its_own() -> None:
    assert (grace(0), round_pause(0)) == (60, 10)
