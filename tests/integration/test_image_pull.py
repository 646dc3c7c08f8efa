"""New images are on the nodes before the first pod is replaced. Kubelets and the controller of DaemonSets are played by the tests."""

from __future__ import annotations

import json
import threading
import typing as t

import pytest
from _beside import beside
from _hypervisors import Hypervisors, actions
from _image_pulls import PULL, Fate, ImagePulls
from conftest import Ran, until, within

UPDATE = {"ovsImage": {"tag": "new"}, "ovnImage": {"tag": "newer"}}
DAEMON_SETS = "apis/apps/v1"


@pytest.fixture(autouse=True)
def nodes(hypervisors: Hypervisors) -> None:
    hypervisors.node("a", "192.0.2.1")
    hypervisors.node("b", "192.0.2.2")
    hypervisors()
    hypervisors.pods_are_ready(2)


@pytest.fixture
def limit() -> float:
    """Seconds without progress; a module has a minute."""
    return min(within(4), 15.0)


def place_of(hypervisors: Hypervisors, kind: str, group: str = "api/v1") -> str:
    return f"/{group}/namespaces/{hypervisors.namespace}/{kind}"


def update(hypervisors: Hypervisors, **options: t.Any) -> Ran:
    return hypervisors(
        **{"spec": UPDATE, "wait": True, "wait_timeout": min(within(20), 40), "may_fail": True, **options}
    )


def holder(hypervisors: Hypervisors) -> str | None:
    lease = hypervisors.get(f"{place_of(hypervisors, 'leases', 'apis/coordination.k8s.io/v1')}/ovn-hypervisors")
    return lease["spec"].get("holderIdentity") or None


def test_images_are_pulled_before_the_first_pod_is_replaced(hypervisors: Hypervisors, limit: float) -> None:
    before, pulls = hypervisors.generations(), ImagePulls(hypervisors, 2)
    predicted = update(hypervisors, check=True)
    assert hypervisors.generations() == before
    with beside(pulls.play):
        ran = update(hypervisors)
    assert not ran.failed, ran["msg"]
    assert (pulls.waves, pulls.generations) == ([["a", "b"]], [before])
    after = hypervisors.generations()
    assert set(after) == set(before)
    assert all(after[name] > before[name] for name in before)
    images = [one["image"] for one in pulls.template["containers"]]
    assert [image.rpartition(":")[2] for image in images] == ["new", "newer"]
    assert pulls.template["nodeSelector"] == {"node-role.kubernetes.io/hypervisor": ""}
    assert not pulls.template.keys() & {"hostNetwork", "priorityClassName"}
    assert predicted["steps"] == ran["steps"] == [f"pull {images[0]} and {images[1]} on the nodes"]
    assert actions(predicted) == actions(ran)
    again = update(hypervisors)
    assert (again["changed"], again["steps"]) == (False, [])
    # The pods of that pull are still there, and say nothing about another image.
    pulls = ImagePulls(hypervisors, 2, b="failing")
    with beside(pulls.play):
        refused = update(hypervisors, spec={**UPDATE, "ovsImage": {"tag": "next"}}, wait_timeout=limit)
    assert refused["msg"].startswith("Not all nodes have ")


def test_open_vswitch_of_the_nodes_is_not_pulled(hypervisors: Hypervisors) -> None:
    hypervisors(state="absent")
    options: dict[str, t.Any] = {"spec": {"ovs": {"mode": "host"}}, "wait": True, "wait_timeout": 20}
    with beside(lambda _ended: until_ready(hypervisors)):
        hypervisors(**options)
    for check in (False, True):
        again = hypervisors(check=check, **options)
        assert (again["changed"], again["steps"]) == (False, [])


def until_ready(hypervisors: Hypervisors) -> None:
    until(lambda: "ovn-controller" in hypervisors.generations(), "the DaemonSet")
    hypervisors.pods_are_ready(2, "ovn-controller")


@pytest.mark.parametrize(
    ("fate", "words"),
    [
        ("failing", ("node b: Container image-1 of pod", "(ImagePullBackOff: no such tag)", "Correct spec.ovnImage")),
        ("incomplete", ("node b: image ", " has no ovn-controller, sha256sum", "Correct spec.ovnImage")),
        ("pulling", ("node b is still pulling; no progress for", "Look at these nodes")),
    ],
)
def test_a_node_that_does_not_get_an_image_refuses_the_update(
    hypervisors: Hypervisors, limit: float, fate: Fate, words: tuple[str, ...]
) -> None:
    before, pulls = hypervisors.generations(), ImagePulls(hypervisors, 2, b=fate)
    with beside(pulls.play):
        ran = update(hypervisors, wait_timeout=limit)
    assert ran["msg"].startswith("Not all nodes have ")
    for one in words:
        assert one in ran["msg"]
    assert "node a" not in ran["msg"]
    assert ran["msg"].endswith("then run again. No daemon was stopped.")
    assert hypervisors.generations() == before
    assert holder(hypervisors) is None


@pytest.mark.parametrize(
    ("fate", "cause"),
    [("unscheduled", "has no node: Too many pods."), ("no pod", f"no pod of DaemonSet {PULL} is there")],
)
def test_a_node_without_a_place_for_another_pod_is_updated(
    hypervisors: Hypervisors, limit: float, fate: Fate, cause: str
) -> None:
    before, pulls = hypervisors.generations(), ImagePulls(hypervisors, 2, b=fate)
    with beside(pulls.play):
        ran = update(hypervisors, wait_timeout=limit)
    assert not ran.failed, ran["msg"]
    assert all(now > before[name] for name, now in hypervisors.generations().items())
    (warning,) = [one for one in ran["warnings"] if "had no place" in str(one)]
    assert cause in " ".join(ran.warnings)
    assert "node a" not in str(warning)


def test_nodes_pull_in_waves(hypervisors: Hypervisors) -> None:
    for number in range(50):
        hypervisors.node(f"n{number:02}", f"198.51.100.{number + 1}")
    hypervisors()
    hypervisors.pods_are_ready(52)
    before, pulls = hypervisors.generations(), ImagePulls(hypervisors, 52)
    with beside(pulls.play):
        ran = update(hypervisors)
    assert not ran.failed, ran["msg"]
    assert [len(wave) for wave in pulls.waves] == [50, 2]
    assert pulls.waves[1] == ["n48", "n49"]
    assert pulls.generations == [before, before]


def test_a_refused_wave_is_the_last_one(hypervisors: Hypervisors, limit: float) -> None:
    for number in range(50):
        hypervisors.node(f"n{number:02}", f"198.51.100.{number + 1}")
    hypervisors()
    pulls = ImagePulls(hypervisors, 52, n07="failing")
    with beside(pulls.play):
        ran = update(hypervisors, wait_timeout=limit)
    assert "node n07: " in ran["msg"]
    assert len(pulls.waves) == 1
    assert PULL not in hypervisors.generations()


def leave(hypervisors: Hypervisors) -> None:
    """As a run that was killed while nodes pulled."""
    place = place_of(hypervisors, "daemonsets", DAEMON_SETS)
    found = hypervisors.get(f"{place}/ovn-controller")
    labels = {**found["metadata"]["labels"], "app.kubernetes.io/component": "image-pull"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "image-1", "image": "x"}]}}
    spec = {"selector": {"matchLabels": labels}, "template": template}
    hypervisors.server.request("POST", place, {"metadata": {"name": PULL, "labels": labels}, "spec": spec})


def deletion(hypervisors: Hypervisors) -> dict[str, str]:
    return {"kind": "DaemonSet", "name": PULL, "namespace": hypervisors.namespace, "action": "deleted"}


def test_pull_objects_of_a_killed_run_are_deleted(hypervisors: Hypervisors) -> None:
    for state in ("present", "absent"):
        leave(hypervisors)
        predicted = hypervisors(state=state, check=True)
        ran = hypervisors(state=state)
        for one in (predicted, ran):
            assert deletion(hypervisors) in one["objects"]
        assert PULL not in hypervisors.generations()
        assert state == "absent" or not hypervisors()["changed"]


def test_pull_state_of_a_killed_run_is_ignored(hypervisors: Hypervisors) -> None:
    leave(hypervisors)
    predicted = update(hypervisors, check=True)
    pulls = ImagePulls(hypervisors, 2)
    with beside(pulls.play):
        ran = update(hypervisors)
    assert not ran.failed, ran["msg"]
    assert pulls.waves == [["a", "b"]]
    assert PULL not in hypervisors.generations()
    for one in (predicted, ran):
        assert deletion(hypervisors) in one["objects"]
    assert (predicted["steps"], actions(predicted)) == (ran["steps"], actions(ran))


def test_without_waiting_nothing_is_pulled(hypervisors: Hypervisors) -> None:
    before = hypervisors.generations()
    ran = update(hypervisors, wait=False)
    assert ran["steps"] == []
    assert hypervisors.generations()["ovs"] == before["ovs"] + 1


def test_what_happens_during_the_pull_is_part_of_the_update(hypervisors: Hypervisors) -> None:
    """A node joins. A plan from before the pull would not have it."""
    pulls = ImagePulls(hypervisors, 3, b="pulling")

    def join(_ended: threading.Event) -> None:
        pod = until(lambda: pulls.pods.get("b"), "the pod of b")
        hypervisors.node("c", "192.0.2.3")
        pulls.say(pod, "present")

    with beside(pulls.play), beside(join):
        ran = update(hypervisors)
    assert not ran.failed, ran["msg"]
    assert "c" in hypervisors.chassis()
    assert not update(hypervisors)["changed"]


def test_another_run_does_not_touch_a_pull(hypervisors: Hypervisors, limit: float) -> None:
    pulls, other = ImagePulls(hypervisors, 2, b="pulling"), list[Ran]()

    def run_too(_ended: threading.Event) -> None:
        pod = until(lambda: pulls.pods.get("b"), "the pod of b")
        uid = uid_of(hypervisors)
        other.append(update(hypervisors, wait_timeout=limit))
        assert uid_of(hypervisors) == uid
        pulls.say(pod, "present")

    with beside(pulls.play), beside(run_too):
        ran = update(hypervisors)
    assert not ran.failed, ran["msg"]
    assert other[0]["msg"].startswith("Another run works on the hypervisors of this namespace")
    assert len(pulls.waves) == 1


def test_a_run_that_has_lost_its_lease_changes_nothing(hypervisors: Hypervisors) -> None:
    """As one whose machine has slept: another run holds the Lease by now, and pulls."""
    before, pulls = hypervisors.generations(), ImagePulls(hypervisors, 2, b="pulling")
    others = list[str]()

    def take_over(_ended: threading.Event) -> None:
        pod = until(lambda: pulls.pods.get("b"), "the pod of b")
        lease = f"{place_of(hypervisors, 'leases', 'apis/coordination.k8s.io/v1')}/ovn-hypervisors"
        hypervisors.server.request("PATCH", lease, {"spec": {"holderIdentity": "somebody on host process 1"}})
        hypervisors.server.request("DELETE", f"{place_of(hypervisors, 'daemonsets', DAEMON_SETS)}/{PULL}")
        leave(hypervisors)
        others.append(uid_of(hypervisors))
        pulls.say(pod, "present")

    with beside(pulls.play), beside(take_over):
        ran = update(hypervisors)
    assert "Another run acquired the Lease ovn-hypervisors" in ran["msg"]
    assert uid_of(hypervisors) == others[0]
    assert {name: one for name, one in hypervisors.generations().items() if name != PULL} == before
    assert holder(hypervisors) == "somebody on host process 1"


def uid_of(hypervisors: Hypervisors) -> str:
    answer = hypervisors.server.request("GET", f"{place_of(hypervisors, 'daemonsets', DAEMON_SETS)}/{PULL}")
    return str(json.loads(answer)["metadata"]["uid"])
