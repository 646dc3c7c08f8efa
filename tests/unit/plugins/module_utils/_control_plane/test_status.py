"""A run writes the status over the version that it has read, and asks northd where nobody else does."""

from __future__ import annotations

import types
import typing as t

import pytest
from fake_cluster import FakeCluster

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import Unreachable
from ansible_collections.c5c3.ovn.plugins.module_utils._control_plane import status
from ansible_collections.c5c3.ovn.plugins.module_utils._control_plane.endpoints import Endpoints
from ansible_collections.c5c3.ovn.plugins.module_utils._daemons.schema_update import Schemas
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.verdict import Verdict

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


def resource(cluster: FakeCluster, **changes: t.Any) -> Object:
    """The OVNCluster as it is, after these changes by somebody else."""
    there = cluster.stored("OVNCluster", "ovn")
    assert there is not None
    return cluster.put({**there, **changes})


def cluster_with(conflicts: int = 0, status: Object | None = None) -> FakeCluster:
    """`conflicts`: how often the observer is faster."""
    metadata = {"name": "ovn", "namespace": "x", "generation": 4}
    cluster = FakeCluster(
        {"apiVersion": "ovn.c5c3.io/v1alpha1", "kind": "OVNCluster", "metadata": metadata, "spec": {}}
    )
    if status is not None:
        resource(cluster, status=status)
    for number in range(conflicts):
        told = {**(status or {}), "message": str(number)}
        cluster.before("apply_status", lambda told=told: resource(cluster, status=told))
    return cluster


def write(cluster: FakeCluster, before: Object | None = None, observer: Object | None = None) -> Object:
    databases = {database: rollout(database) for database in ("northbound", "southbound")}
    seen = status.StatusFacts(t.cast(t.Any, databases), Endpoints(), AVAILABLE, observer)
    given = resource(cluster) if before is None else before
    written = status.write_status(
        cluster,
        t.cast(t.Any, WANTED),
        given,
        seen,
        "2026-01-01T00:00:00Z",
        generation=4,
        warn=cluster.warnings.append,
    )
    assert written is not None
    return t.cast(Object, written["status"])


def condition(found: Object, kind: str) -> tuple[str, str]:
    return next((c["status"], c["reason"]) for c in found["conditions"] if c["type"] == kind)


def ready(found: Object) -> tuple[str, str]:
    return condition(found, "Ready")


@pytest.fixture(autouse=True)
def northds(monkeypatch: pytest.MonkeyPatch) -> dict[str, Object]:
    """What the pods of northd say."""
    told: dict[str, Object] = {"ovn-northd-a": {"state": "standby"}, "ovn-northd-b": {"state": "active"}}
    monkeypatch.setattr(status, "ask_northds", lambda *_: told)
    return told


def test_a_write_of_somebody_else_is_not_undone() -> None:
    cluster = cluster_with(conflicts=2)
    found = write(cluster)
    assert [call.body["status"] for call in cluster.written] == [found] * 3
    assert resource(cluster)["status"] == found
    assert found["observedGeneration"] == 4
    assert ready(found)[0] == "True"


def test_the_same_is_written_once() -> None:
    cluster = cluster_with()
    found = write(cluster)
    assert write(cluster) == found
    assert len(cluster.written) == 1


def test_who_never_comes_to_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    monkeypatch.setattr(status.time, "sleep", pauses.append)
    cluster = cluster_with(conflicts=99, status={"conditions": []})
    assert write(cluster) == {"conditions": [], "message": "3"}
    assert resource(cluster)["status"] == {"conditions": [], "message": "4"}
    assert len(pauses) == 4
    assert "status of OVNCluster ovn was not written" in cluster.warnings[0]


def test_a_specification_that_was_edited_during_the_run_is_not_rolled_out() -> None:
    cluster = cluster_with()
    given = resource(cluster)
    resource(cluster, metadata={**given["metadata"], "generation": 5})
    found = write(cluster, given)
    assert condition(found, "UpToDate") == ("False", "NotRolledOut")
    assert found["observedGeneration"] == 4


@pytest.mark.parametrize(
    ("said", "desired"),
    [
        ({"a": "standby", "b": "unreachable"}, ("False", "NorthdNotReady")),
        ({"a": "unreachable", "b": "unreachable"}, ("Unknown", "NorthdNotReady")),
        ({}, ("False", "NorthdNotReady")),
        (None, ("Unknown", "NorthdNotReady")),
    ],
    ids=["one answers", "nobody answers", "no pods", "no API server"],
)
def test_ready_needs_a_northd_that_was_seen(
    said: dict[str, str] | None, desired: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who could not be asked is not who says no."""

    def ask(*_: t.Any) -> dict[str, Object]:
        if said is None:
            raise Unreachable("no API server")
        return {pod: {"state": state} for pod, state in said.items()}

    monkeypatch.setattr(status, "ask_northds", ask)
    assert ready(write(cluster_with())) == desired


def test_an_observer_that_lives_knows_it_better(northds: dict[str, Object]) -> None:
    cluster = cluster_with()
    write(cluster)
    northds.clear()
    assert ready(write(cluster, observer=AVAILABLE)) == ("True", "ControlPlaneReady")
    assert ready(write(cluster)) == ("False", "NorthdNotReady")
