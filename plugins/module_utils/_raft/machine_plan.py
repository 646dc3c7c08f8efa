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

import time
import typing as t

from .._base.errors import OvnError
from .gates import gate_reason
from .observation import Observation
from .plan import predict_rounds
from .rounds import RoundProgress, latest_record
from .sizing import size_of
from .step import MessageTexts, Run
from .turns import Turn, check_databases, next_turn

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
