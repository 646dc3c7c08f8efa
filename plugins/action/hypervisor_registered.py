# SPDX-License-Identifier: GPL-3.0-or-later
"""Refuse a new chassis whose name or address a registered one has, before its certificate, packages and name are written."""

from __future__ import annotations

import typing as t

from ..module_utils._base.errors import Refused
from ..module_utils._roles.chassis_clashes import registered_problem
from ..module_utils._roles.hypervisor_check import HypervisorOptions
from ..module_utils._roles.option_types import Specification
from ..module_utils._roles.variables import Overlaid
from ..plugin_utils._role_action import RoleAction


class ActionModule(RoleAction):
    ROLE = "ovn_hypervisor"
    ARGUMENTS: t.ClassVar[Specification] = {
        "tables": {"type": "dict", "default": {}},
        "hostname": {"type": "str", "default": ""},
    }
    _requires_connection = False

    def step(self) -> dict[str, t.Any]:
        options = self.options(HypervisorOptions)
        hostname = options.hostname or self.arguments["hostname"]
        variables = Overlaid({"ovn_hypervisor_hostname": hostname}, self.variables)
        problem = registered_problem(self.host, variables, self.arguments["tables"])
        if problem:
            raise Refused(problem)
        return {}
