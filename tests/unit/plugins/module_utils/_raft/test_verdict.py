"""The verdict: each case is a sentence about a cluster."""

from __future__ import annotations

import dataclasses
import json
import pathlib
import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._raft.answer import Answer, failed_answer
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.parse import parse_cluster_status
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.verdict import assess

CAPTURES = pathlib.Path(__file__).parents[1] / "captures"

Build = t.Callable[[t.Any], t.Any]


class Case(t.NamedTuple):
    sentence: str
    build: Build  # tools -> Raft
    verdict: str
    writable: bool
    problems: t.AbstractSet[str] = frozenset()  # exactly these codes
    warnings: t.AbstractSet[str] = frozenset()
    members: int | None = 3  # expected_members
    cluster_id: bool = False  # whether the right one is expected


CASES = [
    Case("three members, one leader, all heard is healthy", lambda p: p.Raft(3), "healthy", True),
    Case("one member that leads itself is healthy", lambda p: p.Raft(1), "healthy", True, members=1),
    Case("five members are healthy", lambda p: p.Raft(5), "healthy", True, members=5),
    Case("the expected cluster id is healthy", lambda p: p.Raft(3), "healthy", True, cluster_id=True),
    Case(
        "a dead follower is degraded", lambda p: p.Raft(3).dead(3), "degraded", True, {"unreachable", "member_missing"}
    ),
    Case(
        "a follower that died just now is degraded although the leader heard it a moment ago",
        lambda p: p.Raft(3).unresponsive(3),
        "degraded",
        True,
        {"unreachable"},
    ),
    Case(
        "a frozen follower is degraded", lambda p: p.Raft(3).unresponsive(3, "timeout"), "degraded", True, {"timeout"}
    ),
    Case(
        "a port with a bad certificate is told as such",
        lambda p: p.Raft(3).unresponsive(2, "certificate"),
        "degraded",
        True,
        {"certificate"},
    ),
    Case(
        "two of three dead is no quorum, even if the survivor calls itself leader",
        lambda p: p.Raft(3).dead(2, 3),
        "no_quorum",
        False,
        {"no_quorum", "unreachable", "member_missing"},
    ),
    Case(
        "two of three unresponsive and not heard for one election timer is no quorum",
        lambda p: p.Raft(3).dead(2, 3, last=1500),
        "no_quorum",
        False,
        {"no_quorum", "unreachable"},
    ),
    Case(
        "two of three unreachable for us but heard by the leader this moment is degraded",
        lambda p: p.Raft(3).unresponsive(2).unresponsive(3),
        "degraded",
        True,
        {"unreachable"},
    ),
    Case(
        "two of five dead is degraded",
        lambda p: p.Raft(5).dead(4, 5),
        "degraded",
        True,
        {"unreachable", "member_missing"},
        members=5,
    ),
    Case(
        "three of five dead is no quorum",
        lambda p: p.Raft(5).dead(3, 4, 5),
        "no_quorum",
        False,
        {"no_quorum", "unreachable", "member_missing"},
        members=5,
    ),
    Case(
        "the survivor that gave up is no quorum",
        lambda p: (
            p.Raft(3)
            .dead(2, 3)
            .set(
                1,
                role="candidate",
                leader="unknown",
                status="disconnected from the cluster (election timeout)",
                connected=False,
            )
        ),
        "no_quorum",
        False,
        {"no_quorum", "unreachable", "disconnected"},
    ),
    Case(
        "a restarted member that calls itself cluster member without a leader is no quorum",
        lambda p: p.Raft(3).dead(2, 3).set(1, role="follower", leader="unknown", connected=False),
        "no_quorum",
        False,
        {"no_quorum", "unreachable", "disconnected"},
    ),
    Case(
        "a majority without a leader is no quorum until one is elected",
        lambda p: p.Raft(3).dead(1).followers_heard_it(5000),
        "no_quorum",
        False,
        {"no_leader", "unreachable"},
    ),
    Case(
        "five declared while three have an election is a wait, not a lost quorum",
        lambda p: p.Raft(3).all(role="candidate", leader="unknown"),
        "forming",
        False,
        {"no_leader"},
        members=5,
    ),
    Case(
        "five declared while two of three are left without a leader is no quorum",
        lambda p: p.Raft(3).dead(1).all(role="candidate", leader="unknown"),
        "no_quorum",
        False,
        {"no_leader", "unreachable"},
        members=5,
    ),
    Case(
        "nobody answers is unreachable",
        lambda p: p.Raft(3).unresponsive(1).unresponsive(2).unresponsive(3),
        "unreachable",
        False,
        {"unreachable"},
    ),
    Case("nobody was asked is unreachable", lambda p: p.Raft(0), "unreachable", False, {"unreachable"}, members=None),
    Case(
        "two cluster ids is split",
        lambda p: p.Raft(2).plus(p.Raft(1, cid=p.other_cid, first=3)),
        "split",
        False,
        {"two_clusters", "member_count"},
    ),
    Case(
        "two leaders of one term is split",
        lambda p: p.Raft(3).set(2, role="leader", leader="self"),
        "split",
        False,
        {"two_leaders"},
    ),
    Case(
        "a healthy cluster with another id than expected is split",
        lambda p: p.Raft(3, cid=p.other_cid),
        "split",
        False,
        {"foreign_cluster"},
        cluster_id=True,
    ),
    Case(
        "an old leader of an earlier term is ignored and told",
        lambda p: p.Raft(3).set(
            3, role="leader", leader="self", term=6, lines=[p.Line(1, 2500), p.Line(2, 2500), p.Line(3)]
        ),
        "degraded",
        True,
        {"stale_leader"},
    ),
    Case(
        "a ghost at the address of a member is found without knowing how many there should be",
        lambda p: p.Raft(3).list_also(p.Line(0xA46D, last=15544, match=21, address=p.address(3))),
        "degraded",
        True,
        {"ghost"},
        {"even_members"},
        members=None,
    ),
    Case(
        "a ghost at an address of its own is found when everybody else is accounted for",
        lambda p: p.Raft(3).list_also(p.Line(9, last=None, match=0)),
        "degraded",
        True,
        {"ghost", "member_count"},
    ),
    Case(
        "an old server id is a ghost when its address joins again",
        lambda p: (
            p.Raft(3)
            .heard(3, last=20000)
            .set(3, server_id=p.sid(0xBEEF), status="joining cluster", cid=None, connected=False, index=None, lines=[])
        ),
        "degraded",
        True,
        {"ghost", "joining"},
        members=None,
    ),
    Case(
        "members that the leader hears but that do not take part are no majority",
        lambda p: p.Raft(3).set(2, connected=False).set(3, connected=False),
        "no_quorum",
        False,
        {"no_quorum", "disconnected"},
    ),
    Case(
        "a listed member that nobody asked and nobody hears is missing, not a ghost",
        lambda p: p.Raft(3).heard(3, last=None).unasked(3),
        "degraded",
        True,
        {"member_missing"},
    ),
    Case(
        "a member that was removed while it was down is told",
        lambda p: p.Raft(3).add(
            p.Paper(
                4,
                role="candidate",
                status="disconnected from the cluster (election timeout)",
                connected=False,
                lines=[p.Line(n) for n in (1, 2, 3, 4)],
            )
        ),
        "degraded",
        True,
        {"disconnected", "not_listed"},
    ),
    Case(
        "a member that could not write its file takes no part",
        lambda p: p.Raft(3).set(3, status="failed", connected=False),
        "degraded",
        True,
        {"disconnected"},
    ),
    Case(
        "a joiner makes it forming",
        lambda p: p.Raft(2).add(
            p.Paper(
                3,
                status="joining cluster",
                cid=None,
                connected=False,
                index=None,
                extra="Remotes for joining: tcp:a:1\n",
            )
        ),
        "forming",
        True,
        {"joining", "member_count"},
    ),
    Case(
        "only joiners is forming",
        lambda p: p.Raft(0).add(p.Paper(3, status="joining cluster", cid=p.cid, connected=False, index=None)),
        "forming",
        False,
        {"joining"},
    ),
    Case(
        "only joiners seen from outside is forming",
        lambda p: p.Raft(0).add(p.Paper(3, connected=False, index=None, local=False)),
        "forming",
        False,
        {"joining"},
    ),
    Case(
        "a member that is being added makes it forming",
        lambda p: p.Raft(2).set(1, extra="Adding server 0003 (0003 at ssl:192.0.2.3:6644) (adding: catchup)\n"),
        "forming",
        True,
        {"joining", "member_count"},
    ),
    Case(
        "a joiner with the id of another cluster never joins",
        lambda p: p.Raft(2).add(p.Paper(3, status="joining cluster", cid=p.other_cid, connected=False, index=None)),
        "degraded",
        True,
        {"foreign_cluster", "member_count"},
    ),
    Case(
        "a leaving member is degraded",
        lambda p: p.Raft(3).set(3, status="leaving cluster", connected=False),
        "degraded",
        True,
        {"leaving"},
    ),
    Case("50 entries behind is caught up", lambda p: p.Raft(3).heard(3, match=49), "healthy", True),
    Case("51 entries behind is degraded", lambda p: p.Raft(3).heard(3, match=48), "degraded", True, {"lagging"}),
    Case(
        "a follower that says connected but is not heard by the leader is degraded",
        lambda p: p.Raft(3).heard(3, last=9000),
        "degraded",
        True,
        {"unheard"},
    ),
    Case(
        "5.3 s of silence is normal with a timer of 16 s",
        lambda p: p.Raft(3).all(timer=16000).heard(3, last=5300),
        "healthy",
        True,
    ),
    Case(
        "a one-way connection is a warning",
        lambda p: p.Raft(3).set(1, connections="<-0002 ->0002 <-0003"),
        "healthy",
        True,
        set(),
        {"one_way"},
    ),
    Case(
        "a connection to a peer that has not said who it is counts as both ways",
        lambda p: p.Raft(3).set(1, connections="<-0002 <-0003 ->0000"),
        "healthy",
        True,
    ),
    Case("too few members is degraded", lambda p: p.Raft(1), "degraded", True, {"member_count"}),
    Case(
        "an even number of members is a warning",
        lambda p: p.Raft(4),
        "healthy",
        True,
        set(),
        {"even_members"},
        members=4,
    ),
    Case(
        "a version with known faults is a warning",
        lambda p: p.Raft(3).set(2, version="3.1.0"),
        "healthy",
        True,
        set(),
        {"fault_join", "fault_leave", "fault_pre_vote", "fault_wrong_peer", "fault_transfer"},
    ),
    Case(
        "a certificate that ends soon is a warning",
        lambda p: p.Raft(3).set(2, days=3.5).set(3, days=200),
        "healthy",
        True,
        set(),
        {"certificate_expires"},
    ),
    Case(
        "different election timers is degraded",
        lambda p: p.Raft(3).set(2, timer=4000),
        "degraded",
        True,
        {"election_timer_differs"},
    ),
    Case(
        "a changing election timer is a warning",
        lambda p: p.Raft(3).set(1, changing=" (changing to 2000)"),
        "healthy",
        True,
        set(),
        {"election_timer_changing"},
    ),
    Case(
        "entries that wait for their commit are a warning",
        lambda p: p.Raft(3).set(1, not_committed=2),
        "healthy",
        True,
        set(),
        {"uncommitted"},
    ),
    Case(
        "two processes with the same server id is a copied file",
        lambda p: p.Raft(3).add(p.Paper(9, server_id=p.sid(3), lines=[p.Line(9)], local=False)),
        "degraded",
        True,
        {"duplicate_server_id", "not_listed"},
    ),
    # One place on one machine was asked.
    Case(
        "the leader alone, with a fresh word of everybody, is healthy with a warning",
        lambda p: p.Raft(3).unasked(2, 3),
        "healthy",
        True,
        set(),
        {"partial_view"},
    ),
    Case(
        "the leader alone, with one follower gone, is degraded",
        lambda p: p.Raft(3).heard(3, last=8000).unasked(2, 3),
        "degraded",
        True,
        {"member_missing"},
        {"partial_view"},
    ),
    Case(
        "the leader alone without its majority is no quorum",
        lambda p: p.Raft(3).heard(3, last=8000).heard(2, last=8000).unasked(2, 3),
        "no_quorum",
        False,
        {"no_quorum", "member_missing"},
    ),
    Case("a follower alone is never healthy", lambda p: p.Raft(3).unasked(1, 3), "degraded", True, {"partial_view"}),
    Case(
        "a follower alone that lost its leader is no quorum",
        lambda p: p.Raft(3).set(2, lines=[p.Line(1, last=5000), p.Line(2), p.Line(3, last=90000)]).unasked(1, 3),
        "no_quorum",
        False,
        {"no_quorum"},
    ),
    # Only _Server was asked.
    Case(
        "endpoints alone can tell healthy",
        lambda p: p.Raft(3).all(local=False),
        "healthy",
        True,
        set(),
        {"partial_view"},
    ),
    Case(
        "endpoints without an expected number say so",
        lambda p: p.Raft(3).all(local=False),
        "healthy",
        True,
        set(),
        {"partial_view", "size_unknown"},
        members=None,
    ),
    Case(
        "a leader seen from outside whose others are unresponsive is no quorum",
        lambda p: p.Raft(3).all(local=False).unresponsive(2).unresponsive(3),
        "no_quorum",
        False,
        {"no_quorum", "unreachable", "member_count"},
    ),
    Case(
        "one unresponsive endpoint is degraded",
        lambda p: p.Raft(3).all(local=False).unresponsive(3),
        "degraded",
        True,
        {"unreachable", "member_count"},
        {"partial_view"},
    ),
    Case(
        "an unresponsive leader seen from outside is degraded while the others take part",
        lambda p: p.Raft(3).all(local=False).unresponsive(1),
        "degraded",
        True,
        {"partial_view", "unreachable"},
    ),
    Case(
        "an index far behind seen from outside is degraded",
        lambda p: p.Raft(3).all(local=False).set(3, index=10),
        "degraded",
        True,
        {"lagging"},
        {"partial_view"},
    ),
    Case(
        "two leaders seen from outside cannot be told apart",
        lambda p: p.Raft(3).all(local=False).set(2, role="leader"),
        "degraded",
        True,
        {"stale_leader"},
        {"partial_view"},
    ),
    Case(
        "two cluster ids seen from outside is split",
        lambda p: p.Raft(2).plus(p.Raft(1, cid=p.other_cid, first=3)).all(local=False),
        "split",
        False,
        {"two_clusters", "member_count"},
    ),
    Case(
        "nobody leads seen from outside is no quorum",
        lambda p: p.Raft(3).all(local=False, role="follower"),
        "no_quorum",
        False,
        {"no_leader"},
    ),
    Case(
        "a standalone server is not a member of anything",
        lambda p: p.Raft(0).add(p.Paper(1, model="standalone", local=False, cid=None)),
        "unreachable",
        False,
        {"not_clustered"},
    ),
]


@pytest.mark.parametrize(("versions", "place"), [(("3.1.0",) * 3, ""), (("3.1.0", "3.1.0", "3.5.1"), " on m1, m2")])
def test_a_faulty_version_is_placed_if_others_have_another_one(
    versions: tuple[str, ...], place: str, paper: t.Any
) -> None:
    raft = paper.Raft(3)
    for number, version in enumerate(versions, 1):
        raft.set(number, version=version)
    found = [reason for reason in assess(raft.answers(), 3).reasons if reason.code == "fault_join"]
    assert [(r.message.split(" has")[0], r.fixed_in) for r in found] == [(f"Open vSwitch 3.1.0{place}", "3.1.5")]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.sentence)
def test_verdict(case: Case, paper: t.Any) -> None:
    verdict = assess(case.build(paper).answers(), case.members, paper.cid if case.cluster_id else None)
    told = {
        severity: {r.code for r in verdict.reasons if r.severity == severity} for severity in ("problem", "warning")
    }
    words = "\n".join(reason.message for reason in verdict.reasons)
    assert (verdict.verdict, told["problem"]) == (case.verdict, case.problems), words
    if case.verdict in ("healthy", "degraded"):
        assert told["warning"] == case.warnings, words
    assert verdict.writable is case.writable
    assert verdict.healthy is (case.verdict == "healthy")
    assert verdict.healthy is (not case.problems)
    json.dumps(verdict.as_dict())
    for reason in verdict.reasons:
        assert reason.message.endswith((".", "?", "!")), reason.message


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.sentence)
def test_the_order_of_the_answers_does_not_matter(case: Case, paper: t.Any) -> None:
    answers = case.build(paper).answers()
    one, two = assess(answers, case.members), assess(answers[::-1], case.members)
    assert (one.verdict, one.writable, one.leader, one.cluster_id) == (
        two.verdict,
        two.writable,
        two.leader,
        two.cluster_id,
    )
    assert {reason.code for reason in one.reasons} == {reason.code for reason in two.reasons}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.sentence)
def test_answers_of_other_hosts_are_judged_the_same(case: Case, paper: t.Any) -> None:
    answers = case.build(paper).answers()
    sent = [Answer.from_dict(json.loads(json.dumps(answer.as_dict()))) for answer in answers]
    assert sent == answers
    assert assess(sent, case.members) == assess(answers, case.members)


def test_lost_entry_of_one_member_is_a_problem_of_the_cluster(paper: t.Any) -> None:
    answers = paper.Raft(3).answers()
    answers[1] = dataclasses.replace(answers[1], log_terms="term 2 1\nterm 9 7\nlost 5 12\n")
    verdict = assess(answers, 3)
    assert (verdict.verdict, verdict.writable, [reason.code for reason in verdict.reasons]) == (
        "degraded",
        True,
        ["lost_writes"],
    )
    assert "m2 had log entry 12 of term 5" in verdict.reasons[0].message


@pytest.mark.parametrize(
    ("of", "lines", "codes"),
    [
        (3, "3 12", {"member_missing", "lost_writes"}),
        (3, "7 20\nlost 3 12", {"member_missing", "lost_writes"}),
        (3, "1 8", {"member_missing"}),
        (9, "3 12\nlost 3 12", {"member_missing"}),
    ],
    ids=["another entry", "found out before", "an entry that is there", "a server that was removed"],
)
def test_what_a_member_that_is_down_remembers_is_compared_with_the_leader(
    paper: t.Any, of: int, lines: str, codes: set[str]
) -> None:
    leader, *others = paper.Raft(3).dead(3).answers()
    leader = dataclasses.replace(leader, log_terms="term 2 1\nterm 10 7\n")
    sid = paper.sid(of)
    down = dataclasses.replace(
        failed_answer("m3", leader.database, "unreachable", "m3 is down."), log_terms=f"committed {sid} {lines}\n"
    )
    verdict = assess([leader, *(answer for answer in others if answer.member != "m3"), down], 3)
    assert codes <= {reason.code for reason in verdict.reasons}
    assert ("lost_writes" in {reason.code for reason in verdict.reasons}) == ("lost_writes" in codes)


def test_members_are_described(paper: t.Any) -> None:
    raft = paper.Raft(3).dead(3)
    verdict = assess(raft.answers(), 3)
    assert (verdict.leader, verdict.term, verdict.election_timer, verdict.cluster_id) == ("m1", 7, 1000, paper.cid)
    one, two, three = verdict.members
    assert (one["member"], one["role"], one["reachable"], one["listed"], one["lag"]) == ("m1", "leader", True, True, 0)
    assert (two["server_id"], two["last_message"], two["incoming"], two["outgoing"]) == (paper.sid(2), 50, True, True)
    assert (three["member"], three["address"], three["server_id"]) == ("m3", paper.address(3), "0003")
    assert (three["reachable"], three["lag"], three["connected"]) == (False, 9, None)
    assert three["problems"]


def test_ghosts_are_described(paper: t.Any) -> None:
    raft = paper.Raft(3).list_also(paper.Line(0xA46D, last=15544, match=21, address=paper.address(3)))
    assert assess(raft.answers(), 3).ghosts == (
        {"server_id": "a46d", "address": paper.address(3), "match_index": 21, "last_message": 15544},
    )


@pytest.mark.parametrize("version", ["ovs-3.1", "ovs-3.5", "ovs-4.0"])
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("leader", "healthy"),
        ("leader-lone", "healthy"),
        ("leader-follower-killed", "healthy"),  # 1.5 s ago: still fresh by the leader's word alone
        ("follower", "degraded"),
        ("candidate", "no_quorum"),
        ("disconnected", "no_quorum"),
        ("restarted-without-quorum", "no_quorum"),
        ("joining-nobody-there", "forming"),
        ("joining-wrong-cluster", "forming"),
        ("leader-adding-catchup", "forming"),
        ("leader-removing", "degraded"),
        ("leader-with-ghost", "degraded"),
        ("zombie", "no_quorum"),  # as far as it knows itself
        ("leader-changing-timer", "healthy"),
    ],
)
def test_real_statuses(version: str, name: str, expected: str) -> None:
    text = (CAPTURES / version / f"{name}.txt").read_text()
    verdict = assess([Answer("m1", parse_cluster_status(text).name, cluster_status=text)])
    assert verdict.verdict == expected, verdict.describe()
    assert bool(verdict.ghosts) is (name == "leader-with-ghost")
