"""A slice of the exploration: what `make simulate` does for longer. It starts at the same seed each time, so a failure can be repeated."""

from __future__ import annotations

import pytest

from simulation.explore import STARTS, Report, exhaustive, randomly

SECONDS = 20


def complain(report: Report) -> str:
    return "\n\n".join("\n".join(story.sentences()) for story in report.found)


@pytest.mark.parametrize("start", ["new machines", "three machines"])
def test_no_short_sequence_of_events_breaks_a_rule(start: str) -> None:
    report = exhaustive(start, 4, SECONDS, faults=2)
    assert not report.found, complain(report)
    assert report.depth >= 1


@pytest.mark.parametrize("start", STARTS)
def test_no_random_story_breaks_a_rule(start: str) -> None:
    report = randomly([start], 8, SECONDS / 4, seed=8)
    assert not report.found, complain(report)
    assert report.stories > 5
