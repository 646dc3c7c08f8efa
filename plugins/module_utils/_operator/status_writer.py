# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes the operator's part of the status of one OVNCluster."""

from __future__ import annotations

import collections
import contextlib
import datetime
import logging
import secrets
import threading
import time
import typing as t

from .._api.names import API_VERSION, Object
from .._api.status_conditions import HYPERVISOR_CLUSTERS, TargetOutcome, operator_status
from .._base.errors import Conflict, OvnError, list_names
from .._kubernetes.client import Cluster
from .._kubernetes.timestamps import format_timestamp

# Metrics of the operator.

with contextlib.suppress(ImportError):  # main says so
    import prometheus_client

_BUCKETS = (0.5, 1, 2, 5, 10, 30, 60, 120, 300, 600, 1800)


class Metrics:
    """`cluster` is NAMESPACE/NAME of an OVNCluster, `target` is `control-plane` or the name of a hypervisor cluster."""

    def __init__(self) -> None:
        self.registry = prometheus_client.CollectorRegistry()
        target = ("cluster", "target")
        self.reconciles = prometheus_client.Counter(
            "c5c3_ovn_operator_reconciles",
            "Runs by their result: unchanged, changed, waiting or failed.",
            (*target, "result"),
            registry=self.registry,
        )
        self.seconds = prometheus_client.Histogram(
            "c5c3_ovn_operator_reconcile_seconds",
            "How long runs take.",
            target,
            buckets=_BUCKETS,
            registry=self.registry,
        )
        self.requests = prometheus_client.Counter(
            "c5c3_ovn_operator_requests",
            "Requests of runs to the API server of the target.",
            target,
            registry=self.registry,
        )
        self.ready = prometheus_client.Gauge(
            "c5c3_ovn_operator_target_ready",
            "Whether the last run has found or made it as declared.",
            target,
            registry=self.registry,
        )
        self.queue = prometheus_client.Gauge(
            "c5c3_ovn_operator_queue_length", "Targets whose run is due.", registry=self.registry
        )
        self.leader = prometheus_client.Gauge(
            "c5c3_ovn_operator_leader", "Whether this process leads.", registry=self.registry
        )

    def finished(self, cluster: str, target: str, result: str, seconds: float, requests: int) -> None:
        """Count a run."""
        self.reconciles.labels(cluster, target, result).inc()
        self.seconds.labels(cluster, target).observe(seconds)
        self.requests.labels(cluster, target).inc(requests)
        if result != "waiting":
            self.ready.labels(cluster, target).set(result != "failed")

    def remove(self, cluster: str, target: str) -> None:
        """Remove the values of a target that is not there any more."""
        for one in (self.seconds, self.requests, self.ready):
            with contextlib.suppress(KeyError):
                one.remove(cluster, target)
        for result in ("unchanged", "changed", "waiting", "failed"):
            with contextlib.suppress(KeyError):
                self.reconciles.remove(cluster, target, result)


# Events of an OVNCluster: what the operator did, and what keeps it from it.

_COMPONENT = "ovn-operator"
_LONGEST = 1024  # characters that the API server takes
_SAME_REASON = 600.0  # seconds
_MOST_NAMED = 3  # of a kind
_REMEMBERED = 50  # warnings of a place: most come with every run


class Events:
    """Writes events about one OVNCluster. What was told last of a place is not told again."""

    def __init__(self, cluster: Cluster, resource: Object) -> None:
        self._cluster, self._resource = cluster, resource
        self._failures: dict[str, tuple[str, str, float]] = {}  # by place: reason, message, time
        self._warned: collections.defaultdict[str, list[str]] = collections.defaultdict(list)

    def changed(self, place: str, result: t.Mapping[str, t.Any]) -> None:
        """Tell what a run has changed."""
        self._write("Normal", "Changed", f"{place}: {describe_changes(result)}")

    def failed(self, place: str, reason: str, message: str) -> None:
        """Tell why a run has failed: once, and a cause whose words change with every attempt at most every ten minutes."""
        former = self._failures.get(place)
        now = time.monotonic()
        if former is not None and former[0] == reason and (former[1] == message or now - former[2] < _SAME_REASON):
            return
        self._failures[place] = (reason, message, now)
        self._write("Warning", reason, f"{place}: {message}")

    def succeeded(self, place: str) -> None:
        """The next failure is a new one."""
        self._failures.pop(place, None)

    def warned(self, place: str, message: str) -> None:
        if message not in self._warned[place]:
            self._warned[place] = [*self._warned[place], message][-_REMEMBERED:]
            self._write("Warning", "Warning", f"{place}: {message}")

    def _write(self, kind: str, reason: str, message: str) -> None:
        metadata = self._resource["metadata"]
        _LOG.log(
            logging.INFO if kind == "Normal" else logging.WARNING,
            "%s/%s: %s",
            metadata["namespace"],
            metadata["name"],
            message,
        )
        now = format_timestamp(datetime.datetime.now(datetime.timezone.utc))
        reference = {key: metadata[key] for key in ("name", "namespace", "uid")}
        event = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": f"{metadata['name']}.{secrets.token_hex(8)}", "namespace": metadata["namespace"]},
            "involvedObject": {"apiVersion": API_VERSION, "kind": "OVNCluster", **reference},
            "type": kind,
            "reason": reason,
            "message": message if len(message) <= _LONGEST else f"{message[: _LONGEST - 1]}…",
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
            "source": {"component": _COMPONENT},
        }
        try:
            self._cluster.create(event)
        except OvnError as e:  # it is in the log, and the condition has the last one
            _LOG.warning("The event was not written: %s", e)


def describe_changes(result: t.Mapping[str, t.Any]) -> str:
    """Return in one sentence what a run has changed: its steps, then the objects by kind and action. Pure."""
    groups: dict[tuple[str, str], list[str]] = {}
    for one in result.get("objects") or ():
        if one["action"] != "unchanged":
            groups.setdefault((one["kind"], one["action"]), []).append(one["name"])
    objects = [f"{kind} {list_names(names, _MOST_NAMED)} {action}" for (kind, action), names in groups.items()]
    return "; ".join([*(result.get("steps") or ()), *objects]) or "nothing"


_LOG = logging.getLogger("c5c3.ovn.operator")
_ATTEMPTS = 5  # observers and runs write the same object


class StatusWriter:
    """Knows the last outcome of each place. What is in the status from an earlier process counts until there is a newer one."""

    def __init__(self, cluster: Cluster, resource: Object) -> None:
        metadata = resource["metadata"]
        self._cluster, self._name, self._namespace, self._uid = (
            cluster,
            metadata["name"],
            metadata["namespace"],
            metadata["uid"],
        )
        self._lock = threading.Lock()
        self._control_plane: TargetOutcome | None = None
        self._generation = 0
        self._clusters = {
            one["name"]: TargetOutcome(one["ready"], one.get("reason") or "", one.get("message") or "")
            for one in (resource.get("status") or {}).get(HYPERVISOR_CLUSTERS) or ()
        }

    def record_control_plane(self, outcome: TargetOutcome, generation: int, places: t.Collection[str]) -> None:
        """Write what became of the control plane. `places` are the names of all hypervisor clusters of that generation."""
        with self._lock:
            self._control_plane, self._generation = outcome, generation
            self._clusters = {name: one for name, one in self._clusters.items() if name in places}
            self._write()

    def record_cluster(self, name: str, outcome: TargetOutcome) -> None:
        """Write what became of a hypervisor cluster."""
        with self._lock:
            self._clusters[name] = outcome
            self._write()

    def _write(self) -> None:
        if self._control_plane is None:
            return  # its run is the next to end
        try:
            for _attempt in range(_ATTEMPTS):
                if self._write_once(self._control_plane):
                    return
        except OvnError as e:
            _LOG.warning("The status of OVNCluster %s/%s was not written: %s", self._namespace, self._name, e)

    def _write_once(self, control_plane: TargetOutcome) -> bool:
        """Return False if somebody else has written it meanwhile."""
        resource = self._cluster.get(API_VERSION, "OVNCluster", self._name, self._namespace)
        if resource is None or resource["metadata"]["uid"] != self._uid:
            return True
        previous = resource.get("status") or {}
        now = format_timestamp(datetime.datetime.now(datetime.timezone.utc))
        status = operator_status(previous, control_plane, self._clusters, generation=self._generation, now=now)
        if status == previous:
            return True
        metadata = {
            "name": self._name,
            "namespace": self._namespace,
            "resourceVersion": resource["metadata"]["resourceVersion"],
        }
        try:
            self._cluster.apply_status(
                {"apiVersion": API_VERSION, "kind": "OVNCluster", "metadata": metadata, "status": status}
            )
        except Conflict:
            return False
        return True
