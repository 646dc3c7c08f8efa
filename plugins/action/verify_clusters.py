# SPDX-License-Identifier: GPL-3.0-or-later
"""Find out who sends the heartbeat of a report, and read the chassis of the hypervisor clusters."""

from __future__ import annotations

import typing as t

from ..module_utils._base.errors import OvnError
from ..module_utils._roles.variables import first_value, hosts_by_backend, members_of
from ..plugin_utils._verify_action import VerifyAction

_MACHINE = "ovn.c5c3.io/machine"  # machines answer for themselves


class ActionModule(VerifyAction):
    """Without a central host that was asked there is no report, and nothing is read for it."""

    def step(self) -> dict[str, t.Any]:
        if not self.asked_hosts():
            return {"sends": False, "clusters": {}}
        self.use_control_node_python()
        desired = self.desired()
        hypervisors = members_of(self.groups, "ovn_hypervisors")
        clusters = hosts_by_backend(hypervisors, self.hostvars)["kubernetes"]
        return {
            "sends": desired["sends_heartbeat"],
            "asked_from": desired["asked_from"],
            "clusters": {host: self._chassis(host) for host in clusters},
        }

    def _chassis(self, host: str) -> dict[str, t.Any]:
        variables = self.hostvars[host]
        instance = first_value(variables, "ovn_cluster_name", default="ovn")
        try:
            return self.call(
                "kubernetes.core.k8s_info",
                kubeconfig=first_value(variables, "ovn_kubeconfig") or None,
                context=first_value(variables, "ovn_context") or None,
                api_version="ovn.c5c3.io/v1alpha1",
                kind="OVNChassis",
                label_selectors=[f"app.kubernetes.io/instance={instance}", f"!{_MACHINE}"],
            )
        except OvnError as e:
            return e.as_result()
