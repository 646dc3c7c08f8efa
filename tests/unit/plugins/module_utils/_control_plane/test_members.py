"""How many pods a StatefulSet has before any gate was asked."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._api.spec import parse_spec
from ansible_collections.c5c3.ovn.plugins.module_utils._control_plane.desired import DesiredCluster
from ansible_collections.c5c3.ovn.plugins.module_utils._control_plane.members import first_replicas
from ansible_collections.c5c3.ovn.plugins.module_utils._control_plane.observed_state import ObservedCluster
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.record import Member, Record

CID = "aaaaaaaa-1111-4111-8111-111111111111"
WANTED = DesiredCluster("ovn", "x", {}, parse_spec({}, name="ovn", namespace="x"), {}, "cluster.local", {})


def live(claims: t.Sequence[int], replicas: int | None = None) -> ObservedCluster:
    names = [("PersistentVolumeClaim", "v1", f"data-ovn-northbound-{index}") for index in claims]
    index: dict[t.Any, t.Any] = {(api, kind, "x", name): {} for kind, api, name in names}
    if replicas is not None:
        index["apps/v1", "StatefulSet", "x", "ovn-northbound"] = {"spec": {"replicas": replicas}}
    return ObservedCluster("ovn", "x", {}, None, index)


def record(*states: str, cid: str | None = CID) -> Record:
    members = {f"ovn-northbound-{n}": Member(f"tcp:{n}", t.cast(t.Any, state)) for n, state in enumerate(states)}
    return Record("northbound", members, cid=cid)


@pytest.mark.parametrize(
    ("there", "recorded", "count"),
    [
        (live([]), None, 0),
        (live([0, 2]), None, 3),
        (live([], 2), None, 2),
        (live([0]), record("expected", "expected", "expected", cid=None), 1),
        (live([]), record("confirmed", "expected", "expected"), 1),
        (live([0, 1]), record("confirmed", "expected", "expected"), 2),
        (live([0, 1, 2]), record("confirmed", "confirmed", "expected"), 3),
        (live([]), record("confirmed", "replacing", "leaving"), 3),
        (live([0, 1, 2]), record("confirmed"), 3),
        (live([0, 1, 2, 3, 4]), record("confirmed", "confirmed", "confirmed"), 3),
        (live([0, 1, 2, 3]), record("confirmed", "confirmed", "confirmed", "absent"), 3),
    ],
    ids=[
        "nothing",
        "claims without a record: all up to the last one",
        "pods that are there stay",
        "a first run that was cut off",
        "members that are expected and have nothing come one by one",
        "a member that is expected and has a claim may have joined",
        "so may the last one",
        "members on their way in or out",
        "declared members with claims of an earlier installation",
        "claims of members that are not declared",
        "the claim of a member that was removed",
    ],
)
def test_every_member_that_may_have_data_has_its_pod(
    there: ObservedCluster, recorded: Record | None, count: int
) -> None:
    assert first_replicas(WANTED, there, "northbound", recorded) == count
