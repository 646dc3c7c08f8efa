# SPDX-License-Identifier: GPL-3.0-or-later
"""Find the control plane that a hypervisor connects to, and refuse a run that could not reach it, before anything is changed."""

from __future__ import annotations

import typing as t

from ..module_utils._base.errors import Refused
from ..module_utils._roles.hypervisor_check import ConnectingHost, connection_problem
from ..plugin_utils._hypervisor_action import HypervisorAction


class ActionModule(HypervisorAction):
    _requires_connection = False

    def step(self) -> dict[str, t.Any]:
        central = self.control_plane()
        state = str(self.variables.get("ovn_hypervisor_state") or "present")
        asked = ConnectingHost(self.host, state, is_cluster=self.is_cluster(), check_mode=self.check_mode)
        problem = connection_problem(asked, central, self.variables)
        if problem:
            raise Refused(problem)
        return {name: central[name] for name in ("host", "is_cluster", "southbound", "northbound")}
