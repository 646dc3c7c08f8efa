"""Members in pods against real database servers: what one command tells of them, and each step of a plan."""

from __future__ import annotations

import os
import signal
import time
import typing as t

import pytest
from _launcher_lib import Cluster, Member, until
from _pods_lib import FakeCluster
from conftest import within

from ansible_collections.c5c3.ovn.plugins.module_utils._base.deadline import Deadline
from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import Refused, TimedOut
from ansible_collections.c5c3.ovn.plugins.module_utils._control_plane import joining
from ansible_collections.c5c3.ovn.plugins.module_utils._control_plane import pod_steps as act
from ansible_collections.c5c3.ovn.plugins.module_utils._control_plane.examine_pod import EXAMINE, parse_observation
from ansible_collections.c5c3.ovn.plugins.module_utils._control_plane.pod_steps import PodMembers
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes import client
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.stuck_pods import delete_stuck_pod
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.gates import gate_reason
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.observation import Observation
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.plan import plan_round
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.record import Record
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.step import Run, Step


class World:
    """Three members, their pods, and the loop of a run."""

    def __init__(self, launchers: Cluster) -> None:
        self.cluster = FakeCluster(launchers)
        self.launchers = launchers.members
        self.members = PodMembers(t.cast(client.Cluster, self.cluster), "ns", "ovn", "northbound")
        self.declared = {member.id: member.address for member in launchers.members}
        self.record: Record | None = None
        self.leaders: set[str] = set()  # seen when a member was restarted

    def observe(self) -> dict[str, Observation]:
        seen: dict[str, Observation] = {}
        record = self.record.as_dict() if self.record else None
        for name in self.declared:
            if name not in self.cluster.pods:
                seen[name] = Observation(name, installed=False, record=record)
                continue
            pod = self.cluster.pods[name].manifest()
            result = self.cluster.exec("ns", name, "database", EXAMINE)
            one = parse_observation("northbound", name, result, pod, self.cluster.revision, record)
            if one is not None:
                seen[name] = one
        return seen

    def write(self, record: Record) -> None:
        self.record = record
        self.cluster.record(record)
        self.members.annotate_to_resync(record)

    def converge(self, *, restart: bool = True) -> list[str]:
        """As ovn_cluster does it; the actions that were taken, and whose restart was that of the leader."""
        run = Run("northbound", self.declared, "run", "now", restart=restart, allow_names=True)
        taken: list[str] = []
        for _round in range(60):
            observed = self.observe()
            decided = plan_round(run, observed, gate_reason)
            if decided.record is not None:
                self.write(decided.record)
            if decided.step is None:
                return taken
            if decided.step.action == "start":
                self.cluster.run(*(name for name in decided.step.members if name not in self.cluster.pods))
            if decided.step.action != "wait":
                leads = decided.step.action == "restart" and observed[decided.step.members[0]].leader
                self.leaders |= {o.member for o in observed.values() if o.leader and decided.step.action == "restart"}
                taken.append(
                    f"{decided.step.action} {','.join(decided.step.members)}{', which leads' if leads else ''}"
                )
            assert self.record is not None
            self.members.execute(decided.step, self.record, Deadline(30))
        raise AssertionError(f"no end: {taken}")

    def by_name(self, name: str) -> Member:
        return self.cluster.members[name]


@pytest.fixture
def world() -> t.Iterator[World]:
    launchers = Cluster()
    yield World(launchers)
    launchers.close()


def test_a_whole_life(world: World) -> None:
    """Bootstrap, nothing to do, a changed template, a lost volume, a zombie."""
    assert world.converge() == ["start m1", "start m2", "start m3"]
    assert world.record is not None
    sids = {name: member.sid for name, member in world.record.members.items()}
    assert sids == {member.id: member.sid for member in world.launchers}
    assert world.converge() == []

    until(lambda: any(o.leader for o in world.observe().values()), "a leader")
    world.cluster.revision = "r2"
    taken = world.converge()
    assert sorted(step.partition(",")[0] for step in taken) == ["restart m1", "restart m2", "restart m3"]
    assert not any("which leads" in step for step in taken[:-1]), "not one that led while others were due"
    assert "which leads" in taken[-1] or len(world.leaders) > 1, "the leader, unless another one was elected meanwhile"
    assert {name: member.sid for name, member in world.record.members.items()} == sids
    assert world.converge() == []

    leader = until(lambda: next((o.member for o in world.observe().values() if o.leader), None), "a leader")
    lost, zombie = (member for member in world.launchers if member.id != leader)
    world.cluster.delete("v1", "Pod", lost.id, "ns")
    lost.kill()
    lost.file.unlink()
    world.cluster.run(lost.id)
    until(lambda: lost.state() == "ask", "the launcher asks")
    assert world.converge() == [f"kick {leader}", f"start {lost.id}"]
    assert world.record.members[lost.id].sid == lost.sid != sids[lost.id]

    zombie.kill()
    world.by_name(leader).appctl("cluster/kick", "OVN_Northbound", zombie.sid)
    until(lambda: zombie.sid[:4] not in world.by_name(leader).cluster_status(), "unlisted")
    world.cluster.run(zombie.id)
    until(zombie.cluster_status, "a zombie runs")
    old = zombie.sid
    assert world.converge() == [f"stop {zombie.id}", f"start {zombie.id}"]
    assert zombie.sid != old
    assert world.converge() == []


def test_a_waiting_pod_with_an_old_record_gets_a_new_one(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joining, "_RECREATE_SECONDS", 1.0)
    monkeypatch.setattr(joining, "_RESYNC_AGAIN", 0.3)
    world.cluster.deaf.add("m1")
    first = world.by_name("m1")
    world.cluster.run("m1")
    until(lambda: first.state() == "ask", "the launcher asks")
    assert world.converge() == ["start m1", "start m2", "start m3"]
    assert "delete m1" in world.cluster.calls
    assert world.cluster.calls.count("patch m1") >= 3


def test_a_launcher_that_refuses_is_not_waited_for(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joining, "_WAITING_SECONDS", 0.5)
    record = Record("northbound", {}, revision=3, cid="11111111-2222-4333-8444-555555555555")
    world.write(record)
    world.cluster.run("m1")
    with pytest.raises(Refused, match="does not name it as a member"):
        world.members.execute(Step("start", ("m1",), "start"), record, Deadline(20))


def test_a_member_that_cannot_join_is_reported(world: World) -> None:
    world.converge()
    assert world.record is not None
    for member in world.launchers[1:]:
        member.kill()
    deadline = Deadline(round(within(4)))
    with pytest.raises(TimedOut, match=f'did not join its cluster within {deadline.seconds:g} s: its status is "'):
        world.members.execute(Step("restart", ("m1",), "restart"), world.record, deadline)


def test_a_restart_with_an_image_that_cannot_be_pulled_stops_the_roll_out(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Long before its time is up, with one member down and the others untouched. With a good image the next run goes on."""
    monkeypatch.setattr(act, "_FIRST_CHECK_SECONDS", 0.5)
    world.converge()
    world.cluster.revision, world.cluster.waiting = "r2", "ImagePullBackOff"
    with pytest.raises(Refused, match=r"waiting does not change that.*ImagePullBackOff.*run again"):
        world.converge()
    assert len([call for call in world.cluster.calls if call.startswith("delete")]) == 1
    assert [pod.revision for pod in world.cluster.pods.values()].count("r1") == 2
    world.cluster.revision, world.cluster.waiting = "r3", ""
    stuck = next(name for name, pod in world.cluster.pods.items() if pod.waiting)
    assert stuck in world.members.outdated(world.members.pods())
    assert delete_stuck_pod(t.cast(client.Cluster, world.cluster), world.members.pods()[stuck])
    assert len(world.converge()) == 2
    assert {pod.revision for pod in world.cluster.pods.values()} == {"r3"}


def test_ghost_is_kicked_through_the_leader_only(world: World) -> None:
    world.converge()
    assert world.record is not None
    follower = next(o for o in world.observe().values() if not o.leader)
    with pytest.raises(Refused, match="leadership moved away"):
        world.members.execute(Step("kick", (follower.member,), "kick", sid=follower.sid), world.record, Deadline(5))


def test_a_frozen_server_makes_the_member_unknown_after_its_time_to_load(world: World) -> None:
    world.converge()
    first = world.by_name("m1")
    pid = first.server_pid()
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    assert world.observe()["m1"].running  # it could still read its file
    os.utime(first.state_dir / "state", (time.time() - 900, time.time() - 900))
    assert "m1" not in world.observe()
