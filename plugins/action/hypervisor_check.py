# SPDX-License-Identifier: GPL-3.0-or-later
"""Compare a machine with the chassis that it has to be, and refuse what forbids a run before anything is changed."""

from __future__ import annotations

import dataclasses
import typing as t

from ..module_utils._base.errors import Refused
from ..module_utils._roles.hypervisor_check import (
    HypervisorOptions,
    described_machine,
    desired_machine,
    host_questions,
    judge_machine,
    southbound_to_ask,
)
from ..module_utils._roles.packages import PackagesOptions, packages_plan
from ..plugin_utils._role_action import RoleAction


class ActionModule(RoleAction):
    ROLE = "ovn_hypervisor"
    ALSO = ("ovn_packages",)

    def step(self) -> dict[str, t.Any]:
        options = self.options(HypervisorOptions)
        place = (self.host, options, self.variables, self.hostvars, self.groups)
        machine = desired_machine(*place)
        if options.state != "present":  # a machine that is removed is not compared, and one that is dead not contacted
            return {**described_machine(machine), "warnings": [], "removed_chassis": machine.system_id}
        packages = self.options(PackagesOptions, "ovn_packages", ovn_packages_names=machine.packages)
        declared = self.variables.get("ovn_pki_declared") or {}
        found = self.call(
            "c5c3.ovn.ovn_host_info",
            **host_questions(machine, options, packages.versions, declared.get("pairs") or []),
        )
        machine = desired_machine(*place, found=found)
        packages = dataclasses.replace(
            packages,
            names=machine.packages,
            files=machine.distribution["files"],
            allow_downgrade=options.allow_package_downgrade,
            downgrade_option="ovn_hypervisor_allow_package_downgrade",
        )
        arguments = {"refreshed": False, "source_directory": "/etc/apt/sources.list.d"}
        plan = packages_plan(found["packages"], packages, self.host, self.variables, arguments)
        described = described_machine(machine)
        judged = judge_machine(self.host, machine, options, found, plan, self.variables)
        result = {**described, **judged, "warnings": [*described["warnings"], *plan["warnings"]]}
        if judged["problems"]:
            raise Refused("\n".join(judged["problems"]), **result)
        southbound = {} if judged["set_up"] else southbound_to_ask(*place)
        return {**result, "southbound_to_ask": southbound}
