# SPDX-License-Identifier: GPL-3.0-or-later
"""Execute the step of a round on one of the members that it concerns."""

from __future__ import annotations

import typing as t

from ..module_utils._base.control_node import this_run
from ..module_utils._base.errors import Refused
from ..module_utils._roles.central_check import is_adoption
from ..module_utils._roles.central_plan import failed_members_problem
from ..module_utils._roles.variables import members_of
from ..plugin_utils._progress import print_while_waiting
from ..plugin_utils._role_action import RoleAction
from .ovn_raft_member import awaited


class ActionModule(RoleAction):
    """A record that not all members got is no ground to act on, so a step needs all of them."""

    ROLE = "ovn_central"

    def step(self) -> dict[str, t.Any]:
        members = members_of(self.groups, "ovn_central")
        hosts = self.variables["ansible_play_hosts"]
        if problem := failed_members_problem(members, self.variables["ansible_play_hosts_all"], hosts):
            raise Refused(problem)
        plan, desired = self.variables["ovn_central_plan"], self.variables["ovn_central_check"]["desired"]
        step, database = plan["step"], desired["databases"][plan["database"]]
        with print_while_waiting(awaited(step["state"], plan["database"], step["sid"]), self._task_vars):
            return self.call(
                "c5c3.ovn.ovn_raft_member",
                state=step["state"],
                database=plan["database"],
                member=self.host,
                record=database["record"],
                environment_file=database["environment_file"],
                server_id=step["sid"] or None,
                expects=step["expects"].get(self.host),
                lock_holder=this_run(),
                wait_timeout=desired["wait_timeout"],
                adopt=is_adoption(self.variables),
            )
