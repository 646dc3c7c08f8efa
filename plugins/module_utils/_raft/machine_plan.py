# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan of the next turn on machines as plain data, which goes from task to task and knows what the rounds before have found out. Pure but for a clock.

`results` hold an `observation` each, `run` the fields of `Run` with `declared` and `expected_cid` by database, `previous` is the plan before, empty at
the start. With `before_changes` of `run` only what forbids the run or is due is decided.

- `refusals`: a text for each database that this round or one before refused; nothing more is planned for it. `refused`: these databases, and those that
  will be refused once their record is written.
- `new_warnings` and `messages`: texts, without those that a round before has reported; messages hold the whole ordered plan of the observed databases.
- `database`: whose turn it is, empty if nothing is left to do. `record` (to be written everywhere first, or None) and `step` of that database.
- `left`: databases that are not known to be as declared, `observe`: those of them that the next round observes. `founding`: those that do not exist yet.
- `cids`: database to recorded cluster id. `due`, before changes: whether a round has something to do or refuses. `progress`, `reported`: for the next plan.
- `sizes`: database to largest file in bytes and election timer in milliseconds, as last observed. `incomplete`: database to sentences about its members.
"""

from __future__ import annotations

import dataclasses
import time
import typing as t

from .._base.errors import OvnError
from .gates import gate_reason
from .observation import Observation
from .plan import check_before_changes, predict_rounds
from .rounds import RoundProgress, incomplete, latest_record, next_round
from .sizing import size_of
from .step import MessageTexts, Round, Run

# The rounds of several databases on the same machines: which of them is observed, planned and executed next, and what is checked before the first change. One
# step of one database at a time, planned from an observation of its own. The second database comes after the first, but while the first waits, members of the
# second are started. A rule that stops one database leaves the other one to go on.

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


_ADOPTION = MessageTexts(bootstrap="an adoption creates none. c5c3.ovn.site creates a new control plane.")
_STATES = {
    "start": "started",
    "stop": "stopped",
    "restart": "restarted",
    "kick": "kicked",
    "wait": "waited",
}


def machine_plan(
    results: t.Iterable[t.Mapping[str, t.Any]], run: t.Mapping[str, t.Any], previous: t.Mapping[str, t.Any]
) -> dict[str, t.Any]:
    """Return the plan of the next turn (`turns.py`), with all that the rounds before have found out."""
    observations: dict[str, dict[str, Observation]] = {}
    for result in results:
        if "observation" in result:
            data = result["observation"]
            observations.setdefault(data["database"], {})[data["member"]] = Observation.from_dict(data)
    left = list(previous.get("left") or run["declared"])
    runs = {database: _run_of(database, run) for database in left}
    plan = _plan_before(previous, observations)
    if run.get("before_changes"):
        check = check_databases(runs, observations)
        _refuse(plan, check.refusals)
        plan.update(due=check.due, founding=list(check.founding), new_warnings=list(check.warnings))
        plan["incomplete"].update(check.incomplete)
        left = [database for database in left if database not in check.refusals]
        return {**plan, "left": left, "observe": left}
    progress = {name: RoundProgress(**known) for name, known in (previous.get("progress") or {}).items()}
    # One clock for all processes of this machine, without jumps.
    turn = next_turn(runs, observations, left, progress, time.monotonic())
    _refuse(plan, turn.refusals)
    for database, decided in turn.rounds.items():
        new_warnings = [warning for warning in decided.warnings if warning not in plan["reported"]]
        for texts in (plan["reported"], plan["messages"], plan["new_warnings"]):
            texts += new_warnings
        if run.get("check_mode", True):
            plan["messages"] += _simulated(plan, runs[database], observations[database])
        if decided.refusal is not None:
            plan["refused"] = sorted({*plan["refused"], database})
        plan["founding"] += [database] if decided.founding else []
    plan["incomplete"].update(turn.incomplete)
    return {**plan, **_as_data(turn)}


def _plan_before(
    previous: t.Mapping[str, t.Any], observations: t.Mapping[str, t.Mapping[str, Observation]]
) -> dict[str, t.Any]:
    """Return the plan of a round that decides nothing: what is known from the rounds before and from this observation."""
    records = {database: _cid(seen) for database, seen in observations.items()}
    sizes = {database: size_of(seen.values())._asdict() for database, seen in observations.items()}
    return {
        "new_warnings": [],
        "messages": [],
        "founding": [],
        "due": False,
        "progress": {},
        "database": "",
        "record": None,
        "step": None,
        "refused": list(previous.get("refused") or []),
        "refusals": list(previous.get("refusals") or []),
        "incomplete": dict(previous.get("incomplete") or {}),
        "reported": list(previous.get("reported") or []),
        "cids": {**(previous.get("cids") or {}), **{database: cid for database, cid in records.items() if cid}},
        "sizes": {**(previous.get("sizes") or {}), **sizes},
    }


def _cid(observations: t.Mapping[str, Observation]) -> str | None:
    """Return the recorded cluster id; None if there is none, or if a copy of the record cannot be read, which refuses the round."""
    try:
        record = latest_record(observations)
    except OvnError:
        return None
    return record.cid if record is not None else None


def _refuse(plan: dict[str, t.Any], refusals: t.Mapping[str, OvnError]) -> None:
    plan["refusals"] += [str(refusal) for refusal in refusals.values()]
    plan["refused"] = sorted({*plan["refused"], *refusals})


def _simulated(plan: dict[str, t.Any], run: Run, observations: t.Mapping[str, Observation]) -> list[str]:
    """Return the reasons of all steps to come; what refuses the first one is a refusal of the plan."""
    try:
        return predict_rounds(run, observations, gate_reason)[0]
    except OvnError as e:
        _refuse(plan, {run.database: e})
        return []


def _as_data(turn: Turn) -> dict[str, t.Any]:
    acted = turn.decided.as_dict()
    if acted["step"]:
        acted["step"]["state"] = _STATES[acted["step"]["action"]]
    return {
        "database": turn.database,
        "record": acted["record"],
        "step": acted["step"],
        "progress": {database: known.as_dict() for database, known in turn.progress.items()},
        "left": list(turn.left),
        "observe": list(turn.observe),
    }


def _run_of(database: str, run: t.Mapping[str, t.Any]) -> Run:
    adopt = bool(run.get("adopt"))
    return Run(
        database=database,
        declared=dict(run["declared"][database]),
        name=run["run"],
        time=run["time"],
        bootstrap=run["bootstrap"] and not adopt,
        restart=run["restart"] or adopt,
        allow_outage=run["allow_outage"],
        allow_names=run["allow_names"],
        expected_cid=run["expected_cid"].get(database) or None,
        witnesses=tuple(run.get("witnesses") or ()) if run.get("looked_for_witnesses", True) else None,
        new_cluster=bool(run.get("new_cluster")),
        accept_rollback=bool(run.get("accept_rollback")),
        accept_lost_disk=bool(run.get("accept_lost_disk")),
        wait_timeout=float(run["wait_timeout"]),
        adopt=adopt,
        texts=_ADOPTION if adopt else MessageTexts(),
    )
