from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._agent.chassis_count import ChassisCounter, apply_updates
from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import BadAnswer

GRACE = 60.0


def rows(asked: int, **answered: int) -> dict[str, dict[str, dict[str, t.Any]]]:
    return {
        "SB_Global": {"g": {"nb_cfg": asked}},
        "Chassis": {f"c{name}": {"name": name} for name in answered},
        "Chassis_Private": {f"p{name}": {"name": name, "nb_cfg": number} for name, number in answered.items()},
    }


def test_nobody() -> None:
    assert ChassisCounter(GRACE).count({}, 0) == (0, ())


def test_who_has_not_answered_what_was_asked_before_is_silent() -> None:
    assert ChassisCounter(GRACE).count(rows(7, one=7, two=6), 1000) == (2, ("two",))


def test_a_new_heartbeat_gives_everybody_time() -> None:
    count = ChassisCounter(GRACE)
    assert count.count(rows(7, one=7, two=7), 0) == (2, ())
    assert count.count(rows(8, one=8, two=7), 1) == (2, ())
    assert count.count(rows(8, one=8, two=7), 1 + GRACE) == (2, ("two",))
    assert count.count(rows(8, one=8, two=8), 2 + GRACE) == (2, ())


def test_frequent_heartbeats_give_no_endless_time() -> None:
    count = ChassisCounter(GRACE)
    found: t.Any = ()
    for second in range(0, 200, 10):
        found = count.count(rows(7 + second, one=7 + second, two=7), second)
    assert found == (2, ("two",))


def test_numbers_that_start_again() -> None:
    """A Southbound database that was created again counts from zero."""
    count = ChassisCounter(GRACE)
    count.count(rows(700, dead=700, one=700), 0)
    assert count.count(rows(0, dead=700, one=700), 10 + GRACE) == (2, ())
    assert count.count(rows(1, dead=700, one=700), 20 + GRACE) == (2, ())
    assert count.count(rows(1, dead=700, one=1), 200) == (2, ("dead",))


def test_the_answer_of_a_removed_chassis_does_not_count() -> None:
    content = rows(7, one=7)
    content["Chassis_Private"]["old"] = {"name": "old", "nb_cfg": 7}
    assert ChassisCounter(GRACE).count(content, 0) == (1, ())


def test_updates() -> None:
    content: dict[str, dict[str, dict[str, t.Any]]] = {}
    apply_updates(content, {"Chassis": {"u": {"initial": {"name": "one"}}}, "SB_Global": {"g": {"initial": {}}}})
    apply_updates(
        content, {"SB_Global": {"g": {"modify": {"nb_cfg": 3}}}, "Chassis": {"v": {"insert": {"name": "two"}}}}
    )
    apply_updates(content, {"Chassis": {"u": {"delete": None}}})
    assert content == {"Chassis": {"v": {"name": "two"}}, "SB_Global": {"g": {"nb_cfg": 3}}}


@pytest.mark.parametrize("update", [None, [], {"Chassis": None}, {"Chassis": {"u": {}}}, {"Chassis": {"u": {"x": 1}}}])
def test_nonsense(update: t.Any) -> None:
    with pytest.raises(BadAnswer):
        apply_updates({}, update)
