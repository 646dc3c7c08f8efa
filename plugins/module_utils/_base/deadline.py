# SPDX-License-Identifier: GPL-3.0-or-later
"""One monotonic deadline shared by all steps of a task, and one that counts from the last progress."""

from __future__ import annotations

import contextlib
import datetime
import os
import time
import typing as t

# How long the stop of a database member may take, in seconds. The launcher uses it; the unit of a machine and the pod are limited to it.

# The server hands its leadership over and ends; longer than milliseconds only while it converts or writes a snapshot.
HANDOVER_SECONDS = 20
# After that: the server has got a signal and may still be busy.
AFTER_SIGNAL_SECONDS = 35
# Reading the end of the file and recording it, and starting the processes that do this.
RECORD_SECONDS = 5
# systemd and the kubelet kill what still runs after this.
STOP_SECONDS = HANDOVER_SECONDS + AFTER_SIGNAL_SECONDS + RECORD_SECONDS


# What a module is doing at the moment. A module prints nothing before it ends; the action plugin that started it on this machine reads this and prints it.

VARIABLE = "C5C3_OVN_PROGRESS"
"""The environment variable with the path of the file; without it there is no reader, and nothing is written."""


def report_progress(doing: str) -> None:
    """Say in one line what is done or waited for from now on."""
    path = os.environ.get(VARIABLE)
    if path:
        with contextlib.suppress(OSError), open(path, "w", encoding="utf-8") as file:
            file.write(doing)


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
