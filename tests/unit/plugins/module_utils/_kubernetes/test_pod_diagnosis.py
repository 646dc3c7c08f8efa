"""Kubernetes' own words about pods that do not run."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.pod_diagnosis import (
    diagnose_containers,
    diagnose_events,
    ends_at_once,
)


def pod(name: str, **status: t.Any) -> dict[str, t.Any]:
    return {"metadata": {"name": name}, "status": status}


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ({}, []),
        (
            {"conditions": [{"type": "PodScheduled", "status": "False", "message": "0/3 nodes are available"}]},
            ["Pod db-0 has no node: 0/3 nodes are available"],
        ),
        ({"conditions": [{"type": "PodScheduled", "status": "True"}]}, []),
        (
            {
                "containerStatuses": [
                    {
                        "name": "database",
                        "state": {"waiting": {"reason": "ImagePullBackOff", "message": "no such image"}},
                    }
                ]
            },
            ["Container database of pod db-0 waits (ImagePullBackOff: no such image)"],
        ),
        ({"containerStatuses": [{"name": "database", "state": {"waiting": {"reason": "ContainerCreating"}}}]}, []),
        ({"containerStatuses": [{"name": "database", "state": {"running": {}}}]}, []),
    ],
    ids=["nothing known", "no node", "has a node", "no image", "is being made", "runs"],
)
def test_container_troubles(status: dict[str, t.Any], expected: list[str]) -> None:
    assert diagnose_containers(pod("db-0", **status)) == expected


def event(kind: str, name: str, reason: str, message: str, time: str, severity: str = "Warning") -> dict[str, t.Any]:
    return {
        "metadata": {},
        "type": severity,
        "reason": reason,
        "message": message,
        "lastTimestamp": time,
        "involvedObject": {"kind": kind, "name": name},
    }


def test_the_newest_warning_about_each_object_counts() -> None:
    events = [
        event("StatefulSet", "ovn-northbound", "FailedCreate", "exceeded quota", "2026-01-01T00:00:02Z"),
        event(
            "PersistentVolumeClaim", "data-ovn-northbound-0", "ProvisioningFailed", "old words", "2026-01-01T00:00:01Z"
        ),
        event(
            "PersistentVolumeClaim", "data-ovn-northbound-0", "ProvisioningFailed", "no class", "2026-01-01T00:00:03Z"
        ),
        event("Pod", "ovn-northbound-0", "Unhealthy", "probe failed", "2026-01-01T00:00:04Z"),
        event("Pod", "ovn-northbound-0", "Scheduled", "fine", "2026-01-01T00:00:05Z", severity="Normal"),
        event("Pod", "another-0", "FailedMount", "not ours", "2026-01-01T00:00:06Z"),
    ]
    assert diagnose_events(events, "ovn-northbound", ["ovn-northbound-0", "ovn-northbound-1"]) == [
        "PersistentVolumeClaim data-ovn-northbound-0: no class",
        "StatefulSet ovn-northbound: exceeded quota",
    ]


@pytest.mark.parametrize(
    ("restarts", "started", "ended", "at_once"),
    [
        (3, "2026-01-01T00:00:00Z", "2026-01-01T00:00:02Z", True),
        (3, "2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z", False),
        (2, "2026-01-01T00:00:00Z", "2026-01-01T00:00:02Z", False),
        (3, "1970-01-01T00:00:00Z", "2026-01-01T00:00:02Z", True),
    ],
    ids=["each time", "after a while", "twice", "its program cannot be started, which counts as begun in 1970"],
)
def test_what_ends_at_once(restarts: int, started: str, ended: str, at_once: bool) -> None:
    last = {"terminated": {"startedAt": started, "finishedAt": ended}}
    assert ends_at_once({"restartCount": restarts, "lastState": last}) is at_once
