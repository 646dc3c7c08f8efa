# SPDX-License-Identifier: GPL-3.0-or-later
"""Metrics of the operator."""

from __future__ import annotations

import contextlib

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
