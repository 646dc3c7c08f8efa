"""Settings are changed through whichever pod leads."""

from __future__ import annotations

import json
import typing as t

import pytest
from fake_cluster import FakeCluster

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import (
    BadAnswer,
    OvnError,
    Refused,
    TimedOut,
    Unreachable,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._control_plane.pod_database import PodConnection, PodDatabase
from ansible_collections.c5c3.ovn.plugins.module_utils._daemons.database_settings import LAYOUTS
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.command import ExecResult
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.parse import parse_cluster_status

SIDS = {"m0": "81d3", "m1": "cdfb", "m2": "ee2f"}
ADDRESSES = {pod: f"ssl:{pod}.example.com:6643" for pod in SIDS}
PODS = {address: pod for pod, address in ADDRESSES.items()}


class StubLease:
    """Whether somebody else works on the control plane is not the matter here."""

    def acquire_or_renew(self, step: str) -> bool:
        return not step


def status(own: str, leader: str | None, listed: t.Collection[str] = tuple(SIDS)) -> str:
    """cluster/status of the pod `own`."""
    leads = own == leader
    servers = ""
    for pod in listed:
        rest = "(self)" if pod == own else "next_index=9 match_index=8 last msg 10 ms ago" if leads else ""
        servers += f"    {SIDS[pod]} ({SIDS[pod]} at {ADDRESSES[pod]}) {rest}".rstrip() + "\n"
    links = " ".join(f"->{SIDS[pod]} <-{SIDS[pod]}" for pod in listed if pod != own)
    name = "self" if leads else SIDS[leader] if leader else "unknown"
    return (
        f"{SIDS[own]}\nName: OVN_Northbound\nCluster ID: a0b7 (a0b739a1-2c38-479b-9e0d-605e9da30330)\n"
        f"Server ID: {SIDS[own]} ({SIDS[own]}40eb-d5d2-427b-9278-ccc262f4ce6c)\nAddress: {ADDRESSES[own]}\nStatus: cluster member\n"
        f"Role: {'leader' if leads else 'follower'}\nTerm: 1\nLeader: {name}\nVote: self\n\nElection timer: 1000\nLog: [2, 9]\n"
        f"Entries not yet committed: 0\nEntries not yet applied: 0\nConnections: {links}\nDisconnections: 0\nServers:\n{servers}"
    )


def cluster_with(**answers: str | OvnError | ExecResult) -> FakeCluster:
    """Pods that answer every command like this."""
    cluster = FakeCluster()
    cluster.answers = {pod: ExecResult(0, one, "") if isinstance(one, str) else one for pod, one in answers.items()}
    return cluster


def asked(cluster: FakeCluster) -> list[str]:
    calls = cluster.asked("exec")
    assert {call.body["container"] for call in calls} <= {"database"}
    assert all(call.body["timeout"] > 0 for call in calls)
    return [call.name for call in calls]


def database(cluster: FakeCluster, leader: str | None = None, known: str | None = None) -> PodDatabase:
    seen = parse_cluster_status(known) if known else None
    return PodDatabase(cluster, "x", LAYOUTS["northbound"], PODS, leader, seen, t.cast(t.Any, StubLease()))


def test_what_was_seen_a_moment_ago_is_not_asked_again() -> None:
    cluster = cluster_with(m1=status("m1", "m1"))
    member = database(cluster, "m1", status("m1", "m1"))
    assert member.examine().role == "leader"
    assert asked(cluster) == []
    assert member.examine().role == "leader"
    assert asked(cluster) == ["m1"]


def test_a_follower_leads_to_the_leader() -> None:
    cluster = cluster_with(m0=status("m0", "m2"), m2=status("m2", "m2"))
    member = database(cluster)
    assert member.examine().role == "leader"
    assert asked(cluster) == ["m0", "m2"]
    assert member.pod == "m2"


@pytest.mark.parametrize(
    "problem",
    [
        Unreachable("no route"),
        TimedOut("it hangs"),
        Refused("not found", http_status=404),
        ExecResult(1, "", "no such file"),
        ExecResult(0, "nonsense", ""),
    ],
    ids=["no route", "hangs", "is gone", "no server", "says nonsense"],
)
def test_a_pod_that_does_not_answer_is_passed_over(problem: t.Any) -> None:
    cluster = cluster_with(m0=problem, m1=status("m1", "m1"))
    member = database(cluster)
    assert member.examine().role == "leader"
    assert asked(cluster) == ["m0", "m1"]


def test_nobody_answers() -> None:
    cluster = cluster_with(m0=Unreachable("a"), m1=Unreachable("b"), m2=Unreachable("the last word"))
    state = database(cluster).examine()
    assert state.role == "none"
    assert state.reason == "no pod leads: the last word"
    assert asked(cluster) == ["m0", "m1", "m2"]


def test_two_that_point_at_each_other_end() -> None:
    cluster = cluster_with(m0=status("m0", "m1"), m1=status("m1", "m0"))
    assert database(cluster).examine().role == "none"
    assert asked(cluster) == ["m0", "m1", "m0"]


def test_a_leader_that_is_no_pod_of_ours_is_only_told() -> None:
    SIDS["other"], ADDRESSES["other"] = "dddd", "ssl:192.0.2.9:6643"
    try:
        text = status("m0", "other", ("m0", "other"))
    finally:
        del SIDS["other"], ADDRESSES["other"]
    state = database(cluster_with(m0=text)).examine()
    assert (state.role, state.leader) == ("follower", "dddd at ssl:192.0.2.9:6643")


def test_requests_go_to_the_pod_that_leads() -> None:
    rows = [{"rows": [{"_uuid": ["uuid", "u"], "options": ["map", []]}]}, {"rows": []}]
    cluster = cluster_with(m1=json.dumps(rows))
    member = database(cluster, "m1")
    assert member.read().connections == {}
    command = cluster.calls[0].body["command"]
    assert asked(cluster) == ["m1"]
    assert command[:4] == ["ovsdb-client", "-t", "10", "transact"]
    assert command[4] == "unix:/run/ovn/ovnnb_db.sock"
    assert json.loads(command[5])[0] == "OVN_Northbound"


def test_one_step_of_the_timer() -> None:
    cluster = cluster_with(m1="")
    database(cluster, "m1").change_timer(2000)
    assert cluster.calls[0].body["command"][-3:] == ["cluster/change-election-timer", "OVN_Northbound", "2000"]


def test_a_refusal_in_the_pod_is_told_with_its_words() -> None:
    connection = PodConnection(cluster_with(m0=ExecResult(1, "", "not leader\n")), "x", "m0", "/s")
    with pytest.raises(Unreachable, match="ovsdb-client in pod m0 ended with code 1: not leader"):
        connection.call("transact", [])
    connection = PodConnection(cluster_with(m0="no json"), "x", "m0", "/s")
    with pytest.raises(BadAnswer, match="Pod m0 answered transact with"):
        connection.call("transact", [])
