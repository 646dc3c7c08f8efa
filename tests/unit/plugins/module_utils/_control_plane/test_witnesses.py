"""Who tells of an older control plane before a database is created."""

from __future__ import annotations

import json
import typing as t

import pytest
from fake_cluster import FakeCluster

from ansible_collections.c5c3.ovn.plugins.module_utils._api.spec import parse_spec
from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import OvnError, Refused
from ansible_collections.c5c3.ovn.plugins.module_utils._control_plane import witnesses
from ansible_collections.c5c3.ovn.plugins.module_utils._control_plane.desired import DesiredCluster
from ansible_collections.c5c3.ovn.plugins.module_utils._control_plane.observed_state import ObservedCluster
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.apply import ObjectChange
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.record import Member, Record

Object = dict[str, t.Any]
CID = "aaaaaaaa-1111-4111-8111-111111111111"
WANTED = DesiredCluster("ovn", "x", {}, parse_spec({}, name="ovn", namespace="x"), {}, "cluster.local", {})


def live(*claims: Object, status: Object | None = None) -> ObservedCluster:
    index = {("v1", "PersistentVolumeClaim", "x", claim["metadata"]["name"]): claim for claim in claims}
    resource = {"metadata": {"name": "ovn"}, "status": status or {}}
    return ObservedCluster("ovn", "x", {}, resource, index)


def claim(uid: str = "new", name: str = "data-ovn-northbound-0", **annotations: str) -> Object:
    metadata = {"name": name, "namespace": "x", "uid": uid, "annotations": annotations}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": {}}


def volume(name: str, namespace: str = "x", uid: str = "old", policy: str = "Retain") -> Object:
    reference = {"namespace": namespace, "name": name, "uid": uid}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": "pv-1"},
        "spec": {"claimRef": reference, "persistentVolumeReclaimPolicy": policy},
        "status": {"phase": "Released"},
    }


@pytest.mark.parametrize(
    ("one", "there", "found"),
    [
        (volume("data-ovn-northbound-0"), live(), True),
        (volume("data-ovn-northbound-0"), live(claim("new")), True),
        (volume("data-ovn-northbound-0", uid="new"), live(claim("new")), False),
        (volume("data-ovn-northbound-0", policy="Delete"), live(), False),
        (volume("data-ovn-northbound-0", namespace="y"), live(), False),
        (volume("data-ovn-southbound-0"), live(), False),
        (volume("data-ovn-northbound-0-copy"), live(), False),
        ({"metadata": {"name": "pv-1"}, "spec": {}}, live(), False),
    ],
    ids=[
        "its claim is gone",
        "its claim was made again and has another volume",
        "its claim is there, and its launcher speaks for it",
        "it is deleted with its claim",
        "of another namespace",
        "of the other database",
        "of a claim with a longer name",
        "never claimed",
    ],
)
def test_a_volume_that_a_claim_left(one: Object, there: ObservedCluster, found: bool) -> None:
    message = ["PersistentVolume pv-1 (Released) was that of data-ovn-northbound-0"]
    assert witnesses.volume_witnesses([one], WANTED, there, "northbound") == message * found


def test_a_claim_and_the_status_that_name_a_cluster() -> None:
    marked = live(claim(**{witnesses.CLUSTER_ID: CID}), status={"southbound": {"clusterId": CID}})
    message = [f"PersistentVolumeClaim data-ovn-northbound-0 held a member of cluster {CID}"]
    assert witnesses.claim_witnesses(WANTED, marked, "northbound") == message
    assert witnesses.claim_witnesses(WANTED, live(claim()), "northbound") == []
    assert witnesses.status_witnesses(marked, "southbound") == [f"the status of OVNCluster ovn names cluster {CID}"]
    assert witnesses.status_witnesses(marked, "northbound") == []


def record(database: str = "northbound", cid: str | None = CID) -> str:
    return json.dumps(Record(database, {"m": Member("tcp:192.0.2.1:6643")}, cid=cid).as_dict())


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        ("old-northbound-record", record(), True),
        ("ovn-northbound-record", record(), False),
        ("old-southbound-record", record("southbound"), False),
        ("old-northbound-record", record(cid=None), False),
        ("somebody", "{}", False),
    ],
    ids=["of another name", "our own", "of the other database", "without a cluster", "no record of ours"],
)
def test_a_record_under_another_name(name: str, text: str, found: bool) -> None:
    one = {"metadata": {"name": name}, "data": {"record.json": text}}
    message = [f"ConfigMap {name} is a state record of cluster {CID}"] * found
    assert witnesses.record_witnesses([one], WANTED, "northbound") == message


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        ("ovn-northbound-witness", f"cluster {CID}\n", True),
        ("ovn-northbound-witness", "", False),
        ("ovn-southbound-witness", f"cluster {CID}\n", False),
    ],
    ids=["of a cluster", "not written yet", "of the other database"],
)
def test_what_was_known_of_members_whose_record_is_gone(name: str, text: str, found: bool) -> None:
    one = {"metadata": {"name": name}, "data": {"witness": text}}
    message = [f"ConfigMap {name} names members of cluster {CID}"] * found
    assert witnesses.map_witnesses([one], WANTED, "northbound") == message


def find(fails: OvnError | None = None, databases: t.Any = ("northbound", "southbound")) -> tuple[t.Any, list[str]]:
    warnings: list[str] = []
    cluster = FakeCluster(volume("data-ovn-northbound-0"))
    if fails:
        cluster.before("list", fails, kind="PersistentVolume")
    return witnesses.find_witnesses(cluster, WANTED, live(), databases, warn=warnings.append), warnings


def test_who_may_not_look_at_volumes_hears_of_it() -> None:
    assert find() == (
        {"northbound": ("PersistentVolume pv-1 (Released) was that of data-ovn-northbound-0",), "southbound": ()},
        [],
    )
    found, warnings = find(Refused("persistentvolumes is forbidden", http_status=403))
    assert found == {"northbound": (), "southbound": ()}
    assert "would not be noticed" in warnings[0]
    with pytest.raises(Refused):
        find(Refused("away", http_status=400))
    assert find(Refused("nobody asks", http_status=400), ()) == ({}, [])


def test_claims_are_marked_once() -> None:
    other, marked = claim("u1", "data-ovn-northbound-1"), claim("u2", **{witnesses.CLUSTER_ID: CID})
    cluster, done = FakeCluster(other, marked), list[ObjectChange]()
    for check_mode in (True, False):
        witnesses.annotate_claims(
            *(cluster, WANTED, live(other, marked), "northbound", CID),
            check_mode=check_mode,
            on_change=done.append,
        )
    (patched,) = cluster.written
    patch = {"metadata": {"uid": "u1", "annotations": {witnesses.CLUSTER_ID: CID}}}
    assert (patched.name, patched.body) == ("data-ovn-northbound-1", patch)
    assert [(one.name, one.action) for one in done] == [("data-ovn-northbound-1", "changed")] * 2
