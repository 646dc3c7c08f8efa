# SPDX-License-Identifier: GPL-3.0-or-later
"""Return what the OVNChassis of a machine has to be, as ovn_chassis_resources takes it."""

from __future__ import annotations

import typing as t

from ..module_utils._roles.hypervisor_check import HypervisorOptions, desired_machine
from ..module_utils._roles.option_types import Specification
from ..plugin_utils._role_action import RoleAction


class ActionModule(RoleAction):
    ROLE = "ovn_hypervisor"
    ARGUMENTS: t.ClassVar[Specification] = {"hostname": {"type": "str", "default": ""}}
    _requires_connection = False

    def step(self) -> dict[str, t.Any]:
        options = self.options(HypervisorOptions)
        machine = desired_machine(self.host, options, self.variables, self.hostvars, self.groups)
        chassis = {
            "name": self.host,
            "state": "present" if options.state == "present" else "absent",
            "system_id": machine.system_id,
            "hostname": options.hostname or self.arguments["hostname"],
            "encapsulation_type": machine.encapsulation_types,
            "encapsulation_ip": machine.encapsulation_ip,
            "bridge_mappings": machine.state["bridge_mappings"],
        }
        return {"chassis": {name: value for name, value in chassis.items() if value is not None and value != ""}}
