"""What a run takes from pods of the template before, which pods it makes anew, and for which it waits."""

from __future__ import annotations

import time
import types
import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._database.schema_update import Schemas
from ansible_collections.c5c3.ovn.plugins.module_utils._deadline import Deadline
from ansible_collections.c5c3.ovn.plugins.module_utils._errors import Conflict
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.moment import seconds
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.observation import Observation
from ansible_collections.c5c3.ovn.plugins.module_utils._raft_pods import observed

Object = dict[str, t.Any]
NEW, OLD = Schemas("7.0.0", "7.3.0"), Schemas("7.0.0", "7.0.0")


def pod(name: str, revision: str) -> Object:
    return {"metadata": {"name": name, "uid": name, "labels": {"controller-revision-hash": revision}}}


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
    monkeypatch.setattr(observed, "schemas_in", lambda name: NEW if "new" in str(pods[name]) else OLD)
    monkeypatch.setattr(observed, "parse_examination", lambda *_: None)
    monkeypatch.setattr(observed, "unknown_because", lambda *_: "")
    cluster = types.SimpleNamespace(
        list=lambda *_, **__: list(pods.values()), exec=lambda _namespace, name, *_, **__: name
    )
    context = types.SimpleNamespace(cluster=cluster, namespace="x", name="ovn", now=lambda: 0.0)
    run = types.SimpleNamespace(database="northbound", declared=list(pods))
    store = types.SimpleNamespace(read=lambda: None)
    there: Object = {"status": {"updateRevision": "new"}}
    database = observed.ObservedDatabase(*t.cast(t.Any, (context, run, store, 2, lambda: there)))
    database.schemas = OLD  # as an earlier look saw it
    database.look()
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
    return {"metadata": metadata, "status": {"phase": "Pending", "containerStatuses": [waits]}}


class World:
    """The last of three members does not run; `serving` others do. A look takes five seconds."""

    def __init__(
        self,
        there: Object | None,
        serving: int = NOBODY,
        state: str = "confirmed",
        wait: bool = True,
        version: str = "7",
    ) -> None:
        self.there, self.serving, self.version = there, serving, version
        self.events: list[Object] = []
        self.deleted: list[str] = []
        self.leases: list[str] = []
        self.looks, self.time = 0, seconds(BEGUN)
        lease = types.SimpleNamespace(take=self.leases.append)
        context = types.SimpleNamespace(
            cluster=self, namespace="x", name="ovn", now=lambda: self.time, wait=wait, lease=lease, check_mode=False
        )
        run = types.SimpleNamespace(database="northbound", declared=NAMES)
        record = types.SimpleNamespace(members={name: types.SimpleNamespace(state=state) for name in NAMES})
        store = types.SimpleNamespace(read=lambda: record)
        self.database = observed.ObservedDatabase(*t.cast(t.Any, (context, run, store, 3, self.get)))

    def get(self, *_: t.Any) -> Object:
        return {"status": {"updateRevision": "new"}}

    def list(self, *_: t.Any, **__: t.Any) -> list[Object]:
        return self.events

    def patch(self, *_: t.Any) -> None:
        """Nobody makes the pod."""

    def delete(self, _api: str, _kind: str, name: str, _namespace: str, *, uid: str, resource_version: str) -> bool:
        assert self.there is not None
        if resource_version != self.version:
            raise Conflict(name)
        self.deleted.append(name)
        fresh = {"uid": f"{uid}+", "creationTimestamp": BEGUN, "labels": {"controller-revision-hash": "new"}}
        self.there = {**self.there, "metadata": {**self.there["metadata"], **fresh}}
        return True

    def observe(self) -> dict[str, Observation]:
        self.looks += 1
        self.database.pods = {} if self.there is None else {AWAY: self.there}
        self.database.seen = {
            name: Observation(name, running=True, connected=number < self.serving, leader=self.serving > number == 0)
            for number, name in enumerate(NAMES[:2])
        }
        return self.database.seen

    def run(self, monkeypatch: pytest.MonkeyPatch) -> float:
        """For how long it waits, in seconds. It may do so for five minutes."""
        start = self.time
        monkeypatch.setattr(time, "monotonic", lambda: self.time)
        monkeypatch.setattr(self.database, "look", self.observe)
        monkeypatch.setattr(self.database.members, "wait_for_pods", self.pass_time)
        deadline = Deadline(300)
        self.database.await_examined(deadline)
        while self.database.recreate_stuck_pods(deadline):  # as a round does that refuses nothing
            self.database.await_examined(deadline)
        return self.time - start

    def pass_time(self, *_: t.Any) -> None:
        self.time += 5


FAILED = {"reason": "Failed", "message": "Failed to pull image", "firstTimestamp": BEFORE, "lastTimestamp": BEFORE}
PULLS = {**FAILED, "metadata": {}, "count": 9, "involvedObject": {"kind": "Pod", "name": AWAY, "uid": "u1"}}
AGAIN = f"make the pod {AWAY} anew: its image is pulled again at once, and it never started"
RIGHT_IMAGE = f"make the pod {AWAY} anew: its template has changed, and it ended at once each time"
CORRECTED = f"make the pod {AWAY} anew: its template has changed, and it never started"


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
        (World(idle_pod("CrashLoopBackOff", "old", restarts=4), version="8"), []),
        (World(idle_pod("ImagePullBackOff", "old"), version="8"), []),
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
def test_pods_that_are_made_anew(world: World, steps: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    world.events = [PULLS]
    world.run(monkeypatch)
    assert world.database.steps == steps
    assert world.deleted == [AWAY] * len(steps)
    assert world.looks > 1 or not steps  # at the successor, too


def test_an_observation_deletes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(idle_pod("CrashLoopBackOff", "old", restarts=4))
    monkeypatch.setattr(world.database, "recreate_stuck_pods", lambda _deadline: False)
    assert world.run(monkeypatch) == 0
    assert (world.deleted, world.leases, world.database.steps) == ([], [], [])
    assert list(world.database.stuck) == [AWAY]


def test_a_pod_is_made_anew_once_and_its_successor_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was said of the one before does not count."""
    world = World(idle_pod("ImagePullBackOff"))
    world.events = [PULLS]
    waited = world.run(monkeypatch)
    assert (world.deleted, len(world.leases)) == ([AWAY], 1)
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
        "is hopeless for an hour, and the others serve",
        "was hopeless before the run",
    ],
)
def test_how_long_a_pod_is_waited_for(
    world: World, shortest: float, longest: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert shortest <= world.run(monkeypatch) <= longest
