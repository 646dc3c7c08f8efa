# SPDX-License-Identifier: GPL-3.0-or-later
"""Refuse options of a hypervisor that an unattended run must not start with."""

from __future__ import annotations

import typing as t

from ..module_utils._base.errors import Refused
from ..module_utils._roles.hypervisor_check import SingleRunOptions
from ..module_utils._roles.option_types import unattended_problem
from ..plugin_utils._hypervisor_action import HypervisorAction


class ActionModule(HypervisorAction):
    """As on central hosts: an option of a single run has no place in an inventory that is applied every few minutes."""

    _requires_connection = False

    def step(self) -> dict[str, t.Any]:
        options = self.options(SingleRunOptions, alone=True)
        problem = unattended_problem(self.host, options, "ovn_hypervisor_", "c5c3.ovn.hypervisors")
        if problem:
            raise Refused(problem)
        return {}
