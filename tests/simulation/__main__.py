"""`make simulate`: explore for BUDGET seconds in two processes, print figures, coverage and the shortest story of what was found."""

from __future__ import annotations

import argparse
import concurrent.futures
import sys
import time
import typing as t

from . import coverage
from .events import SENTENCES
from .exhaustive import DRAWN, DRAWN_IN_WIDE, exhaustive
from .explore import NOT_DRAWN, STARTS, WEIGHTS, Report, Story, kind_of, randomly
from .mutants import MUTANTS, gather
from .mutants import search as search_mutant
from .speed import on_all_cores

_PROCESSES = 2
# Stories without a mutant, before the search for mutants begins.
GATHERED = 6000


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
    parser.add_argument(
        "--mutants",
        action="store_true",
        help="search for each mutant instead: half a minute of short sequences, then BUDGET seconds each of random stories and of a wide search",
    )
    arguments = parser.parse_args()
    if arguments.mutants:
        return print_mutants(arguments.seed, arguments.budget)
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
    print(f"every sequence is made of runs, their deaths and {len(DRAWN)} events: {', '.join(DRAWN)}")
    print(f"a wide search for a mutant has {', '.join(DRAWN_IN_WIDE)} besides")
    print(f"random stories draw {len(WEIGHTS)} of {len(SENTENCES)} events, and not:")
    for name, why in NOT_DRAWN.items():
        print(f"  {name}: {why}")
    found = print_results(every, some)
    print(
        f"planner and gates on {_PROCESSES} cores: {on_all_cores(_PROCESSES):.0f} rounds/s; "
        f"with the parsing of what members say: {on_all_cores(_PROCESSES, parsed=False):.0f} rounds/s"
    )
    return 1 if found else 0


def print_results(every: Report, some: Report) -> int:
    """Returns the number of kinds of violations. They come first: whatever fails later cannot hide them."""
    found = shortest([*every.found, *some.found])
    for story in found:
        print("\n" + "\n".join(story.sentences()))
        print(f"To replay: replay({story.start!r}, {story.events!r})\n", flush=True)
    print_figures(every, some)
    print_coverage(every, some)
    return len(found)


def print_mutants(seed: int, budget: float) -> int:
    """Returns the number of mutants that the search has not found."""
    survivors, corpus = 0, gather(GATHERED, seed)
    with concurrent.futures.ProcessPoolExecutor(_PROCESSES) as pool:
        searches = [pool.submit(search_mutant, mutant, corpus, seed, budget=budget, every=True) for mutant in MUTANTS]
        for mutant, searched in zip(MUTANTS, searches):
            report = searched.result()
            survivors += not report.found
            effort = f"after {report.states} states or events in {report.processor:.1f} s"
            print(f"{mutant.rule}: {mutant.what}: {'found' if report.found else 'NOT FOUND'} {effort}", flush=True)
            for story in report.found:
                print(f"    {story.start}, {story.events}: {story.violation[:120]}")
    print(f"{len(MUTANTS) - survivors} of {len(MUTANTS)} mutants were found by the search, seed {seed}")
    return survivors


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
    print(f"coverage: {len(hit)} of {len(hit) + len(missed)} reasons and refusals of the planner were reached")
    for branch in missed:
        why = coverage.explain(branch) or "not reached this time"
        print(f"  {branch.place}: {branch.text}\n      {why}")
    for branch in hit:
        if coverage.explain(branch):
            print(f"  {branch.place}: {branch.text}\n      reached, although UNREACHED says why no story reaches it")


def shortest(found: t.Sequence[Story]) -> list[Story]:
    """One story of each kind, the shortest."""
    kinds: dict[str, Story] = {}
    for story in sorted(found, key=lambda story: len(story.sentences())):
        kinds.setdefault(kind_of(story.violation), story)
    return list(kinds.values())


if __name__ == "__main__":
    sys.exit(main())
