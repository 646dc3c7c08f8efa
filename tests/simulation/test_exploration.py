"""A slice of the exploration: what `make simulate` does for longer. It is the same each time and on each machine, so a failure can be repeated."""

from __future__ import annotations

import pytest

from simulation.exhaustive import exhaustive
from simulation.explore import STARTS, Report, randomly

STORIES = 1000
LONG = 600.0  # seconds that are never needed


def complain(report: Report) -> str:
    return "\n\n".join("\n".join(story.sentences()) for story in report.found)


@pytest.mark.parametrize(
    ("start", "depth", "faults"), [("new machines", 4, 1), ("three machines", 3, 2), ("three containers", 3, 1)]
)
def test_no_short_sequence_of_events_breaks_a_rule(start: str, depth: int, faults: int) -> None:
    report = exhaustive(start, depth, LONG, faults)
    assert not report.found, complain(report)
    assert report.depth == depth


def test_with_one_fault_no_story_of_any_length_leads_three_machines_to_a_broken_rule() -> None:
    report = exhaustive("three machines", 20, LONG, faults=1)
    assert not report.found, complain(report)
    assert report.closed


@pytest.mark.parametrize("start", STARTS)
def test_no_random_story_breaks_a_rule(start: str) -> None:
    report = randomly([start], 8, LONG, seed=8, stories=STORIES)
    assert not report.found, complain(report)
    assert report.stories == STORIES
