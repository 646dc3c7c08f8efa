"""What is told of one member, with its next step."""

from __future__ import annotations

import dataclasses
import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._raft.answer import Answer, Problem, failed_answer
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.verdict import assess


def test_a_joiner_under_a_wrong_name_is_reported(paper: t.Any) -> None:
    wrong = Answer("m3", paper.database, other_databases={"OVN_Sothbound": paper.cid})
    raft = paper.Raft(3).set(3, instead=wrong)
    reasons = {reason.code: reason for reason in assess(raft.answers(), 3).reasons}
    assert reasons["wrong_name"].member == "m3"
    assert "OVN_Sothbound" in reasons["wrong_name"].message


def test_a_closed_client_port_of_a_member_that_answers_locally_is_its_problem(paper: t.Any) -> None:
    answers = [
        *paper.Raft(3).answers(),
        failed_answer("192.0.2.2", paper.database, "unreachable", "tcp:192.0.2.2:6642 is not reachable: refused."),
    ]
    verdict = assess(answers, 3)
    assert verdict.verdict == "degraded"
    assert [reason.member for reason in verdict.reasons] == ["m2"]
    assert len(verdict.members) == 3


def test_who_is_unresponsive_is_reported_with_the_next_step(paper: t.Any) -> None:
    frozen = assess(paper.Raft(3).dead(3).unresponsive(3, "timeout").answers(), 3)
    messages = " ".join(reason.message for reason in frozen.reasons)
    assert "is unresponsive: the leader heard it" in messages
    assert "check its log and its disk, then restart it: its file stays as it is" in messages


@pytest.mark.parametrize("closed", [False, True], ids=["its status says so", "it has closed the database since"])
def test_of_a_member_that_could_not_write_the_next_step_is_reported(closed: bool, paper: t.Any) -> None:
    answers = paper.Raft(3).set(3, status="failed", connected=False).answers()
    if closed:
        problem = Problem("no_database", "It has none.")
        answers[2] = dataclasses.replace(answers[2], cluster_status=None, earlier_status=None, problems=(problem,))
    message = next(reason.message for reason in assess(answers, 3).reasons if reason.code == "disconnected")
    assert "space on its disk, then run c5c3.ovn.central" in message
