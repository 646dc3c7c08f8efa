"""How many rounds the product's planner makes: `next_round` with its gates, on what a run sees of the model; the model itself takes no part."""

from __future__ import annotations

import concurrent.futures
import contextlib
import time
import typing as t

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import OvnError
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.observation import Observation
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.rounds import RoundProgress, next_round
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.step import Run

from .events import Event
from .explore import STARTS
from .runs import SimulatedRun, play

# A healthy cluster, a lost disk, a damaged file, changed settings, a crash: what happened to three machines before they are observed.
_HAPPENED: tuple[tuple[Event, ...], ...] = (
    (),
    (("lose", "m3"),),
    (("damage", "m2"),),
    (("good_settings",),),
    (("crash", "m2"),),
)


class _Case(t.NamedTuple):
    run: Run
    observations: dict[str, Observation]
    plain: dict[str, dict[str, t.Any]]  # the observations as hosts return them


def rounds_per_second(seconds: float = 2.0, *, parsed: bool = True) -> float:
    """Rounds in a second of processor time of this process.

    With `parsed`, what members say was parsed in a round before. Without it each round begins with plain data, as hosts return it.
    """
    cases = _cases()
    rounds, began = 0, time.process_time()
    while time.process_time() - began < seconds:
        for case in cases:
            observations = (
                case.observations
                if parsed
                else {name: Observation.from_dict(data) for name, data in case.plain.items()}
            )
            with contextlib.suppress(OvnError):
                next_round(case.run, observations, RoundProgress(), 0.0)
        rounds += len(cases)
    return rounds / (time.process_time() - began)


def on_all_cores(cores: int, *, parsed: bool = True) -> float:
    """The sum over one process for each core, all at the same time: cores share caches."""
    with concurrent.futures.ProcessPoolExecutor(cores) as pool:
        started = [pool.submit(rounds_per_second, parsed=parsed) for _core in range(cores)]
        return sum(process.result() for process in started)


def _cases() -> list[_Case]:
    cases = []
    for happened in _HAPPENED:
        world = STARTS["three machines"].world()
        for event in happened:
            play(world, event)
        run = SimulatedRun(world)
        seen = run.backends["northbound"].observe_members()
        cases.append(_Case(run.plan_of("northbound"), seen, {name: o.as_dict() for name, o in seen.items()}))
    return cases
