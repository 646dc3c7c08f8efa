"""What a run knows of how new the members' files are, and what it keeps of what others wrote."""

from __future__ import annotations

import typing as t

import pytest
from fake_cluster import FakeCluster

from ansible_collections.c5c3.ovn.plugins.module_utils._control_plane.stores import (
    WitnessStore,
    known_members,
    observed_witness,
    of_recorded_cluster,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.cluster_witness import (
    ClusterWitness,
    Entry,
    MemberWitness,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.observation import Observation
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.record import Member, Record

CID = "aaaaaaaa-1111-4111-8111-111111111111"
OTHER_CID = "aaaaaaaa-2222-4111-8111-111111111111"
ONE = "bbbb0000-1111-4111-8111-000000000001"
TWO = "cccc0000-1111-4111-8111-000000000002"
NEW = "dddd0000-1111-4111-8111-000000000003"
RECORD = Record(
    "northbound",
    {"m1": Member("tcp:192.0.2.1:6643", "confirmed", ONE), "m2": Member("tcp:192.0.2.2:6643", "confirmed", TWO)},
    cid=CID,
)
STATUS = f"""bbbb
Name: OVN_Northbound
Cluster ID: aaaa ({CID})
Server ID: bbbb ({ONE})
Address: tcp:192.0.2.1:6643
Status: cluster member
Role: leader
Term: 4
Leader: self
Vote: self

Election timer: 1000
Log: [2, 21]
Entries not yet committed: 0
Entries not yet applied: 0
Connections: <-cccc ->cccc
Disconnections: 0
Servers:
    bbbb (bbbb at tcp:192.0.2.1:6643) (self) next_index=2 match_index=20
    cccc (cccc at tcp:192.0.2.2:6643) next_index=21 match_index=18 last msg 5 ms ago
"""


def leading(**changes: t.Any) -> Observation:
    answer = {"member": "m1", "database": "OVN_Northbound", "cluster_status": STATUS}
    fields: dict[str, t.Any] = {"running": True, "connected": True, "leader": True, "cid": CID, "sid": ONE}
    return Observation("m1", answer=answer, file_class="member", **{**fields, **changes})


def waiting(**changes: t.Any) -> Observation:
    return Observation("m2", **{"file_class": "outdated-copy", "file_cid": CID, "file_sid": TWO, **changes})


REMEMBERED = {
    "m1": ClusterWitness(None, {ONE: MemberWitness(15, "3f", Entry(3, 15))}),
    "m2": ClusterWitness(None, {TWO: MemberWitness(19, "4a", Entry(4, 17))}),
}


@pytest.mark.parametrize(
    ("observations", "remembered", "known"),
    [
        pytest.param(
            [leading(), waiting()],
            REMEMBERED,
            {ONE: MemberWitness(20, "3f", Entry(4, 20)), TWO: MemberWitness(19, "4a", Entry(4, 17))},
            id="the leader knows newer entries, each launcher its own disk",
        ),
        pytest.param([waiting()], REMEMBERED, {TWO: MemberWitness(19, "4a", Entry(4, 17))}, id="nobody leads"),
        pytest.param(
            [leading()], {}, {ONE: MemberWitness(20, "", Entry(4, 20)), TWO: MemberWitness(18)}, id="a leader alone"
        ),
        pytest.param(
            [waiting(file_sid=NEW)], REMEMBERED, {}, id="the file of another server than the launcher remembers"
        ),
        pytest.param(
            [waiting(file_sid=NEW)],
            {"m2": ClusterWitness(None, {NEW: MemberWitness(9)})},
            {},
            id="a file of a server that is no member, and does not run",
        ),
        pytest.param(
            [Observation("m2", running=True, connected=True, cid=CID, sid=NEW)],
            {"m2": ClusterWitness(None, {NEW: MemberWitness(9)})},
            {NEW: MemberWitness(9)},
            id="a member that has joined, and is not on record yet",
        ),
    ],
)
def test_what_a_run_knows(
    observations: list[Observation], remembered: dict[str, ClusterWitness], known: dict[str, MemberWitness]
) -> None:
    assert observed_witness(RECORD, observations, remembered) == ClusterWitness(CID, known)


def test_a_leader_of_another_cluster_tells_nothing() -> None:
    record = RECORD.replace(cid=OTHER_CID)
    assert observed_witness(record, [leading()], {}).members == {}


def test_servers_on_record_and_servers_that_run_are_members() -> None:
    assert known_members(RECORD, [leading(sid=NEW), waiting(file_sid=NEW)]) == {ONE, TWO, NEW}
    assert known_members(RECORD, [leading(sid=NEW, cid=OTHER_CID)]) == {ONE, TWO}


@pytest.mark.parametrize(
    ("cid", "kept"),
    [
        pytest.param(CID, {ONE: MemberWitness(5)}, id="of the recorded cluster its members"),
        pytest.param(OTHER_CID, {}, id="of another cluster nothing"),
        pytest.param(None, {}, id="nothing was written yet"),
    ],
)
def test_what_is_kept_under_the_lease(cid: str | None, kept: dict[str, MemberWitness]) -> None:
    stored = ClusterWitness(cid, {ONE: MemberWitness(5), NEW: MemberWitness(7)} if cid else {})
    assert of_recorded_cluster(stored, RECORD, {ONE, TWO}) == ClusterWitness(CID, kept)


SKELETON = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "ovn-northbound-witness", "namespace": "x"}}


def test_it_is_made_once_and_not_in_check_mode() -> None:
    cluster = FakeCluster()
    store = WitnessStore(cluster, SKELETON, None)
    assert store.ensure(check_mode=True).action == "created"
    assert cluster.written == []
    assert store.ensure(check_mode=False).action == "created"
    assert store.ensure(check_mode=False).action == "unchanged"
    assert [call.verb for call in cluster.written] == ["create"]


def test_one_that_somebody_deleted_is_made_before_a_pod_is_recreated() -> None:
    cluster = FakeCluster()
    store = WitnessStore(cluster, SKELETON, None)
    assert store.map.update(lambda _stored: ClusterWitness(CID, {ONE: MemberWitness(5)}))
    assert len(cluster.asked("create")) == 1
    there = cluster.stored("ConfigMap", "ovn-northbound-witness")
    assert there is not None
    assert there["data"]["witness"] == store.map.text == f"cluster {CID}\nserver {ONE} 5 -\n"
