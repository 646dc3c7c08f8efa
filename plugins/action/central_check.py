# SPDX-License-Identifier: GPL-3.0-or-later
"""Compare a machine with the central host that it has to be, and refuse what forbids a run before anything is changed."""

from __future__ import annotations

import dataclasses
import typing as t

from ..module_utils._base.errors import Refused
from ..module_utils._roles.central import CentralMachineOptions
from ..module_utils._roles.central_check import (
    CentralCheckOptions,
    DesiredCentral,
    central_state,
    described_central,
    desired_central,
    host_questions,
    is_adoption,
    judge_central,
    membership_problem,
    settings_questions,
)
from ..module_utils._roles.central_plan import sizes_matter
from ..module_utils._roles.hypervisor_check import refuse
from ..module_utils._roles.option_types import Specification
from ..module_utils._roles.packages import PackagesOptions, PackagesRequest, packages_plan
from ..module_utils._roles.variables import Variables, members_of
from ..plugin_utils._role_action import RoleAction


class ActionModule(RoleAction):
    ROLE = "ovn_central"
    ALSO = ("ovn_packages",)
    ARGUMENTS: t.ClassVar[Specification] = {
        "again": {"type": "str", "choices": ["", "compare", "compute"], "default": ""},
    }

    def step(self) -> dict[str, t.Any]:
        options = self.options(CentralCheckOptions)
        again = self.arguments["again"]
        return self._again(options, compare=again == "compare") if again else self._check(options)

    def _desired(self, options: CentralCheckOptions, plan: Variables, found: Variables | None = None) -> DesiredCentral:
        given = self.options(CentralMachineOptions)
        state = central_state(self.host, given, self.hostvars, self.groups, plan)
        place = (self.variables, self.hostvars, self.groups)
        return desired_central(self.host, options, state, *place, found, adopt=is_adoption(self.variables))

    def _certificates(self) -> list[t.Any]:
        """Return the options of `ovn_certificate`, from the role ovn_pki; none where it did not run in this run, or has no CA."""
        return (self.variables.get("ovn_pki_declared") or {}).get("pairs") or []

    def _check(self, options: CentralCheckOptions) -> dict[str, t.Any]:
        refuse([problem] if (problem := membership_problem(self.host, options, self.groups)) else [])
        machine = self._desired(options, {})
        packages = self.options(PackagesOptions, "ovn_packages")
        questions = host_questions(machine, options, packages.versions, self._certificates())
        found = self.call("c5c3.ovn.ovn_host_info", **questions)
        machine = self._desired(options, {}, found)
        request = PackagesRequest(
            names=machine.packages,
            files=machine.distribution["files"],
            downgrade_option="ovn_central_permit=package_downgrade",
            allow_downgrade="package_downgrade" in options.permit,
            equal_on=[] if "mixed_versions" in options.permit else members_of(self.groups, "ovn_central"),
        )
        plan = self._packages_plan(machine, request, packages, found)
        judged = judge_central(self.host, machine, options, found, plan, self.variables)
        if judged["problems"]:
            raise Refused("\n".join(judged["problems"]))
        return {
            **described_central(machine),
            **judged,
            "packages_request": {**dataclasses.asdict(request), "compared": True},  # before the lock, by the plan
            "warnings": plan.get("warnings") or [],
        }

    def _packages_plan(
        self, machine: DesiredCentral, request: PackagesRequest, packages: PackagesOptions, found: Variables
    ) -> dict[str, t.Any]:
        """Return the plan of the packages. An adoption installs nothing, so a hold or a version that a rollout would refuse is no reason to stop it."""
        if machine.adopt or "packages" in (self.variables.get("ansible_skip_tags") or ()):
            return {}
        return packages_plan(found["packages"], request, packages, self.host, self.variables)

    def _again(self, options: CentralCheckOptions, *, compare: bool) -> dict[str, t.Any]:
        """Return the check with the sizes of the databases, which are known by now; with `compare`, what they and a package source add is compared."""
        before = {name: value for name, value in self.variables["ovn_central_check"].items() if name != "warnings"}
        plan = self.variables["ovn_central_plan"]
        machine = self._desired(options, plan)
        source_files = [file for one in self._plans() for file in one.get("source_files") or ()]
        if not sizes_matter(before, machine.state) and not (compare and source_files):
            return before
        described = {**before, **described_central(machine)}
        if not compare or plan["planned"]:
            return described
        own_files = before["packages_plan"].get("source_files") or ()
        found = self.call("c5c3.ovn.ovn_host_info", **settings_questions(machine, own_files, self._certificates()))
        return {**described, "due": bool(found["due"])}

    def _plans(self) -> t.Iterator[Variables]:
        for host in self.variables["ansible_play_hosts"]:
            yield (self.hostvars[host].get("ovn_central_check") or {}).get("packages_plan") or {}
