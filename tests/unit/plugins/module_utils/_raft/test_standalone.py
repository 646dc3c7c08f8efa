"""The verdict on a database of others: any number of members, or none of Raft."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._raft.standalone import assess_foreign

Build = t.Callable[[t.Any], t.Any]


def alone(tools: t.Any, *numbers: int) -> t.Any:
    """Servers without Raft, asked through both sockets of their hosts or by an endpoint: they know no cluster."""
    cluster = tools.Raft(0)
    for number in numbers:
        cluster.add(tools.Paper(number, model="standalone", local=False, cid=None, server_id="", index=None))
    return cluster


@pytest.mark.parametrize(
    ("build", "verdict", "writable", "codes"),
    [
        pytest.param(lambda p: alone(p, 1), "standalone", True, set(), id="one server"),
        pytest.param(lambda p: alone(p, 1, 2), "standalone", True, {"standalone_several"}, id="active and backup"),
        pytest.param(lambda p: alone(p, 1, 2).unresponsive(2), "degraded", True, {"unreachable"}, id="one of two is dead"),
        pytest.param(lambda p: alone(p, 1).unresponsive(1), "unreachable", False, {"unreachable"}, id="nobody answers"),
        pytest.param(lambda p: p.Raft(3), "healthy", True, set(), id="a cluster"),
        pytest.param(lambda p: p.Raft(5), "healthy", True, set(), id="of any size"),
        pytest.param(lambda p: p.Raft(3).dead(3), "degraded", True, {"unreachable", "member_missing"}, id="with a dead member"),
        pytest.param(lambda p: p.Raft(3).all(local=False), "healthy", True, set(), id="behind endpoints"),
        pytest.param(lambda p: p.Raft(3).all(local=False).unresponsive(3), "degraded", True, {"unreachable"}, id="one endpoint is dead"),
        pytest.param(lambda p: p.Raft(1).all(local=False), "healthy", True, set(), id="an endpoint that leads to the leader"),
        pytest.param(lambda p: p.Raft(1).all(local=False, role="follower"), "healthy", True, {"partial_view"}, id="an endpoint that leads to another"),
        pytest.param(lambda p: p.Raft(1).all(local=False, leads=False, connected=False), "no_quorum", False, {"no_quorum", "disconnected"}, id="one cut off"),
    ],
)  # fmt: skip
def test_verdict(build: Build, verdict: str, writable: bool, codes: set[str], paper: t.Any) -> None:
    found = assess_foreign(build(paper).answers())
    assert (found.verdict, found.writable) == (verdict, writable)
    assert {reason.code for reason in found.reasons if not reason.code.startswith("fault_")} == codes


def test_servers_without_raft_are_described(paper: t.Any) -> None:
    found = assess_foreign(alone(paper, 1).answers())
    assert [(one["member"], one["reachable"], one["problems"]) for one in found.members] == [("m1", True, [])]
    assert (found.healthy, found.leader, found.cluster_id) == (True, None, None)
