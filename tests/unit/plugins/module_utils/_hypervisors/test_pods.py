from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._hypervisors.nodes import Node
from ansible_collections.c5c3.ovn.plugins.module_utils._hypervisors.pods import (
    agent_messages,
    components_of,
    describe_rollout,
    explain,
    pod_problems,
    rolled_out,
    rollout_counts,
)

NODES = [Node("n1", "u", {}, {}, (), True)]


def pod(component: str, ready: bool = True, node: str = "n1", **status: t.Any) -> dict[str, t.Any]:
    condition = {"type": "Ready", "status": "True" if ready else "False"}
    return {
        "metadata": {"name": f"{component}-x", "labels": {"app.kubernetes.io/component": component}},
        "spec": {"nodeName": node},
        "status": {"conditions": [condition], **status},
    }


def pending(component: str) -> dict[str, t.Any]:
    field = {"key": "metadata.name", "operator": "In", "values": ["n1"]}
    affinity = {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchFields": [field]}]}
        }
    }
    condition = {
        "type": "PodScheduled",
        "status": "False",
        "message": "0/3 nodes are available: 1 Insufficient memory.",
    }
    one = pod(component)
    return {**one, "spec": {"affinity": affinity}, "status": {"conditions": [condition]}}


WAITING = {
    "containerStatuses": [
        {
            "name": "ovs-vswitchd",
            "ready": False,
            "state": {"waiting": {"reason": "ErrImagePull", "message": "not found"}},
        }
    ]
}
RUNNING = {"containerStatuses": [{"name": "agent", "ready": False, "state": {"running": {}}}]}


@pytest.mark.parametrize(
    ("pods", "words"),
    [
        pytest.param([pod("ovs"), pod("controller")], "", id="all is well"),
        pytest.param([pod("ovs")], "no pod of DaemonSet ovn-controller is there", id="a pod is missing"),
        pytest.param([pod("ovs", False, **WAITING), pod("controller")], "waits (ErrImagePull: not found)", id="image"),
        pytest.param(
            [pod("ovs"), pod("controller", False, **RUNNING)],
            "pod controller-x is not ready (container agent)",
            id="not ready",
        ),
        pytest.param(
            [pending("ovs"), pod("controller")],
            "Pod ovs-x has no node: 0/3 nodes are available",
            id="no room on its node",
        ),
    ],
)
def test_pod_problems(pods: list[dict[str, t.Any]], words: str) -> None:
    problems = pod_problems(pods, NODES)
    assert words in problems.get("n1", "")
    assert bool(problems) == bool(words)


def test_a_pod_that_is_replaced_does_not_hide_the_new_one() -> None:
    old = pod("ovs", False)
    old["metadata"]["deletionTimestamp"] = "2026-03-01T12:00:00Z"
    assert pod_problems([pod("ovs"), old, pod("controller")], NODES) == {}
    assert pod_problems([old, pod("ovs"), pod("controller")], NODES) == {}


@pytest.mark.parametrize(
    ("status", "down", "done"),
    [
        pytest.param({}, 0, False, id="not observed yet"),
        pytest.param(
            {"observedGeneration": 1, "desiredNumberScheduled": 2, "updatedNumberScheduled": 2, "numberReady": 2},
            0,
            False,
            id="an older version was observed",
        ),
        pytest.param(
            {"observedGeneration": 2, "desiredNumberScheduled": 2, "updatedNumberScheduled": 2, "numberReady": 2},
            0,
            True,
            id="done",
        ),
        pytest.param(
            {"observedGeneration": 2, "desiredNumberScheduled": 2, "updatedNumberScheduled": 1, "numberReady": 2},
            0,
            False,
            id="one is old",
        ),
        pytest.param(
            {"observedGeneration": 2, "desiredNumberScheduled": 2, "updatedNumberScheduled": 2, "numberReady": 1},
            0,
            False,
            id="one is not ready",
        ),
        pytest.param(
            {"observedGeneration": 2, "desiredNumberScheduled": 2, "updatedNumberScheduled": 2, "numberReady": 1},
            1,
            True,
            id="one node is down",
        ),
    ],
)
def test_rolled_out(status: dict[str, int], down: int, done: bool) -> None:
    assert rolled_out({"metadata": {"generation": 2}, "status": status}, 2, down) == done


def test_a_node_that_no_pod_tolerates_is_missed() -> None:
    status = {"observedGeneration": 2, "desiredNumberScheduled": 1, "updatedNumberScheduled": 1, "numberReady": 1}
    assert not rolled_out({"metadata": {"generation": 2}, "status": status}, 2)
    tainted = Node("n1", "u", {}, {}, (), True, ("gpu=yes:NoSchedule",))
    assert (
        "no pod of DaemonSet ovs is there (the node has the taints gpu=yes:NoSchedule)"
        in pod_problems([], [tainted])["n1"]
    )


def event(pod_name: str, message: str, moment: str, container: str = "agent") -> dict[str, t.Any]:
    about = {"kind": "Pod", "name": pod_name, "fieldPath": f"spec.containers{{{container}}}"}
    return {
        "metadata": {},
        "type": "Warning",
        "reason": "Unhealthy",
        "message": message,
        "lastTimestamp": moment,
        "involvedObject": about,
    }


def test_the_agent_speaks_through_its_probe() -> None:
    events = [
        event("a", "Readiness probe failed: old words", "2026-03-01T12:00:00Z"),
        event("a", "Readiness probe failed: The tunnels have no end.\n", "2026-03-01T12:01:00Z"),
        event("a", "Readiness probe failed: not the agent", "2026-03-01T12:02:00Z", "ovn-controller"),
        event("b", "Readiness probe failed: another pod", "2026-03-01T12:02:00Z"),
    ]
    assert agent_messages(events, ["a"]) == ["The tunnels have no end."]
    text = explain({"n1": "pod a is not ready"}, [pod("controller", False)], [])
    assert text == "Node n1: pod a is not ready"


def test_what_keeps_a_daemon_set_from_making_pods_is_told() -> None:
    message = 'Error creating: pods "ovs-" is forbidden: exceeded quota: small, requested: pods=1, used: pods=2, limited: pods=2'
    about = {"kind": "DaemonSet", "name": "ovs"}
    quota = {"metadata": {}, "type": "Warning", "reason": "FailedCreate", "message": message, "involvedObject": about}
    text = explain({"n1": "no pod of DaemonSet ovs is there"}, [], [quota])
    assert "Node n1: no pod of DaemonSet ovs is there" in text
    assert "exceeded quota: small" in text


def test_many_nodes_are_cut() -> None:
    text = explain({f"n{number}": "no pod" for number in range(8)}, [], [])
    assert "Node n4: no pod" in text
    assert "and 3 more nodes" in text


def test_nodes_with_an_open_vswitch_of_their_own_have_one_pod() -> None:
    assert pod_problems([pod("controller")], NODES, components=components_of("host")) == {}
    assert "DaemonSet ovs" in pod_problems([pod("controller")], NODES, components=components_of("managed"))["n1"]


def test_a_problem_has_the_reason_of_the_agent() -> None:
    event = {
        "involvedObject": {"name": "controller-x", "fieldPath": "spec.containers{agent}"},
        "message": "Readiness probe failed: ovs-vswitchd is not started, because this node has another Open vSwitch",
    }
    problems = pod_problems([pod("ovs"), pod("controller", False, **RUNNING)], NODES, [event])
    assert problems["n1"].endswith("; ovs-vswitchd is not started, because this node has another Open vSwitch")
    assert pod_problems([pod("ovs"), pod("controller")], NODES, [event]) == {}


def daemon_set(
    scheduled: int, updated: int, ready: int, generation: int = 2, observed: int | None = None
) -> dict[str, t.Any]:
    status = {
        "desiredNumberScheduled": scheduled,
        "currentNumberScheduled": scheduled,
        "updatedNumberScheduled": updated,
        "numberReady": ready,
        "observedGeneration": generation if observed is None else observed,
    }
    return {"metadata": {"name": "ovs", "uid": "u", "generation": generation}, "status": status}


@pytest.mark.parametrize(
    ("one", "up_to_date", "finished"),
    [
        (daemon_set(0, 0, 0), 0, 0),
        (daemon_set(5, 5, 2), 5, 2),
        (daemon_set(5, 0, 5), 0, 0),
        (daemon_set(5, 1, 4), 1, 0),
        (daemon_set(5, 1, 5), 1, 1),
        (daemon_set(5, 3, 1), 3, 0),
        (daemon_set(5, 5, 5), 5, 5),
    ],
    ids=[
        "no nodes",
        "a first rollout",
        "an update begins",
        "the first new pod starts",
        "the first new pod is ready",
        "most pods crash",
        "the end",
    ],
)
def test_rollout_counts(one: dict[str, t.Any], up_to_date: int, finished: int) -> None:
    version = ("ovs", "u", 2)
    assert rollout_counts([one]) == {(version, "up to date"): up_to_date, (version, "finished"): finished}


def test_counts_of_another_generation_are_others() -> None:
    assert rollout_counts([daemon_set(5, 5, 5, generation=2, observed=1)]) == {}
    assert not rollout_counts([daemon_set(5, 5, 5)]).keys() & rollout_counts([daemon_set(5, 1, 5, 3)]).keys()


@pytest.mark.parametrize(
    ("daemon_sets", "down", "text"),
    [
        ({}, 0, "DaemonSet ovs does not exist"),
        ({"ovs": daemon_set(5, 5, 5, observed=1)}, 0, "the controller of DaemonSets has not observed ovs yet"),
        ({"ovs": daemon_set(5, 3, 4)}, 0, "DaemonSet ovs is finished on 2 of 6 nodes (3 up to date, 4 ready)"),
        ({"ovs": daemon_set(7, 3, 6)}, 0, "DaemonSet ovs is finished on 2 of 7 nodes (3 up to date, 6 ready)"),
        ({"ovs": daemon_set(6, 3, 5)}, 1, "DaemonSet ovs is finished on at least 2 of 5 nodes (3 up to date, 5 ready)"),
    ],
    ids=["missing", "not observed", "a node without a pod", "a node that came later", "a node is down"],
)
def test_describe_rollout(daemon_sets: dict[str, t.Any], down: int, text: str) -> None:
    assert describe_rollout(daemon_sets, ["ovs"], 6, down) == text
