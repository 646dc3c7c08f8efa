# SPDX-License-Identifier: GPL-3.0-or-later
"""Plan the guests of a hypervisor, and who writes their network."""

from __future__ import annotations

import typing as t

import ansible.constants as C

from ..module_utils._roles.ping import PingOptions, choose_writer, desired_state
from ..plugin_utils._role_action import RoleAction

_PODS = ["app.kubernetes.io/component in (ovs, controller, ping)"]


class ActionModule(RoleAction):
    ROLE = "ovn_ping"

    def step(self) -> dict[str, t.Any]:
        options = self.options(PingOptions)
        writer = choose_writer(self.hostvars, self.groups, self.host, options.northbound_endpoints)
        pods: list[dict[str, t.Any]] = []
        chassis: list[dict[str, t.Any]] = []
        present = options.state != "absent"
        if options.backend == "kubernetes":
            info = "kubernetes.core.k8s_info"
            pods = self.call_cluster(info, kind="Pod", namespace=options.namespace, label_selectors=_PODS)["resources"]
            if present:
                # A chassis has the name of its Node unless an annotation says otherwise.
                found = self.call_cluster(info, api_version="ovn.c5c3.io/v1alpha1", kind="OVNChassis")
                chassis = found["resources"]
        return {
            **desired_state(options, self.host, self.groups, pods, chassis),
            "present": present,
            "remove": options.state != "present",
            "name": options.name,
            "count": options.count,
            "mtu": options.mtu,
            "max_loss": options.max_loss,
            "wait_timeout": options.wait_timeout,
            "writer": {
                "host": writer.host,
                "become": writer.become,
                "interpreter": self._interpreter(writer.host),
            },
        }

    def _interpreter(self, host: str) -> str:
        """Return the Python of a host, that of Ansible for the control node, since only that has its libraries."""
        variables = self.hostvars[host]
        if host == "localhost":
            return str(variables.get("ansible_python_interpreter") or self.variables["ansible_playbook_python"])
        return str(C.config.get_config_value("INTERPRETER_PYTHON", variables=variables))
