"""The answers of all pods, and what Kubernetes says about those that gave none."""

from __future__ import annotations

import json
import typing as t
from pathlib import Path

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._errors import Refused, TimedOut
from ansible_collections.c5c3.ovn.plugins.module_utils._k8s import Cluster, ExecResult
from ansible_collections.c5c3.ovn.plugins.module_utils._pods.ask import ask_pods
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.ask import Asked
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.record import Member, Record, render_files

CAPTURES = Path(__file__).resolve().parents[1] / "captures" / "pods"
CID = "a0b739a1-2c38-479b-9e0d-605e9da30330"
NAMES = [f"ovn-southbound-{number}" for number in range(3)]


class Pods:
    """An API server with pods that say what was captured; a pod without a capture does not run."""

    def __init__(self, pods: dict[str, str | None], *, record: bool = True, events: list[t.Any] | None = None) -> None:
        self.pods, self.events, self.hanging = pods, events or [], ""
        members = {name: Member(f"ssl:{name}:6644") for name in NAMES}
        files = render_files(Record("southbound", members, revision=2, cid=CID), 1000)
        self.record = {"data": files} if record else None

    def list(self, api_version: str, kind: str, namespace: str, *, labels: str = "") -> list[t.Any]:
        if kind == "Event":
            return self.events
        waiting = {"reason": "ImagePullBackOff", "message": "no such image"}
        states = {True: {"running": {}}, False: {"waiting": waiting}}
        return [
            {"metadata": {"name": n}, "status": {"containerStatuses": [{"name": "database", "state": states[bool(c)]}]}}
            for n, c in self.pods.items()
        ]

    def get(self, api_version: str, kind: str, name: str, namespace: str) -> t.Any:
        assert (kind, name) == ("ConfigMap", "ovn-southbound-record")
        return self.record

    def exec(self, namespace: str, pod: str, container: str, command: t.Any, *, timeout: float) -> ExecResult:
        capture = self.pods[pod]
        if pod == self.hanging:
            raise TimedOut(f"Cannot exec in {pod}: no answer within {timeout:g} s.")
        return ExecResult(**json.loads((CAPTURES / f"{capture}.json").read_text()))


def ask(pods: Pods) -> Asked:
    return ask_pods(t.cast(Cluster, pods), "ovn-system", "ovn", "southbound", 3)


def test_everybody_answers() -> None:
    asked = ask(Pods(dict(zip(NAMES, ("leader", "follower", "without-quorum")))))
    assert [answer.member for answer in asked.answers] == NAMES
    assert all(answer.cluster_status for answer in asked.answers)
    assert (asked.members, asked.cluster_id) == (3, CID)


def test_a_pod_that_does_not_run_is_told_in_the_words_of_kubernetes() -> None:
    asked = ask(Pods(dict(zip(NAMES, ("leader", "follower", None)))))
    assert asked.answers[2].problems[0].message == (
        "Pod ovn-southbound-2 does not run. Kubernetes says: Container database of pod ovn-southbound-2 waits (ImagePullBackOff: no such image)."
    )


def test_a_pod_that_does_not_answer_is_told() -> None:
    pods = Pods(dict.fromkeys(NAMES, "leader"))
    pods.hanging = NAMES[1]
    asked = ask(pods)
    assert [answer.spoke for answer in asked.answers] == [True, False, True]
    assert asked.answers[1].problems[0] == ("timeout", "Cannot exec in ovn-southbound-1: no answer within 3 s.")


def test_a_pod_that_does_not_exist_is_told_with_the_events_of_its_owner() -> None:
    about = {"kind": "StatefulSet", "name": "ovn-southbound"}
    event = {"type": "Warning", "reason": "FailedCreate", "message": "exceeded quota", "involvedObject": about}
    asked = ask(Pods({NAMES[0]: "leader"}, events=[{**event, "metadata": {}}]))
    assert [answer.spoke for answer in asked.answers] == [True, False, False]
    assert asked.answers[1].problems[0].message == (
        "Pod ovn-southbound-1 does not exist. Kubernetes says: StatefulSet ovn-southbound: exceeded quota."
    )


def test_without_a_record_the_pods_are_all_that_is_known() -> None:
    asked = ask(Pods({NAMES[0]: "leader"}, record=False))
    assert (len(asked.answers), asked.members, asked.cluster_id) == (1, None, None)


def test_nothing_at_all_is_a_wrong_name() -> None:
    with pytest.raises(Refused, match="no southbound database of the OVNCluster ovn in namespace ovn-system"):
        ask(Pods({}, record=False))
