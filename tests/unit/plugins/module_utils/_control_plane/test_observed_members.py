"""What a run takes from pods of the template before, which pods it recreates, and for which it waits."""

from __future__ import annotations

import time
import types
import typing as t

import pytest
from fake_cluster import FakeCluster

from ansible_collections.c5c3.ovn.plugins.module_utils._base.deadline import Deadline
from ansible_collections.c5c3.ovn.plugins.module_utils._control_plane import observed_members
from ansible_collections.c5c3.ovn.plugins.module_utils._daemons.schema_update import Schemas
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.client import ExecResult
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.timestamps import unix_seconds
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.observation import Observation

Object = dict[str, t.Any]
NEW, OLD = Schemas("7.0.0", "7.3.0"), Schemas("7.0.0", "7.0.0")


OURS = {"app.kubernetes.io/instance": "ovn", "app.kubernetes.io/component": "northbound"}


def pod(name: str, revision: str) -> Object:
    metadata = {"name": name, "namespace": "x", "uid": name, "labels": {**OURS, "controller-revision-hash": revision}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata}


@pytest.mark.parametrize(
    ("revisions", "schemas"),
    [
        (("new", "new"), NEW),
        (("new", "old"), NEW),
        (("old", "new"), NEW),
        (("old", "old"), Schemas(None, None)),
    ],
    ids=["all are new", "the last waits for its restart", "the first waits for its restart", "all wait"],
)
def test_the_image_is_that_of_new_pods(
    revisions: tuple[str, str], schemas: Schemas, monkeypatch: pytest.MonkeyPatch
) -> None:
    pods = {f"ovn-northbound-{n}": pod(f"ovn-northbound-{n}", revision) for n, revision in enumerate(revisions)}
    monkeypatch.setattr(observed_members, "parse_schemas", lambda said: NEW if "new" in str(pods[said.stdout]) else OLD)
    monkeypatch.setattr(observed_members, "parse_observation", lambda *_: None)
    monkeypatch.setattr(observed_members, "explain_unknown", lambda *_: "")
    cluster = FakeCluster(*pods.values())
    cluster.answers = {name: ExecResult(0, name, "") for name in pods}
    context = types.SimpleNamespace(cluster=cluster, namespace="x", name="ovn", now=lambda: 0.0)
    run = types.SimpleNamespace(database="northbound", declared=dict.fromkeys(pods, ""))
    store = types.SimpleNamespace(read=lambda: None)
    there: Object = {"status": {"updateRevision": "new"}}
    database = observed_members.ObservedDatabase(*t.cast(t.Any, (context, run, store, 2, lambda: there)))
    database.schemas = OLD  # as an earlier look saw it
    database.read_members()
    assert database.schemas == schemas


# --- waiting ----------------------------------------------------------------------------------------------------------

NAMES = [f"ovn-northbound-{number}" for number in range(3)]
AWAY = NAMES[2]
BEFORE, BEGUN = "2026-01-01T00:00:00Z", "2026-01-01T01:00:00Z"
NOBODY, ALL_OTHERS = 0, 2


def idle_pod(reason: str, revision: str = "new", restarts: int = 0, until: str = "2026-01-01T00:00:11Z") -> Object:
    """An hour old when the run begins; if it was restarted, it ran from ten seconds after its creation until then."""
    last = {"terminated": {"startedAt": "2026-01-01T00:00:10Z", "finishedAt": until}} if restarts else {}
    waits = {"name": "database", "restartCount": restarts, "state": {"waiting": {"reason": reason}}, "lastState": last}
    metadata = {
        "name": AWAY,
        "namespace": "x",
        "uid": "u1",
        "resourceVersion": "7",
        "creationTimestamp": BEFORE,
        "labels": {"controller-revision-hash": revision},
    }
    status = {"phase": "Pending", "containerStatuses": [waits]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "status": status}


def successor(pod: Object) -> Object:
    """The pod that the StatefulSet makes instead of this one."""
    fresh = {
        "uid": f"{pod['metadata']['uid']}+",
        "resourceVersion": None,
        "creationTimestamp": BEGUN,
        "labels": {"controller-revision-hash": "new"},
    }
    return {**pod, "metadata": {**pod["metadata"], **fresh}}


STATEFUL_SET = {
    "apiVersion": "apps/v1",
    "kind": "StatefulSet",
    "metadata": {"name": "ovn-northbound", "namespace": "x"},
    "status": {"updateRevision": "new"},
}


class World:
    """The last of three members does not run; `serving` others do. A look takes five seconds."""

    def __init__(
        self,
        there: Object | None,
        serving: int = NOBODY,
        state: str = "confirmed",
        wait: bool = True,
        changes: bool = False,
    ) -> None:
        """`changes`: whether another client writes the pod whenever it is about to be deleted."""
        self.cluster, self.serving, self.listed = FakeCluster(STATEFUL_SET, *([there] if there else [])), serving, there
        if changes:
            self.cluster.always("delete", self.touch)
        self.leases: list[str] = []
        self.looks, self.time = 0, unix_seconds(BEGUN)
        lease = types.SimpleNamespace(acquire_or_renew=self.leases.append)
        context = types.SimpleNamespace(
            cluster=self.cluster,
            namespace="x",
            name="ovn",
            now=lambda: self.time,
            wait=wait,
            lease=lease,
            check_mode=False,
        )
        run = types.SimpleNamespace(database="northbound", declared=dict.fromkeys(NAMES, ""))
        record = types.SimpleNamespace(members={name: types.SimpleNamespace(state=state) for name in NAMES})
        store = types.SimpleNamespace(read=lambda: record)
        self.database = observed_members.ObservedDatabase(
            *t.cast(t.Any, (context, run, store, 3, lambda: STATEFUL_SET))
        )

    def observe(self) -> dict[str, Observation]:
        self.looks += 1
        there = self.cluster.stored("Pod", AWAY)
        if self.listed is not None and there is None:  # its StatefulSet makes the next one
            there = self.cluster.put(successor(self.listed))
        self.database.pods = {} if there is None else {AWAY: there}
        self.database.observations = {
            name: Observation(name, running=True, connected=number < self.serving, leader=self.serving > number == 0)
            for number, name in enumerate(NAMES[:2])
        }
        return self.database.observations

    def run(self, monkeypatch: pytest.MonkeyPatch) -> float:
        """For how long it waits, in seconds. It may do so for five minutes."""
        start = self.time
        monkeypatch.setattr(time, "monotonic", lambda: self.time)
        monkeypatch.setattr(self.database, "read_members", self.observe)
        monkeypatch.setattr(self.database.members, "wait_for_pods", self.pass_time)
        deadline = Deadline(300)
        self.database.await_examined(deadline)
        while self.database.recreate_stuck_pods(deadline):  # as a round does that refuses nothing
            self.database.await_examined(deadline)
        return self.time - start

    def touch(self) -> None:
        """Another version of the pod."""
        there = self.cluster.stored("Pod", AWAY)
        assert there is not None
        self.cluster.put({**there, "spec": {"written": len(self.cluster.calls)}})

    def pass_time(self, *_: t.Any) -> None:
        self.time += 5


def deleted(world: World) -> list[str]:
    return [call.name for call in world.cluster.deleted]


FAILED = {"reason": "Failed", "message": "Failed to pull image", "firstTimestamp": BEFORE, "lastTimestamp": BEFORE}
PULLS = {
    **FAILED,
    "apiVersion": "v1",
    "kind": "Event",
    "metadata": {"name": "e", "namespace": "x"},
    "count": 9,
    "involvedObject": {"kind": "Pod", "name": AWAY, "uid": "u1"},
}
AGAIN = f"recreate the pod {AWAY}: its image is pulled again at once, and it never started"
RIGHT_IMAGE = f"recreate the pod {AWAY}: its template has changed, and it ended at once each time"
CORRECTED = f"recreate the pod {AWAY}: its template has changed, and it never started"


@pytest.mark.parametrize(
    ("world", "steps"),
    [
        (World(idle_pod("ImagePullBackOff")), [AGAIN]),
        (World(idle_pod("ImagePullBackOff", "old")), [CORRECTED]),
        (World(idle_pod("InvalidImageName", "old"), ALL_OTHERS), [CORRECTED]),
        (World(idle_pod("ImagePullBackOff"), ALL_OTHERS, "expected"), [AGAIN]),
        (World(idle_pod("ImagePullBackOff"), ALL_OTHERS), []),
        (World(idle_pod("ImagePullBackOff"), wait=False), []),
        (World(idle_pod("ErrImagePull")), []),
        (World(idle_pod("CrashLoopBackOff", "old", restarts=4)), [RIGHT_IMAGE]),
        (World(idle_pod("CrashLoopBackOff", "new", restarts=4)), []),
        (World(idle_pod("CrashLoopBackOff", "old", restarts=1)), []),
        (World(idle_pod("CrashLoopBackOff", "old", restarts=4, until="2026-01-01T00:30:00Z")), []),
        (World(idle_pod("CrashLoopBackOff", "old", restarts=4), changes=True), []),
        (World(idle_pod("ImagePullBackOff", "old"), changes=True), []),
    ],
    ids=[
        "its kubelet pauses",
        "its kubelet pauses, and its template is corrected",
        "its template is corrected, and the others serve",
        "its kubelet pauses, and it never took part",
        "its kubelet pauses, and the others serve",
        "its kubelet pauses, and nobody waits",
        "its kubelet tries at this moment",
        "it ends at once each time, and its template is corrected",
        "it ends at once each time",
        "it ended once",
        "it crashed after a long life, and starts again by itself",
        "it ended at once each time, and has changed since it was listed",
        "it has changed since it was listed",
    ],
)
def test_pods_that_are_recreated(world: World, steps: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    world.cluster.put(PULLS)
    world.run(monkeypatch)
    assert world.database.steps == steps
    assert deleted(world) == [AWAY] * len(steps)
    assert world.looks > 1 or not steps  # at the successor, too


def test_an_observation_deletes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(idle_pod("CrashLoopBackOff", "old", restarts=4))
    monkeypatch.setattr(world.database, "recreate_stuck_pods", lambda _deadline: False)
    assert world.run(monkeypatch) == 0
    assert (deleted(world), world.leases, world.database.steps) == ([], [], [])
    assert list(world.database.stuck) == [AWAY]


def test_a_pod_is_recreated_once_and_its_successor_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was said of the one before does not count."""
    world = World(idle_pod("ImagePullBackOff"))
    world.cluster.put(PULLS)
    waited = world.run(monkeypatch)
    assert (deleted(world), len(world.leases)) == ([AWAY], 1)
    assert 20 < waited < 60


@pytest.mark.parametrize(
    ("world", "shortest", "longest"),
    [
        (World(idle_pod("ContainerCreating")), 300, 310),
        (World(idle_pod("ContainerCreating"), ALL_OTHERS), 55, 70),
        (World(idle_pod("ContainerCreating"), ALL_OTHERS, "expected"), 300, 310),
        (World(None), 300, 310),
        (World(None, ALL_OTHERS), 55, 70),
        (World(idle_pod("ContainerCreating"), wait=False), 0, 0),
        (World(idle_pod("CreateContainerError"), ALL_OTHERS), 0, 0),
        (World(idle_pod("CreateContainerError")), 20, 40),
    ],
    ids=[
        "is being made",
        "is being made, and the others serve",
        "is being made, and never took part",
        "has no pod",
        "has no pod, and the others serve",
        "is being made, and nobody waits",
        "is unrecoverable for an hour, and the others serve",
        "was unrecoverable before the run",
    ],
)
def test_how_long_a_pod_is_waited_for(
    world: World, shortest: float, longest: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert shortest <= world.run(monkeypatch) <= longest
