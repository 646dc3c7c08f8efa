# SPDX-License-Identifier: GPL-3.0-or-later
"""One thread for each place, so that one that is away holds nobody up."""

from __future__ import annotations

import logging
import threading
import time
import typing as t

from .schedule import Schedule

_LOG = logging.getLogger("c5c3.ovn.operator")


class Worker:
    """Calls `work` whenever it is due, one at a time; `work` returns whether it has succeeded."""

    def __init__(self, name: str, work: t.Callable[[], bool], resync: float) -> None:
        self.name, self._work = name, work
        self._schedule, self._changed = Schedule(resync), threading.Condition()
        self._stopped = False
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> Worker:
        self._thread.start()
        return self

    @property
    def is_due(self) -> bool:
        with self._changed:
            return self._schedule.due <= time.monotonic()

    @property
    def is_alive(self) -> bool:
        return self._thread.is_alive() or self._stopped

    def wake(self, *, urgent: bool = False) -> None:
        with self._changed:
            self._schedule.wake(time.monotonic(), urgent=urgent)
            self._changed.notify_all()

    def stop(self) -> None:
        """Begin no further run. One that runs goes on to its end."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()

    def join(self, timeout: float) -> bool:
        """Wait until its last run has ended, and return whether it has."""
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def _run(self) -> None:
        while self._await_due():
            succeeded = False
            try:
                succeeded = self._work()
            except Exception:  # a fault of ours: it is told, and tried again like every failure
                _LOG.exception("%s: the run ended by an error that nobody has expected", self.name)
            with self._changed:
                self._schedule.end(time.monotonic(), failed=not succeeded)

    def _await_due(self) -> bool:
        """Return True when the next run is to begin, False once it is stopped."""
        with self._changed:
            while not self._stopped:
                left = self._schedule.due - time.monotonic()
                if left <= 0:
                    self._schedule.begin()
                    return True
                self._changed.wait(min(left, 3600.0))
            return False
