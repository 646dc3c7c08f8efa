# SPDX-License-Identifier: GPL-3.0-or-later
"""Bring the settings of a machine in Open vSwitch to what its chassis has to be, or delete the chassis."""

from __future__ import annotations

import typing as t

from ..module_utils._base.errors import Refused
from ..module_utils._roles.hypervisor_check import (
    HypervisorOptions,
    desired_machine,
    local_options,
    removal_problem,
)
from ..module_utils._roles.option_types import Specification
from ..plugin_utils._hypervisor_action import HypervisorAction
from ..plugin_utils._progress import print_while_waiting


class ActionModule(HypervisorAction):
    ARGUMENTS: t.ClassVar[Specification] = {
        "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
        "wait_for": {"type": "str", "choices": ["applied", "registered"], "default": "registered"},
    }

    def step(self) -> dict[str, t.Any]:
        options = self.options(HypervisorOptions)
        chassis = desired_machine(self.host, options, self.variables, self.hostvars, self.groups).chassis
        southbound: list[str] = self.variables["ovn_hypervisor_central"]["southbound"]
        if self.arguments["state"] == "absent":
            awaited = f"the rows of chassis {chassis.system_id} to be deleted"
            given = {**chassis.identity(), "state": "absent", "timeout": 30}
            given["southbound"] = southbound if self._asks(options, southbound) else None
        else:
            # Check mode comes here before the certificate is there; the Southbound database cannot be asked without it.
            certified = not (self.check_mode and self.variables["ovn_hypervisor_check"]["certificate_missing"])
            wait_for = self.arguments["wait_for"] if certified else "applied"
            awaited = (
                f"chassis {chassis.system_id} to register in the Southbound database"
                if wait_for == "registered"
                else f"Open vSwitch to apply the settings of chassis {chassis.system_id}"
            )
            given = {**chassis.options(), "remote": southbound, "purge": options.purge, "wait_for": wait_for}
            given["southbound"] = southbound if certified else None
        with print_while_waiting(awaited, self._task_vars):
            found = self.call("c5c3.ovn.ovn_chassis", **local_options(options), **given)
        return {name: value for name, value in found.items() if name != "invocation"}

    def _asks(self, options: HypervisorOptions, southbound: list[str]) -> bool:
        """Return whether rows are deleted in the Southbound. The key goes at the end: without it an earlier run was cut off after they were deleted."""
        key = self.call("ansible.builtin.stat", path=options.private_key) if options.tls else {"stat": {"exists": True}}
        asks = bool(key["stat"]["exists"])
        if asks and not southbound:
            raise Refused(removal_problem(self.host))
        return asks
