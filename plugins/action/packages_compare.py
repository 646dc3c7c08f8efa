# SPDX-License-Identifier: GPL-3.0-or-later
"""Refuse plans that would give hosts different versions of a package."""

from __future__ import annotations

import typing as t

from ..module_utils._base.errors import Refused
from ..module_utils._roles.option_types import Specification
from ..module_utils._roles.packages import mixed_versions_problem
from ..plugin_utils._role_action import RoleAction


class ActionModule(RoleAction):
    ROLE = "ovn_packages"
    ARGUMENTS: t.ClassVar[Specification] = {
        "hosts": {"type": "list", "elements": "str", "required": True},
        "refreshed": {"type": "bool", "default": False},
    }
    _requires_connection = False

    def step(self) -> dict[str, t.Any]:
        plans = {host: self.hostvars[host].get("ovn_packages_plan") for host in self.arguments["hosts"]}
        problem = mixed_versions_problem(plans, refreshed=self.arguments["refreshed"])
        if problem:
            raise Refused(f"{problem} No package was changed.")
        return {}
