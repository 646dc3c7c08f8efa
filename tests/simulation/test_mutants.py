"""The simulation finds a product that breaks a rule: for each rule one broken line, and a story that shows it."""

from __future__ import annotations

import pytest

from simulation.explore import replay
from simulation.mutants import MUTANTS, Mutant, found_by


@pytest.mark.parametrize("mutant", [pytest.param(m, id=f"{m.rule}: {m.what}") for m in MUTANTS])
def test_a_mutant_is_found(mutant: Mutant) -> None:
    if mutant.start:
        assert not replay(mutant.start, mutant.events), "the story fails without the mutant as well"
    assert found_by(mutant), "it survives"
