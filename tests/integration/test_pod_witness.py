"""What Kubernetes keeps of how new the members' files are (R25): a claim that was restored together with a new pod never votes."""

from __future__ import annotations

import json
import shutil
import subprocess
import typing as t

import _control_plane
import pytest
from _control_plane import WHOLE, ControlPlane, touched
from _launcher_lib import Member, log_terms, until
from _pods_on_api import Kubelet

from ansible_collections.c5c3.ovn.plugins.module_utils._raft import cluster_witness
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.cluster_witness import (
    ClusterWitness,
    Entry,
    MemberWitness,
    parse_cluster_witness,
    render_cluster_witness,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.parse import parse_cluster_status

plane, kubelet = _control_plane.plane, _control_plane.kubelet  # fixtures

OPTIONS: dict[str, t.Any] = {"spec": WHOLE, "wait": False, "wait_timeout": 300}
MAP = "ovn-northbound-witness"


@pytest.fixture
def members(plane: ControlPlane, kubelet: Kubelet, monkeypatch: pytest.MonkeyPatch) -> list[Member]:
    """The Northbound members of a control plane that runs. A run leaves no step to the observer, which does not run here."""
    monkeypatch.setattr(cluster_witness, "MEANINGFUL_ENTRIES", 1)
    for member in kubelet.members.values():
        member.env["OVN_WITNESS_SECONDS"] = "0.2"
    plane(**OPTIONS)
    return [member for name, member in kubelet.members.items() if "northbound" in name]


def stored(plane: ControlPlane, database: str = "northbound") -> ClusterWitness:
    return parse_cluster_witness(
        (plane.get("ConfigMap", f"ovn-{database}-witness").get("data") or {}).get("witness", "")
    )


def leader(members: t.Sequence[Member]) -> Member:
    return until(lambda: next((m for m in members if m.process is not None and m.leads()), None), "a leader")


def write(member: Member, name: str) -> None:
    """A row that the cluster acknowledges."""
    operation = {"op": "insert", "table": "Logical_Switch", "row": {"name": name}}
    done = subprocess.run(
        ["ovsdb-client", "-t", "10", "transact", f"unix:{member.sock}", json.dumps(["OVN_Northbound", operation])],
        check=True,
        capture_output=True,
        text=True,
        timeout=20,
    )
    assert '"uuid"' in done.stdout, done.stdout


def rows(member: Member) -> list[str]:
    """The names of all logical switches that this member itself shows."""
    query = ["OVN_Northbound", {"op": "select", "table": "Logical_Switch", "where": [], "columns": ["name"]}]
    done = subprocess.run(
        ["ovsdb-client", "-t", "10", "--no-leader-only", "query", f"unix:{member.sock}", json.dumps(query)],
        check=True,
        capture_output=True,
        text=True,
        timeout=20,
    )
    return sorted(row["name"] for row in json.loads(done.stdout)[0]["rows"])


def restore(kubelet: Kubelet, pod: str, copy: str) -> None:
    """The pod ends, its claim holds an older copy now, and there is a new pod."""
    member = kubelet.members[pod]
    kubelet.ended(pod)
    member.process = None
    shutil.copy2(member.dir / copy, member.file)
    kubelet.run(pod)


def keep_copy(member: Member) -> None:
    """A snapshot of the claim while the server runs."""
    shutil.copy2(member.file, member.dir / "old")


def test_a_run_writes_down_what_is_certain_before_it_recreates_pods(
    plane: ControlPlane, kubelet: Kubelet, members: list[Member], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster_witness, "MEANINGFUL_ENTRIES", 1000)
    for number in range(3):
        write(leader(members), f"s{number}")
    status = parse_cluster_status(leader(members).cluster_status())
    plane(**OPTIONS)  # that is little: the observer writes it down
    assert max(member.log_index for member in stored(plane).members.values()) < status.log_next - 1
    deleted, known = kubelet.deleted, dict[str, int]()

    def note(pod: str) -> None:
        if "northbound" in pod:
            known[pod] = stored(plane).members[kubelet.members[pod].sid].log_index
        deleted(pod)

    monkeypatch.setattr(kubelet, "deleted", note)
    plane(**{**OPTIONS, "spec": {**WHOLE, "priorityClassName": ""}})  # each pod is recreated
    assert len(known) == 3
    assert min(known.values()) >= status.log_next - 1, known
    first = stored(plane)
    assert first.cluster_id == members[0].cid
    assert first.members.keys() == {member.sid for member in members}
    for member in members:
        known = first.members[member.sid]
        assert known.entry is not None
        # Of entries that this member's own file has, and the whole cluster has committed.
        assert log_terms(member)[known.entry.log_index] == known.entry.term
        status = parse_cluster_status(member.cluster_status())
        assert known.entry.log_index <= known.log_index <= status.log_next - 1 - status.not_committed
    again = plane(**{**OPTIONS, "spec": {**WHOLE, "priorityClassName": ""}})
    assert touched(again) == {}


def test_a_claim_that_was_restored_with_a_new_pod_never_votes(
    plane: ControlPlane, kubelet: Kubelet, members: list[Member]
) -> None:
    """Two members with the older copy would outvote the third one, and the acknowledged rows would be gone."""
    one, two = (member for member in members if member is not leader(members))
    for member in (one, two):
        keep_copy(member)
    for number in range(3):
        write(leader(members), f"s{number}")
    acknowledged = rows(leader(members))
    assert acknowledged == ["s0", "s1", "s2"]
    ran = plane(**OPTIONS)
    assert (ran["steps"], touched(ran)) == ([], {})
    known, sid = stored(plane), one.sid
    restore(kubelet, one.id, "old")
    until(lambda: one.state() == "ask", "the launcher asks")
    assert one.state("class") == "outdated-copy"
    assert f"this member is known to have had {known.members[sid].log_index}" in one.state("reason")
    assert one.server_pid() is None
    ran = plane(**OPTIONS)
    assert any(one.id in step for step in ran["steps"]), ran["steps"]
    until(one.connected, "the member takes part again")
    assert one.sid != sid
    for member in members:
        until(lambda member=member: rows(member) == acknowledged, f"all rows on {member.id}")
    fresh = stored(plane)
    assert one.sid in fresh.members
    assert fresh.members[two.sid].log_index >= known.members[two.sid].log_index


def test_older_copies_of_a_majority_are_started_only_when_the_operator_accepts_it(
    plane: ControlPlane, kubelet: Kubelet, members: list[Member]
) -> None:
    for member in members:
        keep_copy(member)
    for number in range(3):
        write(leader(members), f"s{number}")
    plane(**OPTIONS)
    for member in members:
        restore(kubelet, member.id, "old")
    for member in members:
        until(lambda member=member: member.state() == "ask", f"the launcher of {member.id} asks")
    refused = plane(**{**OPTIONS, "wait_timeout": 60}, may_fail=True)
    assert refused.failed
    assert "an old copy" in refused["msg"]
    assert "accept_rollback=true" in refused["msg"]
    assert all(member.server_pid() is None for member in members)
    plane(**OPTIONS, accept_rollback=True)
    for member in members:
        until(member.connected, f"{member.id} takes part")
    assert rows(leader(members)) == []
    # Nothing of what was given up is left: the next run and the next pod take the files as they are.
    assert not plane(**OPTIONS)["steps"]
    kubelet.deleted(members[1].id)
    until(members[1].connected, "the next pod starts")


def test_what_others_wrote_meanwhile_is_kept_and_nothing_is_lowered(
    plane: ControlPlane, kubelet: Kubelet, members: list[Member]
) -> None:
    """Higher values, a server that is none any more, a cluster that was: what a run makes of each before it recreates a pod."""
    foreign = "eeee0000-1111-4111-8111-000000000009"
    now = stored(plane)
    sid = members[0].sid
    ahead = now.members[sid]._replace(log_index=now.members[sid].log_index + 1)
    written = ClusterWitness(now.cluster_id, {**now.members, sid: ahead, foreign: MemberWitness(4711, "", Entry(9, 9))})
    plane.patch("ConfigMap", MAP, {"data": {"witness": render_cluster_witness(written)}})
    write(leader(members), "a")
    plane(**{**OPTIONS, "spec": {**WHOLE, "priorityClassName": ""}})
    after = stored(plane)
    assert foreign not in after.members
    assert all(
        after.members[one].log_index >= known.log_index for one, known in written.members.items() if one != foreign
    )

    other = ClusterWitness("ffffffff-1111-4111-8111-000000000009", {foreign: MemberWitness(4711)})
    plane.patch("ConfigMap", MAP, {"data": {"witness": render_cluster_witness(other)}})
    plane(**{**OPTIONS, "spec": WHOLE})
    assert stored(plane).cluster_id == now.cluster_id
    assert stored(plane).members.keys() == {member.sid for member in members}


def test_a_lost_witness_keeps_nobody_down_and_is_written_again(
    plane: ControlPlane, kubelet: Kubelet, members: list[Member]
) -> None:
    plane.remove("ConfigMap", MAP)
    follower = next(member for member in members if not member.leads())
    kubelet.deleted(follower.id)
    until(follower.connected, "a pod without it starts")
    ran = plane(**OPTIONS)
    assert touched(ran) == {f"ConfigMap {MAP}": "created"}
    assert stored(plane).members.keys() == {member.sid for member in members}


def test_the_witness_goes_with_the_data_only(plane: ControlPlane) -> None:
    plane.begin()
    left = plane(state="absent", spec=None)
    assert MAP not in str(touched(left))
    assert f"ConfigMap {MAP}" in plane.ours()
    gone = plane(state="absent", spec=None, delete_data=True)
    assert touched(gone)[f"ConfigMap {MAP}"] == "deleted"
