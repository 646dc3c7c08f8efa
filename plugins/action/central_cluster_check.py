# SPDX-License-Identifier: GPL-3.0-or-later
"""Check that the options fit a control plane in Kubernetes, and name the chassis whose certificates have to be read before relays give them a role."""

from __future__ import annotations

import typing as t

from ..module_utils._base.errors import Refused
from ..module_utils._roles.central import CentralClusterOptions, CentralRolloutOptions, desired_cluster
from ..module_utils._roles.option_types import Specification
from ..plugin_utils._role_action import RoleAction


class ActionModule(RoleAction):
    ROLE = "ovn_central"
    ARGUMENTS: t.ClassVar[Specification] = {"reads_cluster": {"type": "bool", "default": False}}

    def step(self) -> dict[str, t.Any]:
        options, rollout = self.options(CentralClusterOptions), self.options(CentralRolloutOptions, alone=True)
        desired = desired_cluster(options, self.host, self.variables, self.hostvars, self.groups)
        if desired.problem:
            raise Refused(desired.problem)
        if not (self.arguments["reads_cluster"] and desired.chassis_certificates):
            return {"chassis": []}
        found = self.call("c5c3.ovn.ovn_cluster_info", **rollout.place, cluster_domain=rollout.cluster_domain)
        relay = ((found.get("cluster") or {}).get("spec") or {}).get("relay") or {}
        return {"chassis": desired.chassis_certificates if found["exists"] and not relay.get("rbac") else []}
