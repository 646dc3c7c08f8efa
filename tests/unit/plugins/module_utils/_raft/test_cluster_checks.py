"""What is told of a cluster as a whole: writes that are blocked, and what may pass by itself."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._raft.verdict import assess

Build = t.Callable[[t.Any], t.Any]


def test_a_lost_majority_still_serves_raw_reads(paper: t.Any) -> None:
    assert assess(paper.Raft(3).dead(2, 3).answers(), 3).raw_read_only
    assert not assess(paper.Raft(3).unresponsive(1).unresponsive(2).unresponsive(3).answers(), 3).raw_read_only


@pytest.mark.parametrize(
    ("sentence", "commits", "blocked"),
    [
        ("the same entries uncommitted in three samples is blocked", [(100, 2), (100, 2), (100, 2)], True),
        ("more entries, none of them committed is blocked", [(100, 2), (101, 3), (105, 7)], True),
        ("two samples are not enough", [(100, 2), (100, 2)], False),
        ("commits that advance are a busy database", [(100, 2), (104, 2), (108, 2)], False),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_blocked_writes(sentence: str, commits: list[tuple[int, int]], blocked: bool, paper: t.Any) -> None:
    *earlier, last = [paper.Raft(3).set(1, log_next=log, not_committed=open_).answers() for log, open_ in commits]
    verdict = assess(last, 3, earlier=earlier)
    assert verdict.writable is not blocked
    assert ("writes_blocked" in {reason.code for reason in verdict.reasons}) is blocked
    assert verdict.transient


@pytest.mark.parametrize(
    ("sentence", "build", "transient"),
    [
        ("healthy needs no second look", lambda p: p.Raft(3), False),
        ("an election may pass", lambda p: p.Raft(3).all(local=False, role="follower"), True),
        ("an old leader may pass", lambda p: p.Raft(3).set(3, role="leader", leader="self", term=6), True),
        ("a majority that only the leader heard may pass", lambda p: p.Raft(3).unresponsive(2).unresponsive(3), True),
        ("a dead follower does not pass", lambda p: p.Raft(3).dead(3), False),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_what_may_pass_by_itself(sentence: str, build: Build, transient: bool, paper: t.Any) -> None:
    assert assess(build(paper).answers(), 3).transient is transient
