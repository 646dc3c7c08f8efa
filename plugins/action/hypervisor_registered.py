# SPDX-License-Identifier: GPL-3.0-or-later
"""Refuse a new chassis whose name or address a registered one has, before its certificate, packages and name are written."""

from __future__ import annotations

import typing as t

from ..module_utils._base.errors import Refused
from ..module_utils._roles.chassis_clashes import registered_problem
from ..module_utils._roles.variables import Overlaid
from ..plugin_utils._hypervisor_action import HypervisorAction


class ActionModule(HypervisorAction):
    """Without an answer nothing is refused: `ovn_chassis` asks again."""

    _requires_connection = False

    def step(self) -> dict[str, t.Any]:
        checked = self.variables["ovn_hypervisor_check"]
        answer = self.variables[
            "ovn_hypervisor_in_pods" if checked["southbound_to_ask"]["is_cluster"] else "ovn_hypervisor_registered"
        ]
        variables = Overlaid({"ovn_hypervisor_hostname": checked["hostname"]}, self.variables)
        problem = registered_problem(self.host, variables, answer.get("tables") or {})
        if problem:
            raise Refused(problem)
        return {}
