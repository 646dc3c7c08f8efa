# SPDX-License-Identifier: GPL-3.0-or-later
"""Looks after all OVNClusters: begins with those that appear, ends with those that go."""

from __future__ import annotations

import logging
import threading
import time
import typing as t

from .._api.names import API_VERSION
from .._base.errors import OvnError
from .._kubernetes.watcher import Watched, Watcher
from .operated_cluster import OperatedCluster, observe_resource
from .target import Shared, Target

_LOG = logging.getLogger("c5c3.ovn.operator")


class Operator:
    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._clusters: dict[str, OperatedCluster] = {}
        self._lock = threading.Lock()
        watched = Watched(API_VERSION, "OVNCluster", shared.options.namespace)
        self._watcher = Watcher(shared.cluster, watched, observe_resource, self._on_cluster, self._on_problem)
        self._problem: OvnError | None = None
        shared.metrics.queue.set_function(lambda: float(sum(one.worker.is_due for one in self.targets())))

    def start(self) -> Operator:
        self._watcher.start()
        return self

    def stop(self, timeout: float) -> bool:
        """Begin nothing any more, and return whether the runs in progress have ended within `timeout` seconds."""
        self._watcher.stop()
        targets = self.targets()
        with self._lock:
            for one in self._clusters.values():
                one.stop()
        end = time.monotonic() + timeout
        return sum(not one.worker.join(max(end - time.monotonic(), 0)) for one in targets) == 0

    def targets(self) -> list[Target]:
        with self._lock:
            return [target for one in self._clusters.values() for target in one.targets()]

    def is_healthy(self) -> bool:
        """Return whether every worker lives."""
        return all(one.worker.is_alive for one in self.targets())

    def _on_problem(self, problem: OvnError | None) -> None:
        if problem is not None and str(problem) != str(self._problem):
            _LOG.warning("OVNClusters cannot be followed: %s", problem)
        self._problem = problem

    def _on_cluster(self, key: str, observed: t.Any) -> None:
        namespace, _slash, name = key.partition("/")
        with self._lock:
            known = self._clusters.get(key)
            if known is not None and (observed is None or observed.uid != known.uid):
                self._clusters.pop(key).stop()
                known = None
        if observed is None:
            return
        if known is None:
            resource = self._shared.cluster.get(API_VERSION, "OVNCluster", name, namespace)
            if resource is None:
                return  # its end is the next event
            known = OperatedCluster(self._shared, resource).start()
            with self._lock:
                self._clusters[key] = known
        known.on_change(observed)
