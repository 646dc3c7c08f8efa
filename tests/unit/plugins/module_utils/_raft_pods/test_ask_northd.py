"""What northds in pods say, and what is said of those that are silent."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._errors import TimedOut
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.client import ExecResult
from ansible_collections.c5c3.ovn.plugins.module_utils._raft_pods.ask_northd import ask_northds, parse_northd

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


class FakeCluster:
    def __init__(self, pods: dict[str, dict[str, t.Any]], answers: dict[str, t.Any]) -> None:
        self.pods, self.answers = pods, answers

    def list(self, *what: str, labels: str = "") -> list[dict[str, t.Any]]:
        if what == ("v1", "Node"):
            condition = {"type": "Ready", "status": "Unknown", "lastTransitionTime": "2026-01-01T00:00:00Z"}
            return [{"metadata": {"name": "gone"}, "status": {"conditions": [condition]}}]
        assert "app.kubernetes.io/component=northd" in labels
        return [{"metadata": {"name": name}, **pod} for name, pod in self.pods.items()]

    def exec(self, _namespace: str, pod: str, _container: str, _command: list[str], timeout: float) -> ExecResult:
        assert timeout == 3
        answer = self.answers[pod]
        if isinstance(answer, Exception):
            raise answer
        return t.cast("ExecResult", answer)


def test_every_pod_is_in_the_answer_but_those_that_leave() -> None:
    running = {"status": {"phase": "Running"}}
    pods = {
        "works": running,
        "hangs": running,
        "on a node that has gone": {**running, "spec": {"nodeName": "gone"}},
        "pending": {"status": {"phase": "Pending"}},
        "leaving": {"metadata": {"name": "leaving", "deletionTimestamp": "now"}},
    }
    cluster = FakeCluster(pods, {"works": ExecResult(0, ACTIVE, ""), "hangs": TimedOut("it hangs")})
    answers = ask_northds(t.cast("t.Any", cluster), "ovn-system", "ovn", 3)
    assert {name: (answer["state"], answer["reason"]) for name, answer in answers.items()} == {
        "hangs": ("unreachable", "it hangs"),
        "on a node that has gone": ("unreachable", "node gone has not reported since 2026-01-01T00:00:00Z"),
        "pending": ("unreachable", "Kubernetes says: it does not run"),
        "works": ("active", ""),
    }
