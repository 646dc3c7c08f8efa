# SPDX-License-Identifier: GPL-3.0-or-later
"""The log of the processes in pods: one line for each change, not one for each attempt."""

from __future__ import annotations

import datetime
import sys
import threading

from .._base.errors import BadAnswer, OvnError


def as_ovn_error(error: Exception) -> OvnError:
    """Return the error as an `OvnError`. The message of an unexpected one begins with its class, for debugging."""
    return error if isinstance(error, OvnError) else BadAnswer(f"{type(error).__name__}: {error}")


class Log:
    """Lines on standard error, from any thread."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.Lock()
        self._errors: dict[str, str] = {}

    def info(self, message: str) -> None:
        now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        with self._lock:
            sys.stderr.write(f"{now} {self._name}: {message}\n")
            sys.stderr.flush()

    def report_error(self, subject: str, error: OvnError | None) -> None:
        """Log the error of `subject` when it begins, changes, or ends (None)."""
        message = "" if error is None else str(error)
        with self._lock:
            before = self._errors.get(subject, "")
            self._errors[subject] = message
        if message != before:
            self.info(message or f"{subject}: works again")
