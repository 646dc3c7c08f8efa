"""The scenarios that all backends share, on the model: see tests/integration/_scenarios.py."""

from __future__ import annotations

import pytest
from _scenarios import SCENARIOS, Scenario, plain, play

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import Refused, TimedOut
from simulation import events, runs
from simulation.world import NORTHBOUND, Raft, World


class Simulated:
    """Three machines or pods of the model; `_scenarios.Backend`."""

    def __init__(self, *, pods: bool) -> None:
        self.world = World(3, (NORTHBOUND,), pods=pods)
        self.members = list(self.world.hosts)

    def run(self) -> list[str]:
        run = runs.SimulatedRun(self.world)
        outcome = run.run()
        events.check(self.world)
        if outcome.word != "done":
            raise (Refused if outcome.word == "refused" else TimedOut)(outcome.message)
        return plain((step.reason for step in run.backends[NORTHBOUND].steps), self.members)

    def _happens(self, name: str, number: int = 0) -> None:
        runs.play(self.world, (name, self.members[number - 1]) if number else (name,))

    def write(self) -> None:
        before = len(self.world.acknowledged[NORTHBOUND])
        self._happens("write")
        assert len(self.world.acknowledged[NORTHBOUND]) == before + 1

    def lose(self, number: int) -> None:
        self._happens("lose", number)

    def damage(self, number: int) -> None:
        self._happens("damage", number)

    def rot(self, number: int) -> None:
        self._happens("rot", number)

    def unlink(self, number: int) -> None:
        self._happens("unlink", number)

    def copy(self, number: int) -> None:
        self._happens("snapshot", number)

    def put_back(self, number: int) -> None:
        self._happens("restore", number)

    def crash(self, number: int) -> None:
        self._happens("crash", number)
        self._happens("start", number)

    def kick(self, number: int) -> None:
        self._happens("kick", number)

    def change_settings(self) -> None:
        self._happens("good_settings")

    def forget(self) -> None:
        self._happens("lose_all_records")

    def rows(self) -> dict[int, int]:
        raft, found = Raft(self.world, NORTHBOUND), {}
        for number, (host, slot) in enumerate(self.world.slots(NORTHBOUND), 1):
            if slot.server is not None and raft.connected(host):
                found[number] = len(slot.server.data.writes & self.world.acknowledged[NORTHBOUND])
        return found

    def cluster(self) -> str:
        record = next(slot.record for _host, slot in self.world.slots(NORTHBOUND)) or self.world.config_map[NORTHBOUND]
        return str(record and record.cid)


@pytest.mark.parametrize("pods", [pytest.param(False, id="machines"), pytest.param(True, id="pods")])
@pytest.mark.parametrize("scenario", [pytest.param(scenario, id=scenario.name) for scenario in SCENARIOS])
def test_scenario(scenario: Scenario, pods: bool) -> None:
    play(scenario, Simulated(pods=pods))
