# SPDX-License-Identifier: GPL-3.0-or-later
"""Add the pod of a guest to the inventory, for tasks that are delegated to it."""

from __future__ import annotations

import typing as t

from ..module_utils._roles.option_types import ClusterAccess, Specification
from ..module_utils._roles.ping import PingOptions
from ..plugin_utils._role_action import RoleAction


class ActionModule(RoleAction):
    ROLE = "ovn_ping"
    ARGUMENTS: t.ClassVar[Specification] = {
        "pod": {"type": "str", "required": True},
        "via": {"type": "str", "required": True},
    }
    _requires_connection = False

    def step(self) -> dict[str, t.Any]:
        access = self.options(ClusterAccess)
        variables = {
            "ansible_connection": "kubernetes.core.kubectl",
            "ansible_kubectl_kubeconfig": access.kubeconfig or "",
            "ansible_kubectl_context": access.context,
            "ansible_kubectl_namespace": self.options(PingOptions).namespace,
            "ansible_kubectl_pod": self.arguments["pod"],
            "ansible_python_interpreter": "/usr/bin/python3",
            "ansible_pipelining": True,
            "ansible_remote_tmp": "/tmp",  # nothing else of the pod can be written
            "ansible_become": False,
        }
        # As ansible.builtin.add_host, which would run for the first cluster alone.
        return {"add_host": {"host_name": self.arguments["via"], "groups": [], "host_vars": variables}}
