"""Rounds of the product's planner in a second: what a run computes between two observations, and what the simulation lives of."""

from __future__ import annotations

import pathlib
import sys

from machines import Machines
from measure import Figure

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from simulation.speed import on_all_cores

TARGET = 20_000
CORES = 2


def planner_rounds(_machines: Machines) -> list[Figure]:
    print(f"Planner: some seconds of processor time on each of {CORES} cores", flush=True)
    figures = []
    for parsed, what in ((True, "planner"), (False, "planner with the parsing of what members say")):
        found = on_all_cores(CORES, parsed=parsed)
        words = f"{what}, {TARGET} rounds on {CORES} cores ({found:.0f} rounds/s)"
        figures.append(Figure(words, [TARGET / found], "one second", [1.0], 1))
    return figures
