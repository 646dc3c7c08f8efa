# SPDX-License-Identifier: GPL-3.0-or-later
"""What every place has that the operator works on: a worker, and the account of each of its runs."""

from __future__ import annotations

import dataclasses
import logging
import math
import threading
import time
import typing as t

from .._api.status_conditions import TargetOutcome
from .._base.errors import OvnError, Refused
from .._kubernetes.client import Cluster
from .status_writer import Events, Metrics

# One thread for each place, so that one that is away holds nobody up.

# When a place is worked on next. Pure: times come in, and go out.

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


class Options(t.NamedTuple):
    """`namespace`: the only one whose OVNClusters are looked after, empty for all. `resync` in seconds."""

    namespace: str
    resync: float
    cluster_domain: str


class Shared(t.NamedTuple):
    """What all places have in common: the client of this cluster, the options, the metrics."""

    cluster: Cluster
    options: Options
    metrics: Metrics


class Waiting(OvnError):
    """Something else comes first. It is no failure: the place is woken when that has changed."""


class Target:
    """One place: `key` is NAMESPACE/NAME of the OVNCluster, `name` is `control-plane` or that of a hypervisor cluster."""

    def __init__(self, shared: Shared, key: str, name: str, events: Events) -> None:
        self.shared, self.key, self.name, self.events = shared, key, name, events
        self.worker = Worker(f"{key} {name}", self._reconcile, shared.options.resync)

    def run(self) -> dict[str, t.Any] | None:
        """Bring the place to what is declared and return the result of the module; None if there was nothing to look after."""
        raise NotImplementedError

    def record(self, outcome: TargetOutcome) -> None:
        """Write the outcome to the status."""
        raise NotImplementedError

    @property
    def requests(self) -> int:
        """Return how many requests were sent to the API server of this place."""
        return self.shared.cluster.requests

    def on_problem(self, problem: OvnError | None) -> None:
        """Something that wakes this place cannot be followed, or can again (None)."""
        if isinstance(problem, Refused):
            self.warn(f"{problem} Until then changes there are noticed only every {self.shared.options.resync:g} s.")

    def warn(self, message: str) -> None:
        self.events.warned(self.name, message)

    def _reconcile(self) -> bool:
        begun, requests = time.monotonic(), self.requests
        try:
            result = self.run()
        except Waiting as e:
            self.record(TargetOutcome(False, "Waiting", str(e)))
            self._count("waiting", begun, requests)
            return True
        except OvnError as e:
            if "holder" in e.details:  # another run is at work, a playbook for example
                self.record(TargetOutcome(False, "Waiting", str(e)))
                self._count("waiting", begun, requests)
                self.worker.wake()
                return True
            reason = type(e).__name__
            if any(one["action"] != "unchanged" for one in e.details.get("objects") or ()) or e.details.get("steps"):
                self.events.changed(self.name, e.details)
            self.events.failed(self.name, reason, str(e))
            self.record(TargetOutcome(False, reason, str(e)))
            self._count("failed", begun, requests)
            return False
        except Exception as e:
            message = f"Unexpected error, {type(e).__name__}: {e}. See the log of the operator."
            self.events.failed(self.name, "Fault", message)
            self.record(TargetOutcome(False, "Fault", message))
            self._count("failed", begun, requests)
            raise
        if result is not None:
            self.events.succeeded(self.name)
            if result["changed"]:
                self.events.changed(self.name, result)
            self.record(TargetOutcome(True, "AsDeclared", "As declared."))
            self._count("changed" if result["changed"] else "unchanged", begun, requests)
        return True

    def _count(self, result: str, begun: float, requests: int) -> None:
        self.shared.metrics.finished(
            self.key, self.name, result, time.monotonic() - begun, max(self.requests - requests, 0)
        )
