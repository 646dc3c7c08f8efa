"""Renaming a state changes nothing that happens in it."""

from __future__ import annotations

import random

import pytest

from simulation.canonical import canonical
from simulation.explore import STARTS, random_event
from simulation.runs import Outcome, play
from simulation.state import fingerprint, key
from simulation.world import NORTHBOUND, Violation, World


def told(world: World, event: tuple[object, ...]) -> tuple[str, str, int]:
    try:
        outcome = play(world, event)
    except Violation:
        return "violation", "", 0
    outcome = outcome or Outcome("")
    return outcome.word, "", outcome.points


@pytest.mark.parametrize("start", STARTS)
def test_a_renamed_world_goes_on_in_the_same_way(start: str) -> None:
    for seed in range(15):
        random_ = random.Random(seed)
        plain, renamed = STARTS[start].world(), STARTS[start].world()
        for _event in range(6):
            event = random_event(plain, random_)
            one, two = told(plain, event), told(renamed, event)
            assert one == two, f"seed {seed}: {event}"
            if one[0] == "violation":
                break
            canonical(renamed)
            again = renamed.copy()
            canonical(again)
            assert key(again) == key(renamed)


def test_what_an_operator_has_accepted_tells_worlds_apart() -> None:
    """Whether a loss is one depends on it, so what was found of one such world says nothing of the other."""
    one = STARTS["three machines"].world()
    given_up, adopting = one.copy(), one.copy()
    given_up.given_up[NORTHBOUND], given_up.rolled_back = one.acknowledged[NORTHBOUND], frozenset({NORTHBOUND})
    adopting.adopts = True
    assert one.acknowledged[NORTHBOUND]
    for identity in (fingerprint, key):
        assert len({identity(one), identity(given_up), identity(adopting)}) == 3
