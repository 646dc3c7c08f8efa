# SPDX-License-Identifier: GPL-3.0-or-later
"""Refuse options of a hypervisor that an unattended run must not start with, and in the end a run that has lost a hypervisor."""

from __future__ import annotations

import typing as t

from ..module_utils._base.errors import Refused
from ..module_utils._roles.hypervisor_check import SingleRunOptions, forbids_unattended
from ..module_utils._roles.option_types import Specification
from ..plugin_utils._hypervisor_action import HypervisorAction


class ActionModule(HypervisorAction):
    """As on central hosts: an option of a single run has no place in an inventory that is applied every few minutes."""

    ARGUMENTS: t.ClassVar[Specification] = {"finished": {"type": "bool", "default": False}}
    _requires_connection = False

    def step(self) -> dict[str, t.Any]:
        if self.arguments["finished"]:
            self._check_all()
            return {}
        options = self.options(SingleRunOptions, alone=True)
        problem = forbids_unattended(self.host, options, self.variables)
        if problem:
            raise Refused(problem)
        return {}

    def _check_all(self) -> None:
        """Raise `Refused` with the hypervisors that were checked in the beginning, and have failed or were lost since."""
        hosts = set(self.variables["ansible_play_hosts_all"]) - set(self.variables["ansible_play_hosts"])
        lost = sorted(host for host in hosts if "ovn_hypervisor_unattended" in self.hostvars[host])
        if lost:
            raise Refused(
                f"Not brought to their state: {', '.join(lost)}. See above who could not be reached or failed. All others are as declared; "
                "the next pass tries again."
            )
