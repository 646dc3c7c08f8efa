# SPDX-License-Identifier: GPL-3.0-or-later
"""Apply the OVNChassis of the machines that are in the same Kubernetes cluster, from the first of them."""

from __future__ import annotations

import typing as t

from ..module_utils._roles.machine_resources import (
    ResourceOptions,
    heartbeat_interval,
    machine_resources,
)
from ..plugin_utils._hypervisor_action import HypervisorAction


class ActionModule(HypervisorAction):
    """One call for all machines of a cluster in this batch of the play. The status is unknown while the control node has no certificate."""

    def step(self) -> dict[str, t.Any]:
        options = self.options(ResourceOptions)
        chassis = machine_resources(self.hostvars, self.variables["ansible_play_batch"], self.host)
        if not chassis:
            return {}
        found = self.call(
            "c5c3.ovn.ovn_chassis_resources",
            kubeconfig=options.kubeconfig or None,
            context=options.context or None,
            name=options.cluster_name,
            namespace=options.namespace,
            chassis=chassis,
            southbound=self.variables["ovn_hypervisor_central"]["southbound"],
            tls_secret=(options.tls_secret or f"{options.cluster_name}-tls") if options.tls else None,
            heartbeat_interval=heartbeat_interval(self.host, self.variables, self.hostvars, self.groups),
            force_conflicts=options.force_conflicts,
        )
        return {name: value for name, value in found.items() if name != "invocation"}
