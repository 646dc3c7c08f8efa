"""`make simulate`: explore for BUDGET seconds in two processes, print figures, coverage and the shortest story of what was found."""

from __future__ import annotations

import argparse
import concurrent.futures
import sys
import time
import typing as t

from . import coverage
from .exhaustive import exhaustive
from .explore import STARTS, Report, Story, kind_of, randomly
from .speed import on_all_cores

_PROCESSES = 2


class Search(t.NamedTuple):
    """An exhaustive search: where it begins, how many faults fewer than asked for, and its part of the budget at most."""

    start: str
    fewer: int
    part: float


# One for each process. More can happen to new machines: every run that creates or joins may die at many points.
_SEARCHES = (Search("three machines", 0, 0.85), Search("new machines", 1, 0.6))


def work(number: int, seed: int, depth: int, faults: int, budget: float) -> tuple[Report, Report]:
    """One process: all sequences from its start, then random ones."""
    began, search = time.monotonic(), _SEARCHES[number]
    every = exhaustive(search.start, depth, search.part * budget, faults - search.fewer)
    left = budget - (time.monotonic() - began)
    return every, randomly(list(STARTS), depth + 2, left, seed + number, most=3)


def main() -> int:
    parser = argparse.ArgumentParser(prog="make simulate", description=__doc__)
    parser.add_argument("--seed", type=int, default=int(time.time()), help="of the random stories")
    parser.add_argument("--depth", type=int, default=8, help="most events of a story in the exhaustive search")
    parser.add_argument("--faults", type=int, default=2, help="most faults among them")
    parser.add_argument("--budget", type=float, default=120, help="seconds")
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
    for search, (one, other) in zip(_SEARCHES, results):
        print_search(search, arguments.faults - search.fewer, one)
        every.add(one)
        some.add(other)
    print_figures(every, some)
    print(
        f"planner and gates on {_PROCESSES} cores: {on_all_cores(_PROCESSES):.0f} rounds/s; "
        f"with the parsing of what members say: {on_all_cores(_PROCESSES, parsed=False):.0f} rounds/s"
    )
    print_coverage(every, some)
    found = shortest([*every.found, *some.found])
    for story in found:
        print("\n" + "\n".join(story.sentences()))
        print(f"To replay: replay({story.start!r}, {story.events!r})")
    return 1 if found else 0


def print_search(search: Search, faults: int, report: Report) -> None:
    rate = report.states / max(report.processor, 0.001)
    whole = "closed, so whole at every depth" if report.closed else f"whole to depth {report.depth}"
    print(
        f"every sequence from {search.start} with {faults} {'fault' if faults == 1 else 'faults'}: {whole}; "
        f"{report.states} states in {report.processor:.0f} s of processor time, {rate:.0f} states/s"
    )


def print_figures(every: Report, some: Report) -> None:
    rate = (every.rounds + some.rounds) / max(every.processor + some.processor, 0.001)
    print(
        f"random: {some.stories} stories of up to {some.depth} events, {some.stories / max(some.processor, 0.001):.0f} stories/s\n"
        f"runs: {every.runs + some.runs}; planner rounds with the model: {every.rounds + some.rounds}, {rate:.0f} rounds/s\n"
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
