"""The answers of all pods, and what Kubernetes says about those that gave none."""

from __future__ import annotations

import json
import typing as t
from pathlib import Path

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._errors import Refused, TimedOut
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.client import Cluster, ExecResult
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.ask import Asked
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.record import Member, Record, render_files
from ansible_collections.c5c3.ovn.plugins.module_utils._raft_pods.ask import ask_pods

CAPTURES = Path(__file__).resolve().parents[1] / "captures" / "pods"
CID = "a0b739a1-2c38-479b-9e0d-605e9da30330"
NAMES = [f"ovn-southbound-{number}" for number in range(3)]


class Pods:
    """An API server with pods that say what was captured; a pod without a capture does not run."""

    def __init__(self, pods: dict[str, str | None], *, record: bool = True, events: list[t.Any] | None = None) -> None:
        self.pods, self.events, self.hanging = pods, events or [], ""
        self.nodes: dict[str, str] | None = {}  # the status of the condition Ready; None: they may not be listed
        self.asked: list[str] = []
        members = {name: Member(f"ssl:{name}:6644") for name in NAMES}
        files = render_files(Record("southbound", members, revision=2, cid=CID), 1000)
        self.record = {"data": files} if record else None

    def list(self, api_version: str, kind: str, namespace: str | None = None, *, labels: str = "") -> list[t.Any]:
        if kind == "Event":
            return self.events
        if kind == "Node":
            if self.nodes is None:
                raise Refused("Cannot list Node: forbidden.")
            return [
                {"metadata": {"name": name}, "status": {"conditions": [{"type": "Ready", "status": ready}]}}
                for name, ready in self.nodes.items()
            ]
        waiting = {"reason": "ImagePullBackOff", "message": "no such image"}
        states = {True: {"running": {}}, False: {"waiting": waiting}}
        return [
            {
                "metadata": {"name": n},
                "spec": {"nodeName": f"node-{n}"},
                "status": {"containerStatuses": [{"name": "database", "state": states[bool(c)]}]},
            }
            for n, c in self.pods.items()
        ]

    def get(self, api_version: str, kind: str, name: str, namespace: str) -> t.Any:
        assert (kind, name) == ("ConfigMap", "ovn-southbound-record")
        return self.record

    def exec(self, namespace: str, pod: str, container: str, command: t.Any, *, timeout: float) -> ExecResult:
        capture = self.pods[pod]
        self.asked.append(pod)
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


def test_a_pod_that_did_not_answer_is_not_asked_again_in_the_next_sample() -> None:
    pods = Pods(dict.fromkeys(NAMES, "leader"))
    pods.hanging = NAMES[1]
    earlier = ask(pods).answers
    pods.asked.clear()
    again = ask_pods(t.cast(Cluster, pods), "ovn-system", "ovn", "southbound", 3, earlier)
    assert sorted(pods.asked) == [NAMES[0], NAMES[2]]
    assert again.answers[1].problems == earlier[1].problems


@pytest.mark.parametrize(
    ("ready", "asked"),
    [
        pytest.param("Unknown", False, id="a node that no longer reports is not waited for"),
        pytest.param("False", True, id="a node that says it is not ready is asked"),
        pytest.param("True", True, id="a node that is ready is asked"),
    ],
)
def test_pods_on_a_node_that_has_gone(ready: str, asked: bool) -> None:
    pods = Pods(dict.fromkeys(NAMES, "leader"))
    pods.nodes = {f"node-{NAMES[1]}": ready, f"node-{NAMES[0]}": "True"}
    answers = ask(pods).answers
    assert (NAMES[1] in pods.asked) is asked
    assert answers[1].spoke is asked
    if not asked:
        assert answers[1].problems[0].message == (
            f"Pod {NAMES[1]} cannot be asked: node node-{NAMES[1]} has not reported since an unknown time."
        )


def test_who_may_not_list_nodes_asks_every_pod() -> None:
    pods = Pods(dict.fromkeys(NAMES, "leader"))
    pods.nodes = None
    assert all(answer.spoke for answer in ask(pods).answers)


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
