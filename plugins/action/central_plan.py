# SPDX-License-Identifier: GPL-3.0-or-later
"""Plan what a run does on all central machines: before the first change, and in each round of the Raft clusters."""

from __future__ import annotations

import datetime
import typing as t

from ..module_utils._base.control_node import this_run
from ..module_utils._base.errors import Refused
from ..module_utils._roles.central_check import is_adoption
from ..module_utils._roles.central_plan import (
    PlannedRun,
    RaftOptions,
    failed_members_problem,
    found_witnesses,
    plan_before_changes,
    plan_round,
)
from ..module_utils._roles.option_types import Specification
from ..module_utils._roles.packages import mixed_versions_problem
from ..module_utils._roles.variables import Variables, members_of
from ..plugin_utils._progress import print_lines
from ..plugin_utils._role_action import RoleAction


class ActionModule(RoleAction):
    """Before the first change, a rule that forbids one database to go on stops the whole run. In the rounds the other database goes on."""

    ROLE = "ovn_central"
    ARGUMENTS: t.ClassVar[Specification] = {
        "phase": {
            "type": "str",
            "choices": ["members", "check", "search", "due", "rollback", "round"],
            "required": True,
        },
    }
    _requires_connection = False

    def step(self) -> dict[str, t.Any]:
        options = self.options(RaftOptions, alone=True)
        members = members_of(self.groups, "ovn_central")
        hosts = self.variables["ansible_play_hosts"]
        if problem := failed_members_problem(members, self.variables["ansible_play_hosts_all"], hosts):
            raise Refused(problem)
        phase = self.arguments["phase"]
        if phase == "members":
            return {}
        now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        run = PlannedRun(this_run(), now, self.check_mode, is_adoption(self.variables))
        checks = self._results("ovn_central_check")
        if phase == "due":
            planned = self.variables["ovn_central_plan"]["planned"]
            return {"due": planned or any(check["due"] for check in checks.values())}
        if phase in ("check", "search"):
            return self._before_changes(options, members, run, checks)
        previous = self.variables["ovn_central_plan"]
        plan = plan_round(checks, self._results("ovn_central_observed"), options, run, previous)
        if phase == "rollback":  # no round: what is left afterwards is planned afresh
            return {**plan, "round": 0, "observe": list(checks[self.host]["desired"]["databases"])}
        return {**plan, "lines": self._printed(plan["messages"] if plan["new_warnings"] or self.check_mode else [])}

    def _printed(self, lines: list[str]) -> list[str]:
        if lines:
            print_lines("\n".join(lines))
        return lines

    def _results(self, name: str) -> dict[str, Variables]:
        return {host: self.hostvars[host][name] for host in self.variables["ansible_play_hosts"]}

    def _before_changes(
        self, options: RaftOptions, members: list[str], run: PlannedRun, checks: dict[str, Variables]
    ) -> dict[str, t.Any]:
        witnesses, unsearched = None, ""
        if self.arguments["phase"] == "search":
            witnesses, unsearched = self._witnesses(members)
        elif problem := self._packages_problem(members, checks):
            raise Refused(f"{problem} No package was changed.")
        plan = plan_before_changes(checks, options, run, witnesses)
        lines = self._printed([unsearched] if unsearched else [])
        if plan["refusals"]:
            raise Refused("\n".join(plan["refusals"]))
        return {**plan, "lines": lines}

    def _packages_problem(self, members: list[str], checks: dict[str, Variables]) -> str:
        plans = {host: check["packages_plan"] for host, check in checks.items() if host in members}
        if not any(plan.get("compare") for plan in plans.values()):
            return ""
        return mixed_versions_problem(plans, refreshed=False)

    def _witnesses(self, members: list[str]) -> tuple[list[str], str]:
        found = self._results("ovn_central_searched").values()
        results = [result for one in found for result in one.get("results") or ()]
        founding = self.variables["ovn_central_plan"]["founding"]
        return found_witnesses(results, founding, members, self.variables.get("ovn_central_note") or {})
