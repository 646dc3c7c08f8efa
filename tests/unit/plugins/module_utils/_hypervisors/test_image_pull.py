"""What the pods that pull images say about their nodes, and when an update may go on."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._hypervisors.image_pull import (
    NodePull,
    State,
    assess_nodes,
    assess_pod,
    count_progress,
    describe_refusal,
    judge_wave,
    nodes_without_place,
    place_warning,
    split_into_waves,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._hypervisors.nodes import Node
from ansible_collections.c5c3.ovn.plugins.module_utils._manifests.image_contract import LACKS

Object = dict[str, t.Any]
OWNER = "uid-of-the-daemon-set"


def node(name: str, *, ready: bool = True, taints: tuple[str, ...] = ()) -> Node:
    return Node(name, f"uid-{name}", {}, {}, (), ready, taints)


def container(
    reason: str = "", message: str = "", *, image_id: str = "", running: bool = False, ready: bool = True
) -> Object:
    state: Object = {"running": {}} if running else {}
    if reason:
        state = {"waiting": {"reason": reason, "message": message}}
    return {"imageID": image_id, "state": state, "ready": running and ready}


def ended(status: int, message: str, *, again: bool = False) -> Object:
    """A container that has ended; `again`: the kubelet waits to start it once more."""
    last = {"terminated": {"exitCode": status, "message": message}}
    states: Object = (
        {"state": {"waiting": {"reason": "CrashLoopBackOff"}}, "lastState": last} if again else {"state": last}
    )
    return {"imageID": "x", **states}


LACKING = "image example/ovn has no ovn-controller, sha256sum"


RUNNING, CREATING = container(running=True, image_id="x"), container("ContainerCreating")


def pod(*containers: Object, name: str = "p", on: str = "a", owner: str = OWNER, **status: t.Any) -> Object:
    names = [f"image-{number}" for number in range(1, 3)]
    statuses = [{"name": one, **status} for one, status in zip(names, containers)]
    return {
        "metadata": {"name": name, "ownerReferences": [{"uid": owner}]},
        "spec": {"nodeName": on, "containers": [{"name": one, "image": "example/ovn"} for one in names]},
        "status": {"containerStatuses": statuses, **status},
    }


UNSCHEDULED = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "Too many pods."}


@pytest.mark.parametrize(
    ("given", "state", "cause"),
    [
        pytest.param(pod(), "pulling", "", id="no status yet"),
        pytest.param(pod(CREATING, CREATING), "pulling", "", id="both are pulled"),
        pytest.param(pod(RUNNING, CREATING), "pulling", "", id="one is there"),
        pytest.param(pod(RUNNING, RUNNING), "present", "", id="both run"),
        pytest.param(pod(RUNNING, container(running=True, image_id="x", ready=False)), "pulling", "", id="it looks"),
        pytest.param(
            pod(RUNNING, ended(LACKS, "ovn-controller sha256sum\n")), "impossible", LACKING, id="it lacks something"
        ),
        pytest.param(
            pod(ended(LACKS, "ovn-controller sha256sum\n", again=True), RUNNING),
            "impossible",
            LACKING,
            id="started again",
        ),
        pytest.param(pod(RUNNING, ended(1, "")), "present", "", id="ended for another reason"),
        pytest.param(pod(RUNNING, container("CrashLoopBackOff")), "present", "", id="an image without sleep"),
        pytest.param(pod(RUNNING, container("CreateContainerError")), "present", "", id="a container without a start"),
        pytest.param(pod(RUNNING, container(image_id="x")), "present", "", id="a container that has ended"),
        pytest.param(
            pod(container("ErrImagePull", "no such tag."), CREATING),
            "failing",
            "Container image-1 of pod p waits (ErrImagePull: no such tag.)",
            id="an attempt failed",
        ),
        pytest.param(
            pod(RUNNING, container("ImagePullBackOff", "denied")),
            "failing",
            "Container image-2 of pod p waits (ImagePullBackOff: denied)",
            id="attempts fail",
        ),
        pytest.param(
            pod(container("InvalidImageName"), container("ErrImagePull")),
            "impossible",
            "Container image-1 of pod p waits (InvalidImageName); Container image-2 of pod p waits (ErrImagePull)",
            id="no name of an image",
        ),
        pytest.param(
            pod(container("ErrImageNeverPull"), RUNNING),
            "impossible",
            "Container image-1 of pod p waits (ErrImageNeverPull)",
            id="a node that never pulls",
        ),
        pytest.param(
            pod(conditions=[UNSCHEDULED]), "no place", "Pod p has no node: Too many pods", id="a node that is full"
        ),
        pytest.param(
            pod(phase="Failed", reason="OutOfpods", message="Pod was rejected."),
            "no place",
            "Pod p ended (OutOfpods: Pod was rejected)",
            id="refused by the kubelet",
        ),
        pytest.param(
            pod(RUNNING, RUNNING, phase="Failed", reason="Evicted"), "present", "", id="evicted with its images"
        ),
    ],
)
def test_what_a_pod_says(given: Object, state: State, cause: str) -> None:
    assert assess_pod(given) == NodePull(state, cause, "p")


def test_nodes_are_judged_by_the_pods_of_this_daemon_set() -> None:
    terminating = pod(RUNNING, RUNNING, name="former", on="b")
    terminating["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    pods = [
        pod(RUNNING, RUNNING, on="a", owner="that of an earlier run"),
        pod(name="new", on="b"),
        terminating,
        pod(RUNNING, RUNNING, on="another wave"),
    ]
    assert assess_nodes([node("a", taints=("x=y:NoSchedule",)), node("b")], pods, OWNER) == {
        "a": NodePull("no pod", "no pod of DaemonSet ovn-image-pull is there (the node has the taints x=y:NoSchedule)"),
        "b": NodePull("pulling", "", "new"),
    }


def test_waves() -> None:
    nodes = [node(f"{number}", ready=number != 2) for number in range(102)]
    names = [[one.name for one in wave] for wave in split_into_waves(nodes)]
    assert [name for wave in names for name in wave] == [f"{number}" for number in range(102) if number != 2]
    assert [len(wave) for wave in names] == [50, 50, 1]
    assert split_into_waves([node("a", ready=False)]) == []


@pytest.mark.parametrize(
    ("states", "failing", "stalled", "expected"),
    [
        pytest.param(["present", "present"], {}, 0, "settled", id="all have it"),
        pytest.param(["present", "pulling"], {}, 599, "wait", id="one pulls"),
        pytest.param(["present", "pulling"], {}, 600, "refused", id="one pulls for too long"),
        pytest.param(["failing", "present"], {"0": 19}, 0, "wait", id="the kubelet has to try again"),
        pytest.param(["failing", "pulling"], {"0": 20}, 0, "refused", id="it has tried again"),
        pytest.param(["failing", "pulling"], {"0": 1}, 600, "refused", id="no progress, whatever happens"),
        pytest.param(["impossible", "pulling"], {}, 0, "refused", id="trying again is of no use"),
        pytest.param(["no place", "present"], {}, 0, "settled", id="no place on one"),
        pytest.param(["no place", "no place"], {}, 0, "settled", id="no place at all"),
        pytest.param(["no place", "pulling"], {}, 0, "wait", id="no place on one, the other one pulls"),
        pytest.param(["no pod", "present"], {}, 19, "wait", id="a pod may come"),
        pytest.param(["no pod", "present"], {}, 20, "settled", id="no pod comes"),
        pytest.param(["no pod", "pulling"], {}, 30, "wait", id="no pod comes, the other one pulls"),
        pytest.param(["no pod", "pulling"], {}, 600, "refused", id="no pod comes, the other one gets no further"),
    ],
)
def test_judgement_of_a_wave(states: list[State], failing: dict[str, float], stalled: float, expected: str) -> None:
    pulls = {str(number): NodePull(state) for number, state in enumerate(states)}
    assert judge_wave(pulls, failing, stalled, 600) == expected


@pytest.mark.parametrize(("state", "expected"), [("no pod", "settled"), ("failing", "refused"), ("pulling", "refused")])
def test_no_patience_outlasts_the_limit(state: State, expected: str) -> None:
    assert judge_wave({"a": NodePull(state)}, {"a": 5} if state == "failing" else {}, 5, 5) == expected


def test_progress_is_a_pod_or_an_image() -> None:
    states: list[State] = ["present", "pulling", "no pod", "no place"]
    pulls = {str(number): NodePull(state) for number, state in enumerate(states)}
    assert count_progress(pulls) == {"pods": 3, "images": 1}


def event(kind: str, name: str, message: str) -> Object:
    about = {"kind": kind, "name": name}
    return {"type": "Warning", "involvedObject": about, "reason": "R", "message": message, "metadata": {}}


@pytest.mark.parametrize(
    ("pulls", "events", "stalled", "expected"),
    [
        pytest.param(
            {
                "a": NodePull("pulling"),
                "b": NodePull("failing", "no such tag."),
                "c": NodePull("impossible", "no name"),
            },
            [],
            "",
            "Not all nodes have r:3: node b: no such tag; node c: no name. Correct spec.ovnImage, spec.ovsImage, "
            "spec.agentImage or spec.metadataAgent.image, the registry or the Secret for it, then run "
            "again. No daemon was stopped.",
            id="images that nodes cannot get",
        ),
        pytest.param(
            {"a": NodePull("pulling", "", "p"), "b": NodePull("present", "", "q"), "c": NodePull("no pod", "none")},
            [event("Pod", "p", "no address is left."), event("Pod", "q", "nothing"), event("DaemonSet", "d", "quota")],
            "no progress for 600 s",
            "Not all nodes have r:3: node a is still pulling (Pod p: no address is left); no progress for 600 s. Look at these nodes and at their way to the "
            "registry; if that is only slow, set a longer wait_timeout (ovn_wait_timeout), then run again. No daemon was stopped.",
            id="a node that gets no further",
        ),
    ],
)
def test_refusal(pulls: dict[str, NodePull], events: list[Object], stalled: str, expected: str) -> None:
    assert describe_refusal("r:3", pulls, events, stalled) == expected


def test_a_refusal_by_many_nodes_names_some() -> None:
    pulls = {f"n{number:02}": NodePull("failing", "cause") for number in range(13)}
    message = describe_refusal("r:3", pulls, [], "")
    assert "node n09: cause; and 3 more. Correct" in message


def test_warning_about_nodes_without_a_place() -> None:
    pulls = {
        "a": NodePull("present"),
        "b": NodePull("no place", "Too many pods.", "p"),
        "c": NodePull("no pod", "none"),
    }
    events = [event("DaemonSet", "ovn-image-pull", "exceeded quota."), event("Pod", "p", "elsewhere")]
    without_place = nodes_without_place(pulls)
    begin = "Nodes that had no place for a pod that pulls r:3 pull when their daemons have been stopped already: "
    assert place_warning("r:3", without_place, events) == (
        f"{begin}node b: Too many pods; node c: none. Kubernetes says: DaemonSet ovn-image-pull: exceeded quota."
    )
    assert place_warning("r:3", without_place, []) == f"{begin}node b: Too many pods; node c: none."
