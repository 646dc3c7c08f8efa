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

from ..module_utils._errors import OvnError
from ..module_utils._raft.gates import gate_reason
from ..module_utils._raft.observation import Observation
from ..module_utils._raft.plan import check_before_changes
from ..module_utils._raft.rounds import RoundProgress, incomplete, latest_record, next_round
from ..module_utils._raft.simulate import simulate
from ..module_utils._raft.sizing import size_of
from ..module_utils._raft.step import MessageTexts, Round, Run

_ADOPTION = MessageTexts(bootstrap="an adoption creates none. c5c3.ovn.site creates a new control plane.")
_STATES = {
    "start": "started",
    "stop": "stopped",
    "restart": "restarted",
    "kick": "kicked",
    "wait": "waited",
}
_ALONE = frozenset({"stop", "restart", "kick"})


def raft_plan(
    results: t.Iterable[t.Mapping[str, t.Any]], run: t.Mapping[str, t.Any], previous: t.Mapping[str, t.Any]
) -> dict[str, t.Any]:
    """Return the plan of the first database that has something to do; while it waits, of the other one if that starts members."""
    observations: dict[str, dict[str, Observation]] = {}
    for result in results:
        if "observation" in result:
            data = result["observation"]
            observations.setdefault(data["database"], {})[data["member"]] = Observation.from_dict(data)
    plan: dict[str, t.Any] = {"warnings": [], "messages": [], "founding": [], "progress": {}, "due": False}
    plan["refused"] = list(previous.get("refused") or [])
    plan["refusals"] = list(previous.get("refusals") or [])
    plan["incomplete"] = dict(previous.get("incomplete") or {})
    plan["cids"] = dict(previous.get("cids") or {})
    plan["reported"] = list(previous.get("reported") or [])
    sizes = {database: size_of(seen.values())._asdict() for database, seen in observations.items()}
    left = list(previous.get("left") or run["declared"])
    rounds: dict[str, Round] = {}
    for database in [name for name in left if name in observations]:
        known = (previous.get("progress") or {}).get(database)
        progress = RoundProgress(**known) if known else RoundProgress()
        this = _run_of(database, run)
        try:
            recorded = latest_record(observations[database])
            if recorded is not None and recorded.cid:
                plan["cids"][database] = recorded.cid
            if boolean(run.get("before_changes") or False):
                plan["founding"] += [database] if check_before_changes(this, observations[database]).founding else []
                ahead = _idle_round(this, observations[database])
                plan["due"] = plan["due"] or ahead is None
                if ahead is not None:
                    plan["warnings"] += ahead.warnings
                    plan["incomplete"][database] = incomplete(this, observations[database])
                continue
            # One clock for all processes of this machine, without jumps.
            decided, progress = next_round(this, observations[database], progress, time.monotonic())
            new_warnings = [warning for warning in decided.warnings if warning not in plan["reported"]]
            plan["reported"] += new_warnings
            plan["messages"] += new_warnings
            if boolean(run.get("check_mode", True)):
                plan["messages"] += simulate(this, observations[database], gate_reason)
        except OvnError as e:
            plan["refusals"].append(str(e))
            plan["refused"] = sorted({*plan["refused"], database})
            left.remove(database)  # the other one goes as far as it can
            continue
        plan["warnings"] += new_warnings
        if decided.refusal is not None:
            plan["refused"] = sorted({*plan["refused"], database})
        plan["progress"][database] = progress.as_dict()
        plan["founding"] += [database] if decided.founding else []
        if not decided.is_empty:
            rounds[database] = decided
        elif not rounds:  # the other way round it is observed once more when the first one has ended
            left.remove(database)
            plan["incomplete"][database] = incomplete(this, observations[database])
    turn = _turn(rounds)
    acted = rounds.get(turn, Round()).as_dict()
    if _starts_other(rounds, turn):
        acted["step"] = (
            None  # its record is written, and the next round starts members of the other one instead of waiting
        )
    for database, decided in rounds.items():
        if database != turn and not (decided.step and decided.step.action == "wait"):
            del plan["progress"][database]  # a step that has not got its turn is not late
    if acted["step"]:
        acted["step"]["state"] = _STATES[acted["step"]["action"]]
    # Beside a member that ends for a moment the other database is not looked at: nothing of it would be executed.
    observe = [turn] if acted["step"] and acted["step"]["action"] in _ALONE else left
    return {
        **plan,
        "database": turn,
        "record": acted["record"],
        "step": acted["step"],
        "left": left,
        "observe": observe,
        "sizes": {**(previous.get("sizes") or {}), **sizes},
    }


def _turn(rounds: t.Mapping[str, Round]) -> str:
    """Return the database whose round is executed, empty if there is none: the first one, unless all it has to do is to wait."""
    first = next(iter(rounds), "")
    if first and rounds[first].record is None:
        return _starts_other(rounds, first) or first
    return first


def _starts_other(rounds: t.Mapping[str, Round], waiting: str) -> str:
    """Return the database that starts members while `waiting` waits, empty if there is none."""
    step = rounds[waiting].step if waiting else None
    if step is None or step.action != "wait":
        return ""
    return next((name for name, other in rounds.items() if other.step and other.step.action == "start"), "")


def _idle_round(run: Run, observations: t.Mapping[str, Observation]) -> Round | None:
    """Return the first round if it has nothing to do; None if it would do something, or refuse."""
    try:
        decided, _progress = next_round(run, observations, RoundProgress(), 0.0)
    except OvnError:
        return None
    return decided if decided.is_empty and decided.refusal is None else None


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
