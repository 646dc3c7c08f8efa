from __future__ import annotations

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._daemons.database_member import committed, member_state
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.parse import parse_cluster_status

HEAD = """\
81d3
Name: OVN_Northbound
Cluster ID: a0b7 (a0b739a1-2c38-479b-9e0d-605e9da30330)
Server ID: 81d3 (81d340eb-d5d2-427b-9278-ccc262f4ce6c)
Address: tcp:192.0.2.1:6643
Status: {status}
Role: {role}
Term: 1
Leader: {leader}
Vote: self

Election timer: {timer}
Log: [2, 9]
Entries not yet committed: {waiting}
Entries not yet applied: 0
Connections: {connections}
Disconnections: 0
Servers:
"""
SELF = "    81d3 (81d3 at tcp:192.0.2.1:6643) (self)\n"
LINKED = "->cdfb <-cdfb ->ee2f <-ee2f"


def peer(name: str, message: int | None, phase: str = "") -> str:
    silence = "" if message is None else f" last msg {message} ms ago"
    return f"    {name} ({name} at tcp:192.0.2.{int(name, 16) % 200}:6643){phase} next_index=9 match_index=8{silence}\n"


def text(
    *peers: str,
    status: str = "cluster member",
    role: str = "leader",
    leader: str = "self",
    timer: str = "1000",
    waiting: int = 0,
    connections: str = LINKED,
) -> str:
    head = HEAD.format(status=status, role=role, leader=leader, timer=timer, waiting=waiting, connections=connections)
    return head + SELF + "".join(peers)


BOTH = (peer("cdfb", 17), peer("ee2f", 20))
CASES = [
    ("a leader that hears both others leads", text(*BOTH), "leader", ""),
    ("a leader that hears one of two leads", text(peer("cdfb", 17), peer("ee2f", 9000)), "leader", ""),
    ("a leader that hears no other member does not", text(peer("cdfb", 9000), peer("ee2f", 9000)), "none", "hears only 1 of 3"),
    ("nor one that never heard anybody", text(peer("cdfb", None), peer("ee2f", None)), "none", "hears only 1 of 3"),
    ("nor one whose links just broke", text(*BOTH, connections="(->cdfb) (->ee2f)"), "none", "hears only 1 of 3"),
    ("5 s of silence are normal with a timer of 16 s", text(peer("cdfb", 5300), peer("ee2f", 9000), timer="16000"), "leader", ""),
    ("a single member leads", text(connections=""), "leader", ""),
    ("a joiner is no voter yet", text(peer("cdfb", 9000, " (adding: catchup)")), "leader", ""),
    ("waiting writes mean no majority", text(*BOTH, waiting=2), "none", "2 earlier writes wait"),
    ("a follower with a leader follows", text(*BOTH, role="follower", leader="cdfb"), "follower", ""),
    ("a follower without a leader cannot write", text(*BOTH, role="follower", leader="unknown"), "none", "no leader"),
    ("a candidate cannot write", text(*BOTH, role="candidate", leader="unknown"), "none", "no leader"),
    ("a member that leaves cannot write", text(*BOTH, status="leaving cluster", role="follower", leader="cdfb"), "none", "leaving"),
    (
        "a member without its cluster cannot write",
        text(*BOTH, status="disconnected from the cluster (election timeout)", role="candidate", leader="unknown"),
        "none",
        "disconnected",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("status", "role", "words"), [row[1:] for row in CASES], ids=[row[0] for row in CASES])
def test_role(status: str, role: str, words: str) -> None:
    state = member_state(parse_cluster_status(status))
    assert state.role == role
    assert words in state.reason
    assert bool(state.reason) == (role == "none")


def test_a_busy_leader_that_commits_leads() -> None:
    status = parse_cluster_status(text(*BOTH, waiting=2))
    assert committed(status) == 6
    assert member_state(status, committed_before=5).role == "leader"
    assert member_state(status, committed_before=6).role == "none"


def test_the_timer_and_its_pending_change() -> None:
    state = member_state(parse_cluster_status(text(*BOTH, timer="1000 (changing to 2000)")))
    assert (state.election_timer, state.pending_timer) == (1000, 2000)


def test_a_follower_names_its_leader() -> None:
    state = member_state(parse_cluster_status(text(*BOTH, role="follower", leader="cdfb")))
    assert state.leader.startswith("cdfb at tcp:")
