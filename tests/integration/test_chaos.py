"""What `make chaos` relies on: the checker of histories finds what is wrong, and a seed gives one schedule."""

from __future__ import annotations

import dataclasses
import itertools
import pathlib
import sys
import typing as t

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "chaos"))

from checks import NoGo, build_checker, effective, linearizable
from faults import LOSES_DATA, schedule
from hosts import WEIGHTS as OF_HOSTS
from pods import WEIGHTS as OF_PODS
from writers import Entry


@pytest.fixture(scope="module")
def checker(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    try:
        return build_checker(tmp_path_factory.mktemp("checker"))
    except NoGo as e:
        sys.__stderr__.write(f"\nNOT TESTED: linearizability: {e}\n")
        pytest.skip(f"NOT TESTED: linearizability: {e}")


def swap(client: int, before: str, after: str, called: int, returned: int, outcome: t.Any = "ok") -> Entry:
    return Entry(client, f"row-{client}-{called}", "key", "swap", before, after, called, returned, outcome)


def read(client: int, value: str, called: int, returned: int) -> Entry:
    return Entry(client, f"row-{client}-{called}", "key", "read", "", "", called, returned, "ok", value)


class Case(t.NamedTuple):
    sentence: str
    history: list[Entry]
    landed: set[str]  # rows of operations without an answer that are there at the end
    wrong: bool


CASES = [
    Case("one after the other", [swap(0, "", "a", 0, 1), read(1, "a", 2, 3), swap(1, "a", "b", 4, 5)], set(), False),
    Case(
        "a read of an old value after a new one was acknowledged",
        [swap(0, "", "a", 0, 1), read(1, "", 2, 3)],
        set(),
        True,
    ),
    Case(
        "a read of an old value while the new one is written", [swap(0, "", "a", 0, 3), read(1, "", 1, 2)], set(), False
    ),
    Case("two swaps of the same value", [swap(0, "", "a", 0, 1), swap(1, "", "b", 2, 3)], set(), True),
    Case(
        "an acknowledged write that a later read does not see any more",
        [swap(0, "", "a", 0, 1), swap(1, "a", "b", 2, 3), read(0, "b", 4, 5), read(1, "a", 6, 7)],
        set(),
        True,
    ),
    Case(
        "a write without an answer that took effect",
        [swap(0, "", "a", 0, 9, "unknown"), read(1, "a", 5, 6)],
        {"row-0-0"},
        False,
    ),
    Case("a value that nobody wrote", [swap(0, "", "a", 0, 9, "unknown"), read(1, "a", 5, 6)], set(), True),
]


@pytest.mark.parametrize("case", CASES, ids=[case.sentence for case in CASES])
def test_the_checker_finds_what_no_register_does(case: Case, checker: pathlib.Path, tmp_path: pathlib.Path) -> None:
    _summary, problems = linearizable(checker, effective(case.history, case.landed), tmp_path)
    assert bool(problems) == case.wrong, problems


@pytest.mark.parametrize("weights", [OF_HOSTS, OF_PODS], ids=["hosts", "pods"])
def test_the_same_seed_plays_the_same_faults(weights: dict[str, int]) -> None:
    def plays(seed: int) -> list[t.Any]:
        return [dataclasses.asdict(act) for act in itertools.islice(schedule(seed, 3, weights), 50)]

    assert plays(1) == plays(1)
    assert plays(1) != plays(2)


@pytest.mark.parametrize("weights", [OF_HOSTS, OF_PODS], ids=["hosts", "pods"])
def test_no_act_takes_the_data_of_two_members(weights: dict[str, int]) -> None:
    for act in itertools.islice(schedule(1, 3, weights), 2000):
        assert sum(fault.kind in LOSES_DATA for fault in act.faults) <= 1
