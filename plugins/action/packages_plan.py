# SPDX-License-Identifier: GPL-3.0-or-later
"""Plan which packages of a host are installed, upgraded, held and released from hold."""

from __future__ import annotations

import typing as t

from ..module_utils._base.errors import Refused
from ..module_utils._roles.option_types import Specification
from ..module_utils._roles.packages import PackagesOptions, PackagesRequest, packages_plan
from ..plugin_utils._role_action import RoleAction


class ActionModule(RoleAction):
    ROLE = "ovn_packages"
    ARGUMENTS: t.ClassVar[Specification] = {
        "request": {
            "type": "dict",
            "required": True,
            "options": {
                "names": {"type": "list", "elements": "str", "required": True},
                "files": {"type": "list", "elements": "path", "default": []},
                "downgrade_option": {"type": "str", "default": ""},
                "allow_downgrade": {"type": "bool", "default": False},
                "equal_on": {"type": "list", "elements": "str", "default": []},
                "compared": {"type": "bool", "default": False},
            },
        },
        "refreshed": {"type": "bool", "default": False},
        "source_directory": {"type": "path", "required": True},
    }

    def step(self) -> dict[str, t.Any]:
        options = self.options(PackagesOptions)
        request = PackagesRequest(**self.arguments["request"])
        found = self.call(
            "c5c3.ovn.ovn_packages_info", packages=request.names, versions=options.versions, paths=request.files
        )
        lists = {name: self.arguments[name] for name in ("refreshed", "source_directory")}
        plan = packages_plan(found, request, options, self.host, self.variables, **lists)
        if plan["refusals"]:
            raise Refused("\n".join(plan["refusals"]) + " No package was changed.", **plan)
        return plan
