"""Gates: each case is a sentence about what may be done next."""

from __future__ import annotations

import dataclasses
import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._raft.answer import Answer
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.gates import gate, gate_reason
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.observation import Observation

Build = t.Callable[[t.Any], t.Any]


class Case(t.NamedTuple):
    sentence: str
    gate: str
    member: str | None
    build: Build
    closed: str  # a part of the reason, empty if the gate is open


CASES = [
    Case("a healthy cluster has one leader", "one_leader", None, lambda p: p.Raft(3), ""),
    Case("nobody leads", "one_leader", None, lambda p: p.Raft(3).dead(1), "no member leads"),
    Case(
        "two leaders",
        "one_leader",
        None,
        lambda p: p.Raft(3).set(2, role="leader", leader="self"),
        "2 members call themselves leader",
    ),
    Case(
        "another cluster",
        "one_leader",
        None,
        lambda p: p.Raft(2).plus(p.Raft(1, cid=p.other_cid, first=3)),
        "another cluster answers",
    ),
    Case(
        "a live member follows another leader",
        "one_leader",
        None,
        lambda p: p.Raft(3).set(3, leader="0002"),
        "m3 does not follow m1",
    ),
    Case(
        "a live member whose control socket was not asked",
        "one_leader",
        None,
        lambda p: p.Raft(3).set(3, local=False),
        "m3 does not follow",
    ),
    Case("the leader's _Server was not asked", "one_leader", None, lambda p: p.Raft(3).set(1, remote=False), "_Server"),
    Case(
        "uncommitted entries",
        "one_leader",
        None,
        lambda p: p.Raft(3).set(1, not_committed=1),
        "1 log entries are not committed",
    ),
    Case(
        "only endpoints were asked",
        "quiet",
        None,
        lambda p: p.Raft(3).all(local=False),
        "control socket of the leader m1",
    ),
    Case("an old election is quiet", "quiet", None, lambda p: p.Raft(3), ""),
    Case("a fresh election is not quiet", "quiet", None, lambda p: p.Raft(3, won=1999), "not 2 s old"),
    Case("two timers after the election is quiet", "quiet", None, lambda p: p.Raft(3, won=2001), ""),
    Case(
        "a long timer needs a longer rest",
        "quiet",
        None,
        lambda p: p.Raft(3, won=20000).all(timer=16000),
        "not 32 s old",
    ),
    Case("an election of unknown age is not quiet", "quiet", None, lambda p: p.Raft(3, won=None), "not 2 s old"),
    Case(
        "a member is being added",
        "quiet",
        None,
        lambda p: p.Raft(3).set(1, extra="Adding server 0004 (0004 at ssl:192.0.2.4:6644) (adding: catchup)\n"),
        "added or removed",
    ),
    Case(
        "a member is not committed yet",
        "quiet",
        None,
        lambda p: p.Raft(3).heard(3, phase="adding: committing"),
        "added or removed",
    ),
    Case(
        "the timer changes",
        "quiet",
        None,
        lambda p: p.Raft(3).set(1, changing=" (changing to 2000)"),
        "changing to 2000",
    ),
    Case("a member with all entries is caught up", "caught_up", "m3", lambda p: p.Raft(3), ""),
    Case("the leader is caught up", "caught_up", "m1", lambda p: p.Raft(3), ""),
    Case("50 entries behind is caught up", "caught_up", "m3", lambda p: p.Raft(3).heard(3, match=49), ""),
    Case(
        "51 entries behind is not", "caught_up", "m3", lambda p: p.Raft(3).heard(3, match=48), "51 log entries behind"
    ),
    Case(
        "an unknown member is not caught up", "caught_up", "m9", lambda p: p.Raft(3), "m9 is not in the leader's list"
    ),
    Case("one of three may stop", "may_stop", "m3", lambda p: p.Raft(3), ""),
    Case("the leader may stop", "may_stop", "m1", lambda p: p.Raft(3), ""),
    Case(
        "a member may be named by its server id",
        "may_stop",
        "000340eb-d5d2-427b-9278-ccc262f4ce6c",
        lambda p: p.Raft(3),
        "",
    ),
    Case(
        "the leader may not stop while its followers do not reach each other",
        "may_stop",
        "m1",
        lambda p: p.Raft(3).set(2, connections="->0001 <-0001 (->0003)").set(3, connections="->0001 <-0001 (->0002)"),
        "m2, m3 do not reach each other",
    ),
    Case(
        "a connection that only one end knows is none",
        "may_stop",
        "m1",
        lambda p: p.Raft(3).set(3, connections="->0001 <-0001 (->0002)"),
        "do not reach each other",
    ),
    Case(
        "one direction and a peer that has not told its id are enough",
        "may_stop",
        "m1",
        lambda p: p.Raft(3).set(2, connections="->0000 <-0001").set(3, connections="<-0001 <-0002"),
        "",
    ),
    Case(
        "a follower may stop whatever the others do not reach",
        "may_stop",
        "m2",
        lambda p: p.Raft(3).set(2, connections="->0001 <-0001 (->0003)").set(3, connections="->0001 <-0001 (->0002)"),
        "",
    ),
    Case("a member may be named by its address", "may_stop", "ssl:192.0.2.3:6644", lambda p: p.Raft(3), ""),
    Case("the last of one may never stop", "may_stop", "m1", lambda p: p.Raft(1), "only 0 of 1"),
    Case("one of two may not stop", "may_stop", "m2", lambda p: p.Raft(2), "only 1 of 2"),
    Case("a second of three may not stop", "may_stop", "m2", lambda p: p.Raft(3).dead(3), "only 1 of 3"),
    Case("the dead one of three may be stopped", "may_stop", "ssl:192.0.2.3:6644", lambda p: p.Raft(3).dead(3), ""),
    Case("a second of five may stop", "may_stop", "m2", lambda p: p.Raft(5).dead(5), ""),
    Case("a third of five may not stop", "may_stop", "m2", lambda p: p.Raft(5).dead(4, 5), "only 2 of 5"),
    Case(
        "nobody stops while another is behind",
        "may_stop",
        "m2",
        lambda p: p.Raft(3).heard(3, match=10),
        "89 log entries behind",
    ),
    Case("a member that is behind may be stopped itself", "may_stop", "m3", lambda p: p.Raft(3).heard(3, match=10), ""),
    Case(
        "a member that is only heard does not count as live",
        "may_stop",
        "m2",
        lambda p: p.Raft(3).unresponsive(3),
        "only 1 of 3",
    ),
    Case(
        "a member that only answers does not count as live",
        "may_stop",
        "m2",
        lambda p: p.Raft(3).heard(3, last=9000),
        "only 1 of 3",
    ),
    Case(
        "a disconnected member does not count as live",
        "may_stop",
        "m2",
        lambda p: p.Raft(3).set(3, connected=False),
        "only 1 of 3",
    ),
    Case("not right after an election", "may_stop", "m3", lambda p: p.Raft(3, won=500), "last election"),
    Case(
        "a ghost counts against the quorum",
        "may_stop",
        "m2",
        lambda p: p.Raft(3).list_also(p.Line(9, None, 0)),
        "only 2 of 4",
    ),
    Case("the dead one of three may be removed", "may_remove", "ssl:192.0.2.3:6644", lambda p: p.Raft(3).dead(3), ""),
    Case("the dead one of three by its name", "may_remove", "m3", lambda p: p.Raft(3).dead(3), ""),
    Case(
        "a healthy one may not be removed while another is dead",
        "may_remove",
        "m2",
        lambda p: p.Raft(3).dead(3),
        "1 of 2",
    ),
    Case("a healthy one of three may be removed", "may_remove", "m3", lambda p: p.Raft(3), ""),
    Case("the last member may not be removed", "may_remove", "m1", lambda p: p.Raft(1), "0 of 0"),
    Case("a ghost may be removed", "may_remove", "0009", lambda p: p.Raft(3).list_also(p.Line(9, None, 0)), ""),
    Case(
        "a ghost may be removed without a name",
        "may_remove",
        None,
        lambda p: p.Raft(3).list_also(p.Line(9, None, 0)),
        "",
    ),
    Case(
        "a ghost may be removed while one of three is dead",
        "may_remove",
        "0009",
        lambda p: p.Raft(3).list_also(p.Line(9, None, 0)).dead(3),
        "",
    ),
    Case(
        "a ghost at an address that is listed twice has to be named by its id",
        "may_remove",
        "ssl:192.0.2.3:6644",
        lambda p: p.Raft(3).list_also(p.Line(9, None, 0, address=p.address(3))),
        "listed 2 times",
    ),
    Case("a member may be added to a healthy cluster", "may_add", None, lambda p: p.Raft(3), ""),
    Case(
        "nobody is added while one is missing",
        "may_add",
        None,
        lambda p: p.Raft(3).dead(3),
        "not live: ssl:192.0.2.3:6644",
    ),
    Case(
        "nobody is added while there is a ghost",
        "may_add",
        None,
        lambda p: p.Raft(3).list_also(p.Line(9, None, 0)),
        "not live",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.gate} {case.sentence}")
def test_gate(case: Case, paper: t.Any) -> None:
    answers = case.build(paper).answers()
    result = gate(case.gate, [answers, answers], case.member, None)
    assert result.ok is (case.closed == ""), result.reason
    assert bool(result) is result.ok
    assert case.closed in result.reason


@pytest.mark.parametrize("name", ["one_leader", "quiet", "may_add", "may_remove", "may_stop", "caught_up"])
def test_no_answers_close_every_gate(name: str) -> None:
    assert not gate(name, [], "m1")
    assert not gate(name, [[]], "m1")


@pytest.mark.parametrize("name", ["one_leader", "quiet", "may_add", "may_remove", "may_stop", "caught_up"])
def test_another_cluster_than_the_recorded_one_closes_every_gate(name: str, paper: t.Any) -> None:
    answers = paper.Raft(3).answers()
    assert gate(name, [answers, answers], "m3", paper.cid).ok
    assert "recorded cluster" in gate(name, [answers, answers], "m3", paper.other_cid).reason


def test_caught_up_needs_two_samples(paper: t.Any) -> None:
    answers = paper.Raft(3).answers()
    assert "two samples" in gate("caught_up", [answers], "m3").reason
    assert gate("caught_up", [answers, answers], "m3").ok
    behind = paper.Raft(3).heard(3, match=10).answers()
    assert not gate("caught_up", [behind, answers], "m3").ok
    assert gate("caught_up", [behind, answers, answers], "m3").ok


def test_an_earlier_status_of_the_leader_is_a_second_sample(paper: t.Any) -> None:
    answers = paper.Raft(3).answers()
    twice = [dataclasses.replace(answers[0], earlier_status=answers[0].cluster_status), *answers[1:]]
    assert gate("may_stop", [twice], "m3").ok
    behind = paper.Raft(3).heard(2, match=10).answers()[0].cluster_status
    twice[0] = dataclasses.replace(answers[0], earlier_status=behind)
    assert "behind" in gate("may_stop", [twice], "m3").reason


def test_one_of_three_samples_without_uncommitted_entries_is_enough(paper: t.Any) -> None:
    busy, done = paper.Raft(3).set(1, not_committed=1).answers(), paper.Raft(3).answers()
    assert gate("one_leader", [busy, done, busy], None).ok
    assert not gate("one_leader", [done, busy, busy, busy], None).ok


def test_entries_under_way_are_no_reason_to_wait_while_the_commit_index_goes_on(paper: t.Any) -> None:
    earlier = paper.Raft(3).set(1, not_committed=2, log_next=100).answers()
    later = paper.Raft(3).set(1, not_committed=2, log_next=101).answers()
    more = paper.Raft(3).set(1, not_committed=3, log_next=101).answers()
    assert gate("one_leader", [earlier, later], None).ok
    assert "3 log entries are not committed" in gate("one_leader", [earlier, more], None).reason


def test_the_same_term_in_two_samples_far_apart_is_quiet(paper: t.Any) -> None:
    def sample(at: float, **changes: t.Any) -> list[Answer]:
        answers = paper.Raft(3, won=None).set(1, **changes).answers()
        return [dataclasses.replace(answer, taken=at) for answer in answers]

    assert gate("quiet", [sample(1000.0), sample(1002.0)]).ok
    assert not gate("quiet", [sample(1000.0), sample(1001.9)]).ok
    assert not gate("quiet", [sample(1000.0, term=6), sample(1002.0)]).ok


def test_an_unknown_gate_is_a_fault_of_ours(paper: t.Any) -> None:
    with pytest.raises(ValueError, match="may_fly"):
        gate("may_fly", [paper.Raft(3).answers()])


def test_observations_of_one_round(paper: t.Any) -> None:
    def seen(raft: t.Any, cid: str | None) -> list[t.Any]:
        answers = raft.answers()
        answers[0] = dataclasses.replace(answers[0], earlier_status=answers[0].cluster_status)
        return [Observation(answer.member, answer=answer.as_dict(), record={"cid": cid}) for answer in answers]

    assert gate_reason("may_stop", seen(paper.Raft(3), paper.cid), "m3") == ""
    assert "recorded cluster" in gate_reason("may_stop", seen(paper.Raft(3), paper.other_cid), "m3")
    mixed = [*seen(paper.Raft(3), paper.cid), *seen(paper.Raft(3), paper.other_cid)]
    assert "different clusters" in gate_reason("may_stop", mixed, "m3")
    nobody = [Observation("m1")]
    assert gate_reason("may_remove", nobody, None) == "no member leads"
