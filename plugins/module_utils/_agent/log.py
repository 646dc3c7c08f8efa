# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

What the processes in pods print: one line for each change, not one for each attempt.
"""

from __future__ import annotations

import datetime
import sys
import threading

from .._errors import BadAnswer, OvnError


def expected(error: Exception) -> OvnError:
    """The same as one of ours: what nobody expected is told with its type, for whoever has to look for the fault."""
    return error if isinstance(error, OvnError) else BadAnswer(f"{type(error).__name__}: {error}")


class Log:
    """Lines on standard error, from any thread."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.Lock()
        self._troubles: dict[str, str] = {}

    def say(self, message: str) -> None:
        now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        with self._lock:
            sys.stderr.write(f"{now} {self._name}: {message}\n")
            sys.stderr.flush()

    def trouble(self, subject: str, error: OvnError | None) -> None:
        """Tell of trouble with `subject` when it begins, changes, or ends (None)."""
        message = "" if error is None else str(error)
        with self._lock:
            before = self._troubles.get(subject, "")
            self._troubles[subject] = message
        if message != before:
            self.say(message or f"{subject}: works again")
