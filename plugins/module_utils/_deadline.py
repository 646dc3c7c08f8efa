# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

One monotonic deadline shared by all steps of a task.
"""

from __future__ import annotations

import time


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
