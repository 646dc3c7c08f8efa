"""The answers of all pods, and what Kubernetes says about those that gave none."""

from __future__ import annotations

import json
import typing as t
from pathlib import Path

import pytest
from fake_cluster import FakeCluster

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import Refused, TimedOut
from ansible_collections.c5c3.ovn.plugins.module_utils._control_plane.pod_source import ask_pods
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.client import ExecResult
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.answer import Answer
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.ask import AskResult
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.record import Member, Record, render_files

Object = dict[str, t.Any]
CAPTURES = Path(__file__).resolve().parents[1] / "captures" / "pods"
CID = "a0b739a1-2c38-479b-9e0d-605e9da30330"
NAMES = [f"ovn-southbound-{number}" for number in range(3)]


def pod(name: str, runs: bool) -> Object:
    waiting = {"reason": "ImagePullBackOff", "message": "no such image"}
    container = {"name": "database", "state": {"running": {}} if runs else {"waiting": waiting}}
    labels = {"app.kubernetes.io/instance": "ovn", "app.kubernetes.io/component": "southbound"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "ovn-system", "labels": labels},
        "spec": {"nodeName": f"node-{name}"},
        "status": {"containerStatuses": [container]},
    }


def node(name: str, ready: str) -> Object:
    status = {"conditions": [{"type": "Ready", "status": ready}]}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": status}


def cluster_with(pods: dict[str, str | None], *others: Object, record: bool = True, hangs: str = "") -> FakeCluster:
    """Pods that say what was captured; a pod without a capture does not run."""
    members = {name: Member(f"ssl:{name}:6644") for name in NAMES}
    metadata = {"name": "ovn-southbound-record", "namespace": "ovn-system"}
    files = render_files(Record("southbound", members, revision=2, cid=CID), 1000)
    stored = [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": files}] if record else []
    cluster = FakeCluster(*(pod(name, bool(capture)) for name, capture in pods.items()), *stored, *others)
    for name, capture in pods.items():
        if capture:
            cluster.answers[name] = ExecResult(**json.loads((CAPTURES / f"{capture}.json").read_text()))
    if hangs:
        cluster.answers[hangs] = TimedOut(f"Cannot exec in {hangs}: no answer within 3 s.")
    return cluster


def asked_pods(cluster: FakeCluster) -> list[str]:
    return sorted(call.name for call in cluster.asked("exec"))


def ask(cluster: FakeCluster, earlier: t.Sequence[Answer] = ()) -> AskResult:
    return ask_pods(cluster, "ovn-system", "ovn", "southbound", 3, earlier)


def test_everybody_answers() -> None:
    asked = ask(cluster_with(dict(zip(NAMES, ("leader", "follower", "without-quorum")))))
    assert [answer.member for answer in asked.answers] == NAMES
    assert all(answer.cluster_status for answer in asked.answers)
    assert (asked.members, asked.cluster_id) == (3, CID)


def test_a_pod_that_does_not_run_is_reported_with_the_message_of_kubernetes() -> None:
    asked = ask(cluster_with(dict(zip(NAMES, ("leader", "follower", None)))))
    assert asked.answers[2].problems[0].message == (
        "Pod ovn-southbound-2 does not run. Kubernetes says: Container database of pod ovn-southbound-2 waits (ImagePullBackOff: no such image)."
    )


def test_a_pod_that_does_not_answer_is_reported() -> None:
    asked = ask(cluster_with(dict.fromkeys(NAMES, "leader"), hangs=NAMES[1]))
    assert [answer.is_responding for answer in asked.answers] == [True, False, True]
    assert asked.answers[1].problems[0] == ("timeout", "Cannot exec in ovn-southbound-1: no answer within 3 s.")


def test_a_pod_that_did_not_answer_is_not_asked_again_in_the_next_sample() -> None:
    cluster = cluster_with(dict.fromkeys(NAMES, "leader"), hangs=NAMES[1])
    earlier = ask(cluster).answers
    cluster.calls.clear()
    again = ask(cluster, earlier)
    assert asked_pods(cluster) == [NAMES[0], NAMES[2]]
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
    nodes = [node(f"node-{NAMES[1]}", ready), node(f"node-{NAMES[0]}", "True")]
    cluster = cluster_with(dict.fromkeys(NAMES, "leader"), *nodes)
    answers = ask(cluster).answers
    assert (NAMES[1] in asked_pods(cluster)) is asked
    assert answers[1].is_responding is asked
    if not asked:
        assert answers[1].problems[0].message == (
            f"Pod {NAMES[1]} cannot be asked: node node-{NAMES[1]} has not reported since an unknown time."
        )


def test_who_may_not_list_nodes_asks_every_pod() -> None:
    cluster = cluster_with(dict.fromkeys(NAMES, "leader"))
    cluster.always("list", Refused("Cannot list Node: forbidden."), kind="Node")
    assert all(answer.is_responding for answer in ask(cluster).answers)


def test_a_pod_that_does_not_exist_is_reported_with_the_events_of_its_owner() -> None:
    about = {"kind": "StatefulSet", "name": "ovn-southbound"}
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "refused", "namespace": "ovn-system"},
        "type": "Warning",
        "reason": "FailedCreate",
        "message": "exceeded quota",
        "involvedObject": about,
    }
    asked = ask(cluster_with({NAMES[0]: "leader"}, event))
    assert [answer.is_responding for answer in asked.answers] == [True, False, False]
    assert asked.answers[1].problems[0].message == (
        "Pod ovn-southbound-1 does not exist. Kubernetes says: StatefulSet ovn-southbound: exceeded quota."
    )


def test_without_a_record_the_pods_are_all_that_is_known() -> None:
    asked = ask(cluster_with({NAMES[0]: "leader"}, record=False))
    assert (len(asked.answers), asked.members, asked.cluster_id) == (1, None, None)


def test_nothing_at_all_is_a_wrong_name() -> None:
    with pytest.raises(Refused, match="no southbound database of the OVNCluster ovn in namespace ovn-system"):
        ask(cluster_with({}, record=False))
