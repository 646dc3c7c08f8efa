# SPDX-License-Identifier: GPL-3.0-or-later
"""The rounds of several databases on the same machines: which of them is observed, planned and executed next, and what is checked before the first change.

One step of one database at a time, planned from an observation of its own. The second database comes after the first, but while the first waits, members
of the second are started. A rule that stops one database leaves the other one to go on.
"""

from __future__ import annotations

import dataclasses
import typing as t

from .._base.errors import OvnError
from .observation import Observation
from .plan import check_before_changes
from .rounds import RoundProgress, incomplete, next_round
from .step import Round, Run

Observed = t.Mapping[str, t.Mapping[str, Observation]]
# Beside a member that ends for a moment the other database is not observed: nothing of it would be executed.
_ALONE = frozenset({"stop", "restart", "kick"})


@dataclasses.dataclass(frozen=True)
class Turn:
    """One round of several databases; each mapping is by database.

    `database`: whose round is executed, empty if nothing is left to do. `rounds`: what was decided for each observed database, and of
    `database` what is executed of it. `refusals`: of the databases that this round stopped. `left`: databases that are not known to be as declared,
    `observe`: those of them that the next round observes. `progress` is for the next turn. `incomplete`: sentences about members of the databases that
    have no step left.
    """

    database: str
    rounds: dict[str, Round]
    refusals: dict[str, OvnError]
    progress: dict[str, RoundProgress]
    left: tuple[str, ...]
    observe: tuple[str, ...]
    incomplete: dict[str, list[str]]

    @property
    def decided(self) -> Round:
        return self.rounds.get(self.database, Round())


@dataclasses.dataclass(frozen=True)
class Check:
    """What is known before the first change. `due`: a round has something to do, or refuses."""

    refusals: dict[str, OvnError]
    founding: tuple[str, ...]
    due: bool
    warnings: tuple[str, ...]
    incomplete: dict[str, list[str]]


def check_databases(runs: t.Mapping[str, Run], observed: Observed) -> Check:
    """Return what forbids this run before it changes a byte (R27), and whether it has anything to do."""
    refusals, founding, warnings = dict[str, OvnError](), list[str](), list[str]()
    due, missing = False, dict[str, list[str]]()
    for database, run in runs.items():
        if database not in observed:
            continue
        try:
            founding += [database] if check_before_changes(run, observed[database]).founding else []
        except OvnError as e:
            refusals[database] = e
            continue
        idle = _idle_round(run, observed[database])
        if idle is None:
            due = True
        else:
            warnings += idle.warnings
            missing[database] = incomplete(run, observed[database])
    return Check(refusals, tuple(founding), due, tuple(warnings), missing)


def _idle_round(run: Run, observations: t.Mapping[str, Observation]) -> Round | None:
    """Return the first round if it has nothing to do; None if it would do something, or refuse."""
    try:
        decided, _progress = next_round(run, observations, RoundProgress(), 0.0)
    except OvnError:
        return None
    return decided if decided.is_empty and decided.refusal is None else None


def next_turn(
    runs: t.Mapping[str, Run],
    observed: Observed,
    left: t.Sequence[str],
    progress: t.Mapping[str, RoundProgress],
    now: float,
) -> Turn:
    """Return the turn of the first database that has something to do; while it waits, of the other one if that starts members.

    `left` and `progress` are those of the turn before. `now` is as for `next_round`.
    """
    rounds, refusals, after = dict[str, Round](), dict[str, OvnError](), dict[str, RoundProgress]()
    remaining, missing = list(left), dict[str, list[str]]()
    for database in [name for name in left if name in observed]:
        known = progress.get(database, RoundProgress())
        try:
            rounds[database], after[database] = next_round(runs[database], observed[database], known, now)
        except OvnError as e:
            refusals[database] = e
            remaining.remove(database)  # the other one goes as far as it can
            continue
        # Beside one that has something to do it is observed once more in the end.
        if all(decided.is_empty for decided in rounds.values()):
            remaining.remove(database)
            missing[database] = incomplete(runs[database], observed[database])
    turn = _choose(rounds)
    if _starts_other(
        rounds, turn
    ):  # its record is written, and the next round starts members of the other one instead of waiting
        rounds[turn] = dataclasses.replace(rounds[turn], step=None)
    for database, decided in rounds.items():
        if database != turn and not (decided.step and decided.step.action == "wait"):
            del after[database]  # a step that has not got its turn is not late
    step = rounds[turn].step if turn else None
    observe = [turn] if step is not None and step.action in _ALONE else remaining
    return Turn(turn, rounds, refusals, after, tuple(remaining), tuple(observe), missing)


def _choose(rounds: t.Mapping[str, Round]) -> str:
    """Return the database whose round is executed, empty if there is none: the first one, unless all it has to do is to wait."""
    first = next((name for name, decided in rounds.items() if not decided.is_empty), "")
    if first and rounds[first].record is None:
        return _starts_other(rounds, first) or first
    return first


def _starts_other(rounds: t.Mapping[str, Round], waiting: str) -> str:
    """Return the database that starts members while `waiting` waits, empty if there is none."""
    step = rounds[waiting].step if waiting else None
    if step is None or step.action != "wait":
        return ""
    return next((name for name, other in rounds.items() if other.step and other.step.action == "start"), "")
