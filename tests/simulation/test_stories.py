"""What was found once never comes back: named stories, replayed on the code as it is."""

from __future__ import annotations

import pytest

from simulation.explore import Story, replay
from simulation.stories import OPEN, STORIES, Named


@pytest.mark.parametrize("story", [pytest.param(story, id=f"{story.name}: {story.title}") for story in STORIES])
def test_story(story: Named) -> None:
    violation = replay(story.start, story.events)
    assert not violation, "\n".join(Story(story.start, story.events, violation).sentences())


def test_open_stories() -> None:
    held = [story.name for story in OPEN if not replay(story.start, story.events)]
    assert not held, "These hold now: move them to STORIES."
