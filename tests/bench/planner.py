"""Rounds of the product's planner in a second: what a run computes between two observations, and what the simulation lives of."""

from __future__ import annotations

import multiprocessing
import time

from machines import Machines
from measure import Figure

from ansible_collections.c5c3.ovn.plugins.module_utils._raft.observation import Observation
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.record import Member, Record
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.rounds import Progress, next_round
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.step import Run

SECONDS = 2.0
TARGET = 20_000
_CID = "11111111-1111-4111-8111-111111111111"
_NAMES = ("central1", "central2", "central3")


def _world() -> tuple[Run, list[dict[str, Observation]]]:
    """A healthy cluster, one with a member that lost its disk, one with a restart that is due."""
    sids = {name: f"{number:04d}0000-0000-4000-8000-000000000000" for number, name in enumerate(_NAMES, 1)}
    addresses = {name: f"ssl:192.0.2.{number}:6643" for number, name in enumerate(_NAMES, 1)}
    members = {name: Member(addresses[name], "confirmed", sids[name]) for name in _NAMES}
    record = Record("northbound", members, revision=7, cid=_CID).as_dict()
    listed = {sid[:4]: addresses[name] for name, sid in sids.items()}
    healthy = {
        name: Observation(
            name, file_class="member", file_cid=_CID, file_sid=sid, record=record, running=True, connected=True,
            leader=name == _NAMES[0], cid=_CID, sid=sid, listed=listed,
        )
        for name, sid in sids.items()
    }  # fmt: skip
    lost = {**healthy, "central3": Observation("central3", record=record)}
    due = {
        name: Observation(**{**vars(o), "restart_reason": "its settings have changed"}) for name, o in healthy.items()
    }
    return Run("northbound", addresses, "bench", "2026-01-01T00:00:00Z"), [healthy, lost, due]


def _rounds(_number: int) -> float:
    """Rounds for each second of processor time: what others do on this machine does not count."""
    run, worlds = _world()
    rounds, started = 0, time.process_time()
    while time.process_time() - started < SECONDS:
        for observations in worlds:
            next_round(run, observations, Progress(), 0.0, gate=lambda *_: "")
        rounds += len(worlds)
    return rounds / (time.process_time() - started)


def planner_rounds(_machines: Machines) -> list[Figure]:
    print(f"Planner: {SECONDS:g} s of processor time on each of two processors", flush=True)
    with multiprocessing.Pool(2) as pool:
        found = sum(pool.map(_rounds, range(2)))
    words = f"planner, {TARGET} rounds on two processors ({found:.0f} rounds/s)"
    return [Figure(words, [TARGET / found], "one second", [1.0], 1)]
