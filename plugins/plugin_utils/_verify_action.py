# SPDX-License-Identifier: GPL-3.0-or-later
"""The base of the steps of the role ovn_verify that ask an installation: how it is asked."""

from __future__ import annotations

import abc
import typing as t

from ..module_utils._roles.option_types import Backend
from ..module_utils._roles.variables import Overlaid, first_value, members_of
from ..module_utils._roles.verify import desired_state
from ._role_action import RoleAction


class VerifyAction(RoleAction, abc.ABC):
    ROLE = "ovn_verify"

    def desired(self) -> dict[str, t.Any]:
        """Return how the installation is asked, on this host or on localhost."""
        known = {"ovn_verify_central": members_of(self.groups, "ovn_central")}
        return desired_state(Overlaid(known, self.variables), self.hostvars, self.host)

    def asked_hosts(self) -> list[str]:
        """Return the central hosts that were asked in this run."""
        return [host for host in members_of(self.groups, "ovn_central") if "ovn_verify_info" in self.hostvars[host]]

    def is_cluster(self) -> bool:
        """Return whether the host stands for a Kubernetes cluster. What is called for one runs with the Python of the control node."""
        if self.options(Backend, alone=True).backend != "kubernetes":
            return False
        self.use_control_node_python()
        return True

    def use_control_node_python(self) -> None:
        """Call modules with the Python that has the library for Kubernetes, unless the inventory names another one."""
        python = first_value(
            self.hostvars[self.host],
            "ansible_python_interpreter",
            default=self.variables["ansible_playbook_python"],
        )
        self._task_vars = {**self._task_vars, "ansible_python_interpreter": python}
