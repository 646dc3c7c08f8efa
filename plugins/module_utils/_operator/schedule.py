# SPDX-License-Identifier: GPL-3.0-or-later
"""When a place is worked on next. Pure: times come in, and go out."""

from __future__ import annotations

import dataclasses
import math

SETTLE = 0.5  # seconds after a change: edits come in groups
INTERVAL = 5.0  # at least, between the end of a run and the beginning of the next one for the same reason
FIRST_PAUSE, LONGEST_PAUSE = 5.0, 300.0  # after a failure, doubled with each one


@dataclasses.dataclass
class Schedule:
    """`due` is when the next run begins, on a monotonic clock. All times and `resync` are in seconds."""

    resync: float
    due: float = math.inf
    failures: int = 0
    not_before: float = 0.0
    is_urgent: bool = False  # something of what has come since the run began

    def wake(self, now: float, *, urgent: bool = False) -> None:
        """Something has changed. `urgent` is what somebody has declared, which may put right what made the last run fail: it does not wait for the pause."""
        moment = now + SETTLE
        self.is_urgent = self.is_urgent or urgent
        self.due = min(self.due, moment if urgent else max(moment, self.not_before))

    def begin(self) -> None:
        """A run begins: what has woken it so far is dealt with."""
        self.due, self.is_urgent = math.inf, False

    def end(self, now: float, *, failed: bool) -> None:
        """A run has ended. What came meanwhile is looked at once more: after a failure with the pause, unless it is urgent."""
        self.failures = self.failures + 1 if failed else 0
        pause = min(FIRST_PAUSE * 2 ** min(self.failures - 1, 10), LONGEST_PAUSE) if failed else INTERVAL
        self.not_before = now + pause
        if failed:
            self.due = min(self.due, self.not_before) if self.is_urgent else self.not_before
        elif self.due < math.inf:
            self.due = max(self.due, self.not_before)
        self.due = min(self.due, now + self.resync)
