# SPDX-License-Identifier: GPL-3.0-or-later
"""Find what would stop the rollout of the chassis of a Kubernetes cluster. It only reads."""

from __future__ import annotations

import typing as t

from ..module_utils._roles.pki import secret_of
from ..plugin_utils._hypervisor_action import HypervisorAction


class ActionModule(HypervisorAction):
    def step(self) -> dict[str, t.Any]:
        options, desired = self.desired_hypervisors()
        if options.state != "present":
            return {"skipped": True}
        found = self.call_cluster(
            "c5c3.ovn.ovn_precheck_kubernetes",
            kind="hypervisors",
            namespace=options.namespace,
            name=options.cluster_name,
            spec=desired.spec,
            tls_secret=desired.tls_secret if options.tls else None,
            own_secret=not secret_of(self.hostvars[self.host]).given,
        )
        return {name: value for name, value in found.items() if name != "invocation"}
