"""What northds in pods say, and what is said of those that are silent."""

from __future__ import annotations

import typing as t

import pytest
from fake_cluster import FakeCluster

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import TimedOut
from ansible_collections.c5c3.ovn.plugins.module_utils._control_plane.ask_northd import ask_northds, parse_northd
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.client import ExecResult

ACTIVE = "Status: active\nconnected\nconnected\novn-northd 24.03.4\n"


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        pytest.param(ExecResult(0, ACTIVE, ""), ("active", True, True, "24.03.4", ""), id="works"),
        pytest.param(
            ExecResult(0, "Status: standby\nnot connected\nconnected\novn-northd 24.03.4\n", ""),
            ("standby", False, True, "24.03.4", ""),
            id="stands by without one database",
        ),
        pytest.param(
            ExecResult(1, "", "ovn-appctl: cannot connect\n"),
            ("unreachable", None, None, "", "ovn-appctl: cannot connect"),
            id="no control socket",
        ),
        pytest.param(
            ExecResult(0, "Status: active\n", ""),
            ("unreachable", None, None, "", "the command in its pod ended with code 0"),
            id="cut off",
        ),
    ],
)
def test_what_the_command_says(result: ExecResult, expected: tuple[t.Any, ...]) -> None:
    assert tuple(parse_northd(result).values()) == expected


LABELS = {
    "app.kubernetes.io/name": "ovn",
    "app.kubernetes.io/instance": "ovn",
    "app.kubernetes.io/component": "northd",
}


def pod(name: str, phase: str = "Running", node: str = "", **metadata: t.Any) -> dict[str, t.Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "ovn-system", "labels": LABELS, **metadata},
        "spec": {"nodeName": node},
        "status": {"phase": phase},
    }


GONE = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "gone"},
    "status": {
        "conditions": [{"type": "Ready", "status": "Unknown", "lastTransitionTime": "2026-01-01T00:00:00Z"}],
    },
}


def test_every_pod_is_in_the_answer_but_those_that_leave() -> None:
    cluster = FakeCluster(
        GONE,
        pod("works"),
        pod("hangs"),
        pod("on-a-node-that-has-gone", node="gone"),
        pod("pending", "Pending"),
        pod("leaving", deletionTimestamp="now"),
        pod("a-databases", labels={**LABELS, "app.kubernetes.io/component": "northbound"}),
    )
    cluster.answers = {"works": ExecResult(0, ACTIVE, ""), "hangs": TimedOut("it hangs")}
    answers = ask_northds(cluster, "ovn-system", "ovn", 12.5)
    assert {call.body["timeout"] for call in cluster.asked("exec")} == {12.5}
    assert {name: (answer["state"], answer["reason"]) for name, answer in answers.items()} == {
        "hangs": ("unreachable", "it hangs"),
        "on-a-node-that-has-gone": ("unreachable", "node gone has not reported since 2026-01-01T00:00:00Z"),
        "pending": ("unreachable", "Kubernetes says: it does not run"),
        "works": ("active", ""),
    }


def test_a_command_in_a_pod_gets_ten_seconds_at_least() -> None:
    cluster = FakeCluster(pod("works"))
    cluster.answers = {"works": ExecResult(0, ACTIVE, "")}
    ask_northds(cluster, "ovn-system", "ovn", 3)
    assert {call.body["timeout"] for call in cluster.asked("exec")} == {10.0}
