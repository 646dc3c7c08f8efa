# SPDX-License-Identifier: GPL-3.0-or-later
"""Plan which packages of a host are installed, upgraded, held and released from hold."""

from __future__ import annotations

import typing as t

from ..module_utils._base.errors import Refused
from ..module_utils._roles.option_types import Specification
from ..module_utils._roles.packages import PackagesOptions, packages_plan
from ..plugin_utils._role_action import RoleAction


class ActionModule(RoleAction):
    ROLE = "ovn_packages"
    ARGUMENTS: t.ClassVar[Specification] = {
        "refreshed": {"type": "bool", "default": False},
        "compared": {"type": "bool", "default": False},
        "source_directory": {"type": "path", "required": True},
    }

    def step(self) -> dict[str, t.Any]:
        options = self.options(PackagesOptions)
        found = self.call(
            "c5c3.ovn.ovn_packages_info", packages=options.names, versions=options.versions, paths=options.files
        )
        plan = packages_plan(found, options, self.host, self.variables, self.arguments)
        if plan["refusals"]:
            raise Refused("\n".join(plan["refusals"]) + " No package was changed.", **plan)
        return plan
