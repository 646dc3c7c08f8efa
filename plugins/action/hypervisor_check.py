# SPDX-License-Identifier: GPL-3.0-or-later
"""Compare a host with the chassis that it has to be, and refuse what forbids a run before anything is changed."""

from __future__ import annotations

import dataclasses
import typing as t

from ..module_utils._base.errors import Refused
from ..module_utils._roles.hypervisor_check import (
    HypervisorOptions,
    SingleRunOptions,
    described_machine,
    desired_machine,
    host_questions,
    judge_machine,
    southbound_to_ask,
)
from ..module_utils._roles.hypervisor_cluster import (
    HypervisorClusterOptions,
    hypervisors_problem,
    variables_for_machines,
)
from ..module_utils._roles.packages import PackagesOptions, PackagesRequest, packages_plan
from ..plugin_utils._hypervisor_action import HypervisorAction


class ActionModule(HypervisorAction):
    def step(self) -> dict[str, t.Any]:
        return self._check_cluster() if self.is_cluster() else self._check_machine()

    def _asks(self, state: str, central: dict[str, t.Any]) -> dict[str, t.Any]:
        """Return whether the cluster of the control plane says where the databases are, and whom to ask: nobody if this run has rolled it out."""
        asks = state != "gone" and central["asked"]
        return {"asks": asks, "asked_host": central["host"] if asks and not central["published"] else ""}

    def _check_cluster(self) -> dict[str, t.Any]:
        options, desired = self.desired_hypervisors()
        given = self.misplaced(HypervisorOptions, HypervisorClusterOptions, SingleRunOptions)
        for_machines = sorted([*given, *variables_for_machines(self.host, self.variables, self.groups)])
        problem = hypervisors_problem(self.host, options.state, for_machines)
        if problem:
            raise Refused(problem)
        present = options.state == "present"
        if desired.signs:
            self.node_signer(needed=present and not self.check_mode)
        system_id = str(self.variables.get("ovn_system_id") or self.host)
        return {
            "spec": desired.spec,
            **self._asks(options.state, self.control_plane()),
            **({} if present else {"removed_chassis": system_id}),
        }

    def _check_machine(self) -> dict[str, t.Any]:
        options = self.options(HypervisorOptions)
        place = (self.host, options, self.variables, self.hostvars, self.groups)
        machine = desired_machine(*place)
        central = self.control_plane()
        present = options.state == "present"
        resource = machine.chassis.resource(present=present) if options.resource else {}
        asks = {**self._asks(options.state, central), "state": options.state, "resource": resource}
        if not present:  # a machine that is removed is not compared, and one that is dead not contacted
            described = described_machine(machine, options)
            return {**described, **asks, "warnings": [], "removed_chassis": machine.chassis.system_id}
        packages = self.options(PackagesOptions, "ovn_packages")
        declared = self.variables.get("ovn_pki_declared") or {}
        found = self.call(
            "c5c3.ovn.ovn_host_info",
            **host_questions(machine, options, packages.versions, declared.get("pairs") or []),
        )
        machine = desired_machine(*place, found=found)
        request = PackagesRequest(
            names=machine.packages,
            files=machine.distribution["files"],
            downgrade_option="ovn_hypervisor_permit=package_downgrade",
            allow_downgrade="package_downgrade" in options.permit,
        )
        plan = packages_plan(found["packages"], request, packages, self.host, self.variables)
        described = described_machine(machine, options)
        judged = judge_machine(self.host, machine, options, found, plan, self.variables)
        described["packages_request"] = dataclasses.asdict(request)
        result = {**described, **asks, **judged, "warnings": [*described["warnings"], *plan["warnings"]]}
        if judged["problems"]:
            raise Refused("\n".join(judged["problems"]), **result)
        return {**result, "southbound_to_ask": {} if judged["set_up"] else southbound_to_ask(central)}
