# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: raft_plan
short_description: Plan the next safe step of the Raft databases on central hosts
version_added: "0.1.0"
description:
  - Decides from what every central host saw which record to write and which single step to take next, for both databases.
  - A cluster is created once, ever; a lost member is removed before it joins anew; nothing is restarted that would cost the quorum.
options:
  _input:
    description: Results of M(c5c3.ovn.ovn_raft_member) with O(c5c3.ovn.ovn_raft_member#module:state=examined) from all central hosts.
    type: list
    elements: dict
    required: true
  run:
    description: >-
      What the run knows of itself. C(run) (name), C(time) (UTC), C(declared) (database to member to Raft address), C(expected_cid)
      (database to cluster id or empty), C(bootstrap), C(restart), C(allow_outage), C(allow_names) (booleans), C(wait_timeout) (seconds). Positional.
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
    C(refusals), C(warnings) and C(messages) (lists of text; messages hold the whole ordered plan), C(records) and C(steps) (databases
    that have one), and for each database
    C(record) and C(step) (C(action), C(state), C(members), C(reason), C(sid)).
  type: dict
"""

import time
import typing as t

from ansible.module_utils.parsing.convert_bool import boolean

from ..module_utils._errors import OvnError
from ..module_utils._raft.foresee import foresee
from ..module_utils._raft.gates import gate_reason
from ..module_utils._raft.observation import Observation
from ..module_utils._raft.plan import plan_round
from ..module_utils._raft.step import Run

# What ovn_raft_member calls the state that a step leads to.
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
    observations: dict[str, dict[str, Observation]] = {database: {} for database in run["declared"]}
    for result in results:
        if "observation" in result:
            data = result["observation"]
            observations[data["database"]][data["member"]] = Observation.from_dict(data)
    plan: dict[str, t.Any] = {"refusals": [], "warnings": [], "messages": [], "records": [], "steps": []}
    for database, declared in run["declared"].items():
        this = Run(
            database=database,
            declared=dict(declared),
            name=run["run"],
            time=run["time"],
            # Extra variables of the command line are text, and "false" is a true text.
            bootstrap=boolean(run["bootstrap"]),
            restart=boolean(run["restart"]),
            allow_outage=boolean(run["allow_outage"]),
            allow_names=boolean(run["allow_names"]),
            expected_cid=run["expected_cid"].get(database) or None,
        )
        try:
            decided = plan_round(this, observations[database], gate_reason).as_dict()
            decided["ahead"] = foresee(this, observations[database], gate_reason)
        except OvnError as e:
            plan["refusals"].append(str(e))
            decided = {"record": None, "step": None, "warnings": [], "ahead": []}
        _add(plan, database, decided, previous.get(database) or {}, float(run["wait_timeout"]))
    return plan


def _add(
    plan: dict[str, t.Any], database: str, decided: dict[str, t.Any], before: t.Mapping[str, t.Any], timeout: float
) -> None:
    step = decided["step"]
    plan["warnings"] += decided["warnings"]
    plan["messages"] += decided["warnings"] + decided["ahead"]
    if step:
        step["state"] = _STATES[step["action"]]
        plan["steps"].append(database)
    if decided["record"]:
        plan["records"].append(database)
    waiting_since = None
    if step and step["action"] == "wait":
        waiting_since = before.get("waiting_since") or time.time()
        if time.time() - waiting_since > timeout:
            plan["refusals"].append(
                f"Gave up after {timeout:g} s: {step['reason']}. The state is safe; run again later."
            )
    plan[database] = {**decided, "waiting_since": waiting_since}


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"raft_plan": raft_plan}
