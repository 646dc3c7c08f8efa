"""The simulation finds a product that breaks a rule: for each rule one broken line, a story that shows it, and a search that knows no story."""

from __future__ import annotations

import pytest

from simulation.explore import Corpus, replay
from simulation.mutants import MUTANTS, Mutant, found_by, search

# Of the search, a slice that is the same each time and on each machine; all of it: `python -m simulation --mutants`.
SEARCHED = (
    "a lost member joins before its old server id is removed",
    "the leader restarts first",
    "settings are written before anything could refuse",
    "the container that leads is replaced first",
    "a run says that all is done while a restart is due",
)
STORIES = 150


@pytest.mark.parametrize("mutant", [pytest.param(m, id=f"{m.rule}: {m.what}") for m in MUTANTS])
def test_a_mutant_is_found(mutant: Mutant) -> None:
    if mutant.start:
        assert not replay(mutant.start, mutant.events), "the story fails without the mutant as well"
    assert found_by(mutant), "it survives"


@pytest.mark.parametrize("what", SEARCHED)
def test_search_finds_a_mutant_without_its_story(what: str) -> None:
    (mutant,) = (mutant for mutant in MUTANTS if mutant.what == what)
    assert search(mutant, Corpus(), seed=1, stories=STORIES, shorten=False).found, "the search is blind to it"
