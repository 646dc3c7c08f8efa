"""A slice of the exploration: what `make simulate` does for longer. It is the same each time and on each machine, so a failure can be repeated."""

from __future__ import annotations

import collections

import pytest

from simulation.__main__ import print_results
from simulation.coverage import UNREACHED, branches
from simulation.events import SENTENCES
from simulation.exhaustive import DRAWN, DRAWN_IN_WIDE, enabled, exhaustive
from simulation.explore import NOT_DRAWN, STARTS, WEIGHTS, Report, Story, randomly

STORIES = 250
LONG = 600.0  # seconds that are never needed


def complain(report: Report) -> str:
    return "\n\n".join("\n".join(story.sentences()) for story in report.found)


def test_random_stories_draw_every_event() -> None:
    assert {*WEIGHTS, *NOT_DRAWN} == SENTENCES.keys()


def test_exhaustive_search_names_the_events_it_draws() -> None:
    worlds = [STARTS[start].world() for start in ("three machines", "three containers")]
    assert {event[0] for world in worlds for event in enabled(world, 2)} <= set(DRAWN) <= SENTENCES.keys()
    wide = {event[0] for world in worlds for event in enabled(world, 2, wide=True)}
    assert wide <= {*DRAWN, *DRAWN_IN_WIDE} <= SENTENCES.keys()


def test_unreached_reasons_are_reasons_of_the_planner() -> None:
    texts = [branch.text for branch in branches()]
    assert not [part for part in UNREACHED if not any(part in text for text in texts)]


def test_a_violation_is_printed_before_figures_and_coverage(capsys: pytest.CaptureFixture[str]) -> None:
    assert print_results(Report(found=[Story("three machines", (), "two leaders")]), Report()) == 1
    printed = capsys.readouterr().out
    assert -1 < printed.find("two leaders") < printed.find("stories/s") < printed.find("coverage: ")


def test_a_reason_that_is_reached_although_listed_as_unreached_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    said = collections.Counter(["northbound: no member was asked"])
    print_results(Report(reached=said), Report())
    assert "no member was asked\n      reached, although" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("start", "depth", "faults"), [("new machines", 4, 1), ("three machines", 3, 2), ("three containers", 2, 1)]
)
def test_no_short_sequence_of_events_breaks_a_rule(start: str, depth: int, faults: int) -> None:
    report = exhaustive(start, depth, LONG, faults)
    assert not report.found, complain(report)
    assert report.depth == depth


def test_no_sequence_of_two_events_of_more_kinds_breaks_a_rule() -> None:
    report = exhaustive("three machines", 2, LONG, faults=2, wide=True)
    assert not report.found, complain(report)
    assert report.depth == 2


def test_with_one_fault_no_story_of_any_length_leads_three_machines_to_a_broken_rule() -> None:
    report = exhaustive("three machines", 20, LONG, faults=1)
    assert not report.found, complain(report)
    assert report.closed


@pytest.mark.parametrize("start", STARTS)
def test_no_random_story_breaks_a_rule(start: str) -> None:
    report = randomly([start], 8, LONG, seed=8, stories=STORIES)
    assert not report.found, complain(report)
    assert report.stories == STORIES
