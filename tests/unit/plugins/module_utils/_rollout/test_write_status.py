"""A run writes the status over the version that it has read, and asks northd where nobody else does."""

from __future__ import annotations

import types
import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._errors import Conflict, Unreachable
from ansible_collections.c5c3.ovn.plugins.module_utils._pods.schema import Schemas
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.verdict import Verdict
from ansible_collections.c5c3.ovn.plugins.module_utils._rollout import status
from ansible_collections.c5c3.ovn.plugins.module_utils._rollout.endpoints import Endpoints

Object = dict[str, t.Any]
WANTED = types.SimpleNamespace(name="ovn", namespace="x", wait=False)
AVAILABLE = {
    "metadata": {"generation": 1},
    "spec": {"replicas": 1},
    "status": {"observedGeneration": 1, "updatedReplicas": 1, "availableReplicas": 1},
}


def rollout(database: str) -> t.Any:
    there = {"metadata": {"name": f"ovn-{database}", "generation": 1}, "spec": {"replicas": 0}}
    return types.SimpleNamespace(
        changed=False,
        pods={},
        set={**there, "status": {"observedGeneration": 1}},
        set_name=f"ovn-{database}",
        run=types.SimpleNamespace(declared={}),
        schemas=Schemas(None, None),
        verdict=lambda: Verdict("healthy", True, ()),
    )


class FakeCluster:
    def __init__(self, conflicts: int = 0) -> None:
        self.version, self.conflicts = 1, conflicts
        self.written: list[Object] = []

    def resource(self, **content: t.Any) -> Object:
        return {"metadata": {"generation": 4, "resourceVersion": str(self.version)}, "spec": {}, **content}

    def get(self, *_: t.Any) -> Object:
        return self.resource()

    def apply_status(self, manifest: Object) -> Object:
        if self.conflicts:
            self.conflicts, self.version = self.conflicts - 1, self.version + 1
            raise Conflict("the observer was faster")
        assert manifest["metadata"]["resourceVersion"] == str(self.version)
        self.written.append(manifest["status"])
        return self.resource(status=manifest["status"])


def write(cluster: FakeCluster, resource: Object | None = None, observer: Object | None = None) -> Object:
    databases = {database: rollout(database) for database in ("northbound", "southbound")}
    seen = status.Seen(t.cast(t.Any, databases), Endpoints(), AVAILABLE, observer)
    given = cluster.resource() if resource is None else resource
    written = status.write_status(t.cast(t.Any, cluster), t.cast(t.Any, WANTED), given, seen, "2026-01-01T00:00:00Z")
    assert written is not None
    return t.cast(Object, written["status"])


def ready(found: Object) -> tuple[str, str]:
    return next((c["status"], c["reason"]) for c in found["conditions"] if c["type"] == "Ready")


@pytest.fixture(autouse=True)
def northds(monkeypatch: pytest.MonkeyPatch) -> dict[str, Object]:
    """What the pods of northd say."""
    told: dict[str, Object] = {"ovn-northd-a": {"state": "standby"}, "ovn-northd-b": {"state": "active"}}
    monkeypatch.setattr(status, "ask_northds", lambda *_: told)
    return told


def test_a_write_of_somebody_else_is_not_undone() -> None:
    cluster = FakeCluster(conflicts=2)
    found = write(cluster)
    assert cluster.written == [found]
    assert found["observedGeneration"] == 4
    assert ready(found)[0] == "True"


def test_the_same_is_written_once() -> None:
    cluster = FakeCluster()
    found = write(cluster)
    assert write(cluster, cluster.resource(status=found)) == found
    assert len(cluster.written) == 1


def test_ready_needs_a_northd_that_was_seen(northds: dict[str, Object], monkeypatch: pytest.MonkeyPatch) -> None:
    northds["ovn-northd-b"] = {"state": "unreachable"}
    assert ready(write(FakeCluster())) == ("False", "NorthdNotReady")

    def away(*_: t.Any) -> t.NoReturn:
        raise Unreachable("no API server")

    monkeypatch.setattr(status, "ask_northds", away)
    assert ready(write(FakeCluster())) == ("False", "NorthdNotReady")


def test_an_observer_that_lives_knows_it_better(northds: dict[str, Object]) -> None:
    cluster = FakeCluster()
    before = cluster.resource(status=write(cluster))
    northds.clear()
    assert ready(write(cluster, before, AVAILABLE)) == ("True", "ControlPlaneReady")
    assert ready(write(cluster, before, None)) == ("False", "NorthdNotReady")
