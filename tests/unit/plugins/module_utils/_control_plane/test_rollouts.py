"""Both databases are rolled out, one after the other, and the run reports what stopped each of them."""

from __future__ import annotations

import types
import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._base.deadline import Deadline
from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import OvnError, Refused, TimedOut, Unreachable
from ansible_collections.c5c3.ovn.plugins.module_utils._control_plane.rollouts import roll_out_databases
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.wait_tracker import Progress

SERVER = "https://192.0.2.1:6443"


class Rollout:
    """A database that fails or not; `calls` are the seconds that each part of the run was given, None for a simulation."""

    def __init__(self, name: str, failure: OvnError | None = None) -> None:
        self.failure = failure
        self.calls: list[tuple[float, float] | None] = []
        self.observed = types.SimpleNamespace(steps=[f"create {name}"])
        self.warnings = [f"{name} is large"]

    def _end(self) -> None:
        if self.failure is not None:
            raise self.failure

    def simulate(self) -> None:
        self.calls.append(None)
        self._end()

    def roll_out(self, deadline: Deadline, wait_timeout: float) -> None:
        self.calls.append((round(deadline.seconds), wait_timeout))
        self._end()


def roll_out(north: Rollout, south: Rollout, progress: Progress, *, seconds: float = 300, check: bool = False) -> None:
    databases = t.cast(t.Any, {"northbound": north, "southbound": south})
    roll_out_databases(databases, Deadline(seconds), progress, server=SERVER, check_mode=check)


@pytest.mark.parametrize(
    ("seconds", "first"), [(300, 270), (10, 7)], ids=["half a minute stays", "a short time is shared"]
)
def test_the_first_leaves_time_to_the_second(seconds: float, first: float) -> None:
    north, south, progress = Rollout("n"), Rollout("s"), Progress()
    roll_out(north, south, progress, seconds=seconds)
    assert (north.calls, south.calls) == ([(first, seconds)], [(seconds, seconds)])
    assert (progress.steps, progress.warnings) == (["create n", "create s"], ["n is large", "s is large"])


def test_check_mode_changes_nothing() -> None:
    north, south = Rollout("n"), Rollout("s")
    roll_out(north, south, Progress(), check=True)
    assert (north.calls, south.calls) == ([None], [None])


@pytest.mark.parametrize(
    ("failure", "goes_on"),
    [
        (Refused("north is refused."), True),
        (Unreachable("north does not answer."), True),
        (TimedOut(f"{SERVER} does not answer."), False),
    ],
    ids=["refused", "unreachable", "no API server"],
)
def test_a_failure_of_the_first(failure: OvnError, goes_on: bool) -> None:
    north, south, progress = Rollout("n", failure), Rollout("s", Refused("south is refused.")), Progress()
    with pytest.raises(type(failure)) as raised:
        roll_out(north, south, progress)
    assert bool(south.calls) is goes_on
    assert ("south is refused." in str(raised.value)) is goes_on
    assert str(failure) in str(raised.value)
    assert progress.steps == ["create n", "create s"]
