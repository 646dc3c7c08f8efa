# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: raft_plan
short_description: Plan the next safe step of the Raft databases on central hosts
version_added: "0.1.0"
description:
  - Decides from what every central host saw which record to write and which single step of which database to take next.
  - A cluster is created once, ever; a lost member is removed before it joins again; nothing is restarted that would cost the quorum.
  - One step of one database at a time, planned from an observation of its own. The second database comes after the first, but while the first waits
    members of the second are started.
options:
  _input:
    description: Results of M(c5c3.ovn.ovn_raft_member) with O(c5c3.ovn.ovn_raft_member#module:state=examined) from all central hosts.
    type: list
    elements: dict
    required: true
  run:
    description: >-
      What the run knows of itself. C(run) (name), C(time) (UTC), C(declared) (database to member to Raft address), C(expected_cid)
      (database to cluster id or empty), C(bootstrap), C(restart), C(allow_outage), C(allow_names), C(new_cluster), C(accept_rollback),
      C(accept_lost_disk) (booleans), C(witnesses) (sentences about an older control plane), C(before_changes) (only say what forbids the whole run),
      C(adopt) (members that others run are taken over, and nothing is created), C(wait_timeout) (for how many seconds the same step may be due). Positional.
    type: dict
    required: true
  previous:
    description: The plan of the round before, so that waiting ends at some time. Positional.
    type: dict
    default: {}
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Plan the next step
  ansible.builtin.set_fact:
    plan: "{{ observed.results | c5c3.ovn.raft_plan(run_settings, plan | default({})) }}"
"""

RETURN = r"""
_value:
  description: >-
    C(refusals) (a text for each database that this round or one before refused; nothing more is planned for it), C(refused) (these
    databases, and those that will be refused once their record is written), C(warnings) and C(messages) (lists
    of text, without warnings that a round before has reported; messages hold the whole ordered plan of the databases that were observed), C(database)
    (whose turn it is, empty if nothing is left to do), C(record) (to be written everywhere first, or none) and C(step) (C(action), C(state),
    C(members), C(reason), C(sid), C(expects), or none) of that database, C(left) (databases that are not known to be as declared),
    C(observe) (those of them that the next round observes), C(founding) (databases that do not exist yet), C(cids) (database to recorded cluster id),
    C(due) (with C(before_changes): whether a round has something to do or refuses), C(progress) and C(reported) (for the next plan) and C(sizes)
    (database to largest file in bytes and election timer in milliseconds, as last observed).
  type: dict
"""

import time
import typing as t

from ansible.module_utils.parsing.convert_bool import boolean

from ..module_utils._base.errors import OvnError
from ..module_utils._raft.gates import gate_reason
from ..module_utils._raft.observation import Observation
from ..module_utils._raft.plan import predict_rounds
from ..module_utils._raft.rounds import RoundProgress, latest_record
from ..module_utils._raft.sizing import size_of
from ..module_utils._raft.step import MessageTexts, Run
from ..module_utils._raft.turns import Turn, check_databases, next_turn

_ADOPTION = MessageTexts(bootstrap="an adoption creates none. c5c3.ovn.site creates a new control plane.")
_STATES = {
    "start": "started",
    "stop": "stopped",
    "restart": "restarted",
    "kick": "kicked",
    "wait": "waited",
}


def raft_plan(
    results: t.Iterable[t.Mapping[str, t.Any]], run: t.Mapping[str, t.Any], previous: t.Mapping[str, t.Any]
) -> dict[str, t.Any]:
    """Return the plan of the next turn (`_raft/turns.py`) as plain data, with all that the rounds before have found out."""
    observations: dict[str, dict[str, Observation]] = {}
    for result in results:
        if "observation" in result:
            data = result["observation"]
            observations.setdefault(data["database"], {})[data["member"]] = Observation.from_dict(data)
    left = list(previous.get("left") or run["declared"])
    runs = {database: _run_of(database, run) for database in left}
    plan = _plan_before(previous, observations)
    if boolean(run.get("before_changes") or False):
        check = check_databases(runs, observations)
        _refuse(plan, check.refusals)
        plan.update(due=check.due, founding=list(check.founding), warnings=list(check.warnings))
        plan["incomplete"].update(check.incomplete)
        left = [database for database in left if database not in check.refusals]
        return {**plan, "left": left, "observe": left}
    progress = {name: RoundProgress(**known) for name, known in (previous.get("progress") or {}).items()}
    # One clock for all processes of this machine, without jumps.
    turn = next_turn(runs, observations, left, progress, time.monotonic())
    _refuse(plan, turn.refusals)
    for database, decided in turn.rounds.items():
        new_warnings = [warning for warning in decided.warnings if warning not in plan["reported"]]
        for texts in (plan["reported"], plan["messages"], plan["warnings"]):
            texts += new_warnings
        if boolean(run.get("check_mode", True)):
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
        "warnings": [],
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
    # Extra variables of the command line are text, and "false" is a true text.
    adopt = boolean(run.get("adopt") or False)
    return Run(
        database=database,
        declared=dict(run["declared"][database]),
        name=run["run"],
        time=run["time"],
        bootstrap=boolean(run["bootstrap"]) and not adopt,
        restart=boolean(run["restart"]) or adopt,
        allow_outage=boolean(run["allow_outage"]),
        allow_names=boolean(run["allow_names"]),
        expected_cid=run["expected_cid"].get(database) or None,
        witnesses=tuple(run.get("witnesses") or ()) if boolean(run.get("looked_for_witnesses", True)) else None,
        new_cluster=boolean(run.get("new_cluster") or False),
        accept_rollback=boolean(run.get("accept_rollback") or False),
        accept_lost_disk=boolean(run.get("accept_lost_disk") or False),
        wait_timeout=float(run["wait_timeout"]),
        adopt=adopt,
        texts=_ADOPTION if adopt else MessageTexts(),
    )


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"raft_plan": raft_plan}
