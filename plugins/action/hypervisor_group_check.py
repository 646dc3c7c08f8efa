# SPDX-License-Identifier: GPL-3.0-or-later
"""Refuse hypervisors whose names, addresses or tunnel networks do not fit together, by the inventory alone."""

from __future__ import annotations

import typing as t

from ..module_utils._hypervisors.machines import name_problem
from ..module_utils._roles.chassis_clashes import chassis_clashes
from ..module_utils._roles.firewall import managed_central_hosts, tunnel_networks_problem
from ..module_utils._roles.hypervisor_check import FirewallOptions, firewall_options, refuse
from ..module_utils._roles.variables import members_of
from ..plugin_utils._role_action import RoleAction


class ActionModule(RoleAction):
    ROLE = "ovn_hypervisor"
    _requires_connection = False

    def step(self) -> dict[str, t.Any]:
        given = firewall_options(self.options(FirewallOptions, alone=True), self.variables, self.host)
        clashes = chassis_clashes(self.hostvars, members_of(self.groups, "ovn_hypervisors"), name_problem)
        problems = [
            f"{'; '.join(clashes)}. Correct the inventory; nothing was changed." if clashes else "",
            tunnel_networks_problem(self.hostvars, self.groups, self.host, given),
        ]
        refuse([problem for problem in problems if problem])
        return {"firewall_central": managed_central_hosts(self.hostvars, self.groups)}
