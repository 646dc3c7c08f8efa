"""Timers by size: each case is a sentence about what a database needs."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._raft.observation import Observation
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.sizing import (
    LONGEST,
    Size,
    recommended_probe,
    recommended_timer,
    size_of,
    timers_for,
)

MB = 1_000_000


class Case(t.NamedTuple):
    sentence: str
    sizes: list[int | None]
    declared: tuple[int, int]
    current: int | None
    needed: tuple[int, int]


CASES = [
    Case("a small database keeps what is declared", [MB, MB, MB], (5000, 30000), 5000, (5000, 30000)),
    Case("sizes that nobody knows change nothing", [None, None, None], (5000, 30000), None, (5000, 30000)),
    Case("no member was observed", [], (5000, 30000), None, (5000, 30000)),
    Case("the largest file counts", [MB, 104 * MB, MB], (5000, 30000), 5000, (20000, 30000)),
    Case("a longer timer is declared than needed", [104 * MB], (30000, 30000), 30000, (30000, 30000)),
    Case("a very large file gets the longest timer and probe", [2000 * MB], (5000, 30000), 5000, (60000, 60000)),
    Case("a longer timer stays while the file shrinks a little", [52 * MB], (5000, 30000), 20000, (20000, 30000)),
    Case("a longer timer goes when the file is much smaller", [20 * MB], (5000, 30000), 20000, (5000, 30000)),
    Case("a timer that somebody has set much too long is set back", [MB], (5000, 30000), 60000, (5000, 30000)),
    Case("a probe that is switched off stays off", [2000 * MB], (5000, 0), 5000, (60000, 0)),
    Case("a short timer is fine for a small database, with its probe", [MB], (1000, 5000), 1000, (1000, 5000)),
]


@pytest.mark.parametrize("case", CASES, ids=[case.sentence for case in CASES])
def test_timers(case: Case, paper: t.Any) -> None:
    answers = [answer.as_dict() for answer in paper.Raft(3).all(timer=case.current or 1000).answers()]
    observations = [
        Observation(f"m{number}", leader=number == 1 and case.current is not None, file_bytes=size, answer=answer)
        for number, (size, answer) in enumerate(zip(case.sizes, answers), 1)
    ]
    timers = timers_for(size_of(observations), *case.declared)
    assert (timers.election_timer, timers.inactivity_probe) == case.needed
    assert bool(timers.reason) == (case.needed != case.declared)


def test_the_reason_names_size_and_both_values() -> None:
    assert timers_for(Size(500 * MB), 5000, 30000).reason == (
        "The largest file has 500 MB: election timer 60000 ms instead of 5000 ms, probes 60000 ms instead of 30000 ms."
    )


def test_timers_grow_with_the_file_up_to_a_limit() -> None:
    sizes = range(0, 3000 * MB, 10 * MB)
    timers = [recommended_timer(size) for size in sizes]
    assert timers == sorted(timers)
    assert (timers[0], timers[-1]) == (1000, LONGEST)
    assert all(recommended_probe(size) >= recommended_timer(size) for size in sizes)
