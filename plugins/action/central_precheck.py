# SPDX-License-Identifier: GPL-3.0-or-later
"""Find what would stop the rollout of the control plane in the Kubernetes cluster that the host stands for."""

from __future__ import annotations

import typing as t

from ..module_utils._base.errors import OvnError
from ..module_utils._roles.central import CentralClusterOptions, CentralRolloutOptions, desired_cluster
from ..module_utils._roles.cluster_source import name_options
from ..module_utils._roles.pki import secret_of
from ..plugin_utils._role_action import RoleAction


class ActionModule(RoleAction):
    ROLE = "ovn_central"

    def step(self) -> dict[str, t.Any]:
        try:
            options, rollout = self.options(CentralClusterOptions), self.options(CentralRolloutOptions, alone=True)
            desired = desired_cluster(options, self.host, self.variables, self.hostvars, self.groups)
            return self.call(
                "c5c3.ovn.ovn_precheck_kubernetes",
                kind="cluster",
                own_secret=not secret_of(self.hostvars[self.host]).given,
                **rollout.place,
                **desired.source,
            )
        except OvnError as e:  # the report says it, beside the findings of other hosts
            return name_options(e, self.variables).as_result()
