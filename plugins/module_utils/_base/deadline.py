# SPDX-License-Identifier: GPL-3.0-or-later
"""One monotonic deadline shared by all steps of a task, and one that counts from the last progress."""

from __future__ import annotations

import datetime
import time
import typing as t


class Deadline:
    """`seconds` from now on the monotonic clock; wall-clock jumps do not matter."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._started = time.monotonic()

    @property
    def elapsed(self) -> float:
        return time.monotonic() - self._started

    @property
    def expired(self) -> bool:
        return self.elapsed >= self.seconds

    def left(self) -> float:
        """Return the seconds left, never negative."""
        return max(0.0, self.seconds - self.elapsed)

    def within(self, seconds: float) -> Deadline:
        """Return a deadline in `seconds` that ends no later than this one."""
        return Deadline(min(seconds, self.left()))


Counts = t.Mapping[t.Hashable, int]


def raise_marks(marks: Counts, observed: Counts) -> tuple[Counts, bool]:
    """Return the highest value that each count has had, and whether one of them has risen above all its earlier values.

    What goes down and up again is no progress, so that something that flaps cannot be waited for without end. Pure.
    """
    risen = {count: value for count, value in observed.items() if value > marks.get(count, 0)}
    return {**marks, **risen}, bool(risen)


class ProgressDeadline(Deadline):
    """`seconds` from the last progress, as `progressDeadlineSeconds` of a Deployment counts."""

    def __init__(self, seconds: float) -> None:
        super().__init__(seconds)
        self.marks: Counts = {}
        self.last_progress = datetime.datetime.now(datetime.timezone.utc)

    def observe(self, counts: Counts) -> None:
        """Count from now on if there was progress since the last call."""
        self.marks, progressed = raise_marks(self.marks, counts)
        if progressed:
            self._started = time.monotonic()
            self.last_progress = datetime.datetime.now(datetime.timezone.utc)

    def stalled(self) -> str:
        """Return for a message how long there was no progress, and since when."""
        return f"no progress for {self.elapsed:.0f} s (since {self.last_progress:%Y-%m-%dT%H:%M:%SZ})"
