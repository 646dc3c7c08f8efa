# SPDX-License-Identifier: GPL-3.0-or-later
"""Check the options of a Neutron, and say whether a cluster has to be asked for the endpoints."""

from __future__ import annotations

import typing as t

from ..module_utils._roles.neutron import NeutronOptions, central_cluster
from ..plugin_utils._role_action import RoleAction


class ActionModule(RoleAction):
    ROLE = "ovn_neutron"
    _requires_connection = False

    def step(self) -> dict[str, t.Any]:
        options = self.options(NeutronOptions)
        return {
            "backend": options.backend,
            "asked_host": central_cluster(self.hostvars, self.groups),
            "helm_file": options.helm_file or "",
        }
