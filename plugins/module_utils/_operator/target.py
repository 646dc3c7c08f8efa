# SPDX-License-Identifier: GPL-3.0-or-later
"""What every place has that the operator works on: a worker, and the account of each of its runs."""

from __future__ import annotations

import time
import typing as t

from .._api.operator_status import TargetOutcome
from .._base.errors import OvnError, Refused
from .._kubernetes.client import Cluster
from .events import Events
from .metrics import Metrics
from .worker import Worker


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
