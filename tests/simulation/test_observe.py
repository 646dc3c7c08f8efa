"""What the model shows: to the product, whose parser knows what is printed during elections, joins and removals, and to clients."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._raft.parse import ClusterStatus
from simulation.events import Event, check
from simulation.explore import STARTS
from simulation.observe import observe_member
from simulation.runs import play
from simulation.world import NORTHBOUND, Raft, Violation, World


def status_after(events: t.Sequence[Event], name: str) -> ClusterStatus:
    world = STARTS["three machines"].world()
    for event in events:
        play(world, event)
    return status_of(world, name)


def status_of(world: World, name: str) -> ClusterStatus:
    answer = observe_member(world, NORTHBOUND, world.hosts[name]).reported_answer
    assert answer is not None
    assert answer.status is not None
    assert not answer.status.unknown_lines
    return answer.status


@pytest.mark.parametrize(
    ("events", "role", "status", "leader"),
    [
        pytest.param((), "follower", "cluster member", "known", id="follower"),
        pytest.param((("hesitate",), ("crash", "m1")), "candidate", "cluster member", "unknown", id="first election"),
        pytest.param(
            (("hesitate",), ("crash", "m1"), ("crash", "m2"), ("time",)),
            "candidate",
            "disconnected from the cluster (election timeout)",
            "unknown",
            id="election without a majority",
        ),
        pytest.param((("hesitate",), ("rejoin", "m3")), "follower", "joining cluster", "unknown", id="joining"),
    ],
)
def test_status_of_a_member_is_parsed(events: t.Sequence[Event], role: str, status: str, leader: str) -> None:
    found = status_after(events, "m3")
    assert (found.role, found.status) == (role, status)
    assert (found.leader == "unknown") == (leader == "unknown")


def test_leader_reports_a_joiner() -> None:
    (change,) = status_after((("hesitate",), ("rejoin", "m3")), "m1").changes
    assert (change.kind, change.phase) == ("adding", "adding: catchup")


def test_a_removal_takes_time_while_the_world_hesitates() -> None:
    events: list[Event] = [("hesitate",), ("kick", "m3")]
    (change,) = status_after(events, "m1").changes
    assert (change.kind, change.phase) == ("removing", "removing")
    assert not status_after([*events, ("time",)], "m1").changes
    assert len(status_after([*events, ("lead", "m2")], "m2").servers) == 3, "the next leader has the member again"


def test_leader_reports_changes_that_are_not_committed() -> None:
    world = STARTS["three machines"].world()
    play(world, ("slow", "m2"))
    sid = status_of(world, "m3").server_id
    Raft(world, NORTHBOUND).kick(world.hosts["m1"], sid)
    (change,) = status_of(world, "m1").changes
    assert (change.kind, change.sid, change.phase) == ("removing", sid[:4], "removing")


@pytest.mark.parametrize(
    ("events", "acknowledged"),
    [
        pytest.param((), True, id="the leader is one of theirs"),
        pytest.param(
            (("replace_hosts", "m2", "m3", "m4"), ("hand_out",)), False, id="they were never given its address"
        ),
        pytest.param((("cut", "m1"), ("write",), ("burst", "m1"), ("heal",)), True, id="another one leads"),
    ],
)
def test_clients_write_where_they_were_told_to(events: t.Sequence[Event], acknowledged: bool) -> None:
    world = STARTS["other hosts"].world()
    for event in events:
        if event == ("hand_out",):
            addresses = frozenset(world.address_of(name) for name in world.declared)
            world.client[NORTHBOUND] = world.client[NORTHBOUND]._replace(addresses=addresses)
        else:
            play(world, event)
    before = world.acknowledged[NORTHBOUND]
    play(world, ("write",))
    assert (len(world.acknowledged[NORTHBOUND]) > len(before)) == acknowledged


def test_clients_refuse_a_server_with_a_lower_index_than_they_saw() -> None:
    world = STARTS["three machines"].world()
    client, (_host, slot) = world.client[NORTHBOUND], Raft(world, NORTHBOUND).leaders()[0]
    assert Raft(world, NORTHBOUND).serves(slot)
    world.client[NORTHBOUND] = client._replace(index=client.index + 1)
    assert not Raft(world, NORTHBOUND).serves(slot)
    before = world.acknowledged[NORTHBOUND]
    play(world, ("write",))
    assert world.acknowledged[NORTHBOUND] == before


def test_clients_are_asked_for_what_was_acknowledged_to_them() -> None:
    world = STARTS["three machines"].world()
    world.acknowledged[NORTHBOUND] |= {world.writes + 1}
    with pytest.raises(Violation, match="which lacks what was acknowledged to them"):
        check(world)
