"""From when on the words of Kubernetes about a pod count, and when its controller is asked for it."""

from __future__ import annotations

import pytest
from fake_cluster import Call, FakeCluster

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import OvnError, Refused
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.apply import Action, ObjectChange
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.wait_tracker import Progress, WaitTracker

NAME = "ovn-northbound-1"
STATEFUL_SET = {
    "apiVersion": "apps/v1",
    "kind": "StatefulSet",
    "metadata": {"name": "ovn-northbound", "namespace": "x"},
}


class World:
    """A StatefulSet whose controller does nothing. Seconds pass when a test says so."""

    def __init__(self, problem: OvnError | None = None) -> None:
        self.time = 100.0
        self.cluster = FakeCluster(STATEFUL_SET)
        if problem:
            self.cluster.always("patch", problem)
        self.waited = WaitTracker(self.cluster, "x", "ovn-northbound", lambda: self.time)

    def look(self, uid: str | None, seconds: float) -> float | None:
        """Since when events count, after so many seconds."""
        self.time += seconds
        pods = {} if uid is None else {NAME: {"metadata": {"uid": uid}}}
        self.waited.observe([NAME], pods)
        return self.waited.since(NAME, pods.get(NAME))


@pytest.mark.parametrize(
    ("looks", "since", "requeues"),
    [
        ([(None, 0)], None, 0),
        ([(None, 0), (None, 1)], None, 0),
        ([(None, 0), (None, 5)], 105, 1),
        ([(None, 0), (None, 5), (None, 5), (None, 5)], 105, 1),
        ([("a", 0), ("a", 20)], 100, 0),
        ([("a", 0), ("a", 40)], 100, 0),
        ([("a", 0), ("b", 20)], 120, 0),
        ([("a", 0), (None, 30)], None, 0),
        ([("a", 0), (None, 20), (None, 5)], 125, 1),
        ([(None, 0), (None, 5), ("a", 5)], 110, 1),
        ([(None, 0), (None, 5), ("a", 5), (None, 5)], None, 1),
    ],
    ids=[
        "missing at first",
        "its controller had no time yet",
        "its controller is asked",
        "it is asked once",
        "a pod that does not run",
        "one that is observed late, because others did not answer",
        "its successor",
        "its pod went away late",
        "its pod went away late and has no successor",
        "the controller made it",
        "missing again",
    ],
)
def test_observations(looks: list[tuple[str | None, float]], since: float | None, requeues: int) -> None:
    world = World()
    found = [world.look(uid, seconds) for uid, seconds in looks]
    assert found[-1] == since
    assert len(world.cluster.written) == requeues


def test_the_controller_is_asked_without_touching_the_template() -> None:
    world = World()
    world.look(None, 0)
    world.look(None, 5)
    annotations = {"ovn.c5c3.io/asked": "105"}
    patch = {"metadata": {"annotations": annotations}}
    assert world.cluster.written == [Call("patch", "StatefulSet", "ovn-northbound", patch)]


@pytest.mark.parametrize("pause", [5, 90], ids=["nobody has to wait for it meanwhile", "nobody looks meanwhile"])
def test_a_new_wait_asks_again(pause: float) -> None:
    world = World()
    world.look(None, 0)
    world.look(None, 5)
    if pause < 30:
        world.waited.reset([NAME])
        assert world.waited.seconds_waited(NAME) == 0
    assert world.look(None, pause) is None
    assert world.look(None, 5) == 110 + pause
    assert world.waited.seconds_waited(NAME) == 5
    assert len(world.cluster.written) == 2


def test_who_may_not_ask_waits() -> None:
    world = World(Refused("forbidden"))
    world.look(None, 0)
    assert world.look(None, 5) == 105


def change(action: Action, name: str = "a", kind: str = "Service") -> ObjectChange:
    after = {"kind": kind, "metadata": {"name": name}, "spec": {"action": action}}
    return ObjectChange(kind, name, "x", action, None if action == "created" else {}, after)


@pytest.mark.parametrize(
    ("progress", "changed"),
    [
        (Progress(), False),
        (Progress(warnings=["look"]), False),
        (Progress([change("unchanged")]), False),
        (Progress([change("unchanged"), change("deleted", "b")]), True),
        (Progress([change("unchanged")], ["start it"]), True),
    ],
    ids=["nothing", "a warning", "compared", "deleted", "a step"],
)
def test_changed(progress: Progress, changed: bool) -> None:
    assert progress.changed is changed


def test_which_objects_are_as_they_were_read() -> None:
    progress = Progress([change("unchanged", "a"), change("changed", "b"), change("unchanged", "c", "Deployment")])
    assert progress.has_changed("Service")
    assert progress.has_changed("Service", "b")
    assert not progress.has_changed("Service", "a")
    assert not progress.has_changed("Deployment")


def test_what_was_done_last() -> None:
    first, second = change("created"), change("changed")
    progress = Progress([first, second, change("unchanged", "b")])
    assert progress.last("Service", "a") is second
    assert progress.last("Deployment", "a") is None


def test_an_object_that_was_changed_twice_is_reported_once() -> None:
    progress = Progress([change("created"), change("changed")], ["start it"])
    assert progress.as_results() == [{"kind": "Service", "name": "a", "namespace": "x", "action": "created"}]
    diff = progress.diff({"before": {"timer": 1}, "after": {"timer": 2}})
    assert diff["before"] == {"settings": {"timer": 1}, "steps": []}
    assert sorted(diff["after"]) == ["Service x/a", "settings", "steps"]


def test_a_warning_comes_once() -> None:
    progress = Progress()
    for message in ("one", "two", "one"):
        progress.warn(message)
    assert progress.warnings == ["one", "two"]
