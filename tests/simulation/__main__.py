"""`make simulate`: explore for BUDGET seconds in two processes, print figures, coverage and the shortest story of what was found."""

from __future__ import annotations

import argparse
import concurrent.futures
import contextlib
import sys
import time
import typing as t

from ansible_collections.c5c3.ovn.plugins.module_utils._errors import OvnError
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.rounds import Progress, next_round

from . import coverage
from .explore import STARTS, Report, Story, exhaustive, kind_of, randomly
from .runs import SimulatedRun, play

_PROCESSES = 2
# What the planner is measured with: a healthy cluster and one that needs something.
_MEASURED: tuple[tuple[t.Any, ...], ...] = (
    (),
    (("lose", "m3"),),
    (("damage", "m2"),),
    (("good_settings",),),
    (("crash", "m2"),),
)


def work(number: int, seed: int, depth: int, faults: int, budget: float) -> tuple[Report, Report]:
    """One process: its share of all sequences for two fifths of the time, then random ones."""
    began = time.monotonic()
    every = Report()
    for start, part in (("new machines", 0.1), ("three machines", 0.3)):
        every.add(exhaustive(start, depth, part * budget, faults, share=(number, _PROCESSES)))
    left = budget - (time.monotonic() - began)
    return every, randomly(list(STARTS), depth + 2, left, seed + number, most=3)


def planner_rounds_per_second(seconds: float = 2.0) -> float:
    """Of the planner alone, with its gates, on observations that were made before, in one process."""
    cases = []
    for happened in _MEASURED:
        world = STARTS["three machines"].world()
        for event in happened:
            play(world, event)
        run = SimulatedRun(world)
        cases.append((run.plan_of("northbound"), run.backends["northbound"].look()))
    rounds, began = 0, time.process_time()
    while time.process_time() - began < seconds:
        for run_, seen in cases:
            rounds += 1
            with contextlib.suppress(OvnError):
                next_round(run_, seen, Progress(), 0.0)
    return rounds / (time.process_time() - began)


def main() -> int:
    parser = argparse.ArgumentParser(prog="make simulate", description=__doc__)
    parser.add_argument("--seed", type=int, default=int(time.time()), help="of the random stories")
    parser.add_argument("--depth", type=int, default=8, help="most events of a story in the exhaustive search")
    parser.add_argument("--faults", type=int, default=2, help="most faults among them")
    parser.add_argument("--budget", type=float, default=60, help="seconds")
    arguments = parser.parse_args()
    print(
        f"seed {arguments.seed}, depth {arguments.depth}, {arguments.budget:g} s on {_PROCESSES} processes", flush=True
    )
    with concurrent.futures.ProcessPoolExecutor(_PROCESSES) as pool:
        shares = [
            pool.submit(work, number, arguments.seed, arguments.depth, arguments.faults, arguments.budget)
            for number in range(_PROCESSES)
        ]
        results = [share.result() for share in shares]
    every, some = Report(), Report()
    for one, other in results:
        every.add(one)
        some.add(other)
    print_figures(every, some, planner_rounds_per_second())
    print_coverage(every, some)
    found = shortest([*every.found, *some.found])
    for story in found:
        print("\n" + "\n".join(story.sentences()))
        print(f"To replay: replay({story.start!r}, {story.events!r})")
    return 1 if found else 0


def print_figures(every: Report, some: Report, rounds: float) -> None:
    rate = (every.rounds + some.rounds) / max(every.processor + some.processor, 0.001)
    print(
        f"exhaustive: {every.states} states, whole to depth {every.depth}, {every.states / max(every.processor, 0.001):.0f} states/s\n"
        f"random: {some.stories} stories of up to {some.depth} events, {some.stories / max(some.processor, 0.001):.0f} stories/s\n"
        f"runs: {every.runs + some.runs}; planner rounds with the model: {every.rounds + some.rounds}, {rate:.0f} rounds/s\n"
        f"planner and gates alone, on observations made before: {rounds:.0f} rounds/s, {_PROCESSES * rounds:.0f} on {_PROCESSES} cores\n"
        f"(all rates are per second of processor time of one process; these used {every.processor + some.processor:.0f} s of it)"
    )


def print_coverage(every: Report, some: Report) -> None:
    hit, missed = coverage.split(every.reached + some.reached)
    print(
        f"coverage: {len(hit)} of {len(hit) + len(missed)} reasons and refusals of the planner were reached; not reached:"
    )
    for branch in missed:
        print(f"  {branch.place}: {branch.text}")


def shortest(found: t.Sequence[Story]) -> list[Story]:
    """One story of each kind, the shortest."""
    kinds: dict[str, Story] = {}
    for story in sorted(found, key=lambda story: len(story.sentences())):
        kinds.setdefault(kind_of(story.violation), story)
    return list(kinds.values())


if __name__ == "__main__":
    sys.exit(main())
