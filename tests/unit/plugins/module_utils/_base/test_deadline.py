"""A deadline that counts from the last progress, and what counts as progress."""

from __future__ import annotations

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._base import deadline as deadlines
from ansible_collections.c5c3.ovn.plugins.module_utils._base.deadline import ProgressDeadline, raise_marks


@pytest.mark.parametrize(
    ("observations", "progress"),
    [
        ([{"a": 0}], [False]),
        ([{"a": 2}, {"a": 2}, {"a": 3}], [True, False, True]),
        ([{"a": 2}, {"a": 1}, {"a": 2}, {"a": 1}, {"a": 3}], [True, False, False, False, True]),
        ([{"a": 2, "b": 1}, {"a": 1, "b": 2}, {"a": 2, "b": 1}], [True, True, False]),
        ([{"a": 2}, {}, {"a": 2}], [True, False, False]),
        ([{"a": 2}, {"b": 0}, {"b": 1}], [True, False, True]),
    ],
    ids=[
        "nothing yet",
        "it rises",
        "it flaps",
        "one rises while the other flaps",
        "it could not be read meanwhile",
        "another one begins with none",
    ],
)
def test_raise_marks(observations: list[dict[str, int]], progress: list[bool]) -> None:
    marks: deadlines.Counts = {}
    found = []
    for observed in observations:
        marks, progressed = raise_marks(marks, {**observed})
        found.append(progressed)
    assert found == progress


def test_progress_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(deadlines.time, "monotonic", lambda: now)
    deadline = ProgressDeadline(10)
    deadline.observe({"a": 1})
    for moment, ready, left in ((108, 2, 10), (114, 1, 4), (117, 2, 1), (117.5, 3, 10), (127.5, 3, 0)):
        now = moment
        deadline.observe({"a": ready})
        assert deadline.left() == left
    assert deadline.expired
    assert deadline.stalled().startswith("no progress for 10 s (since 20")
