# SPDX-License-Identifier: GPL-3.0-or-later
"""Return the hosts that this central host searches for an older control plane before a cluster is created."""

from __future__ import annotations

import typing as t

from ..module_utils._roles.central_plan import RaftOptions, search_share
from ..module_utils._roles.variables import members_of
from ..plugin_utils._role_action import RoleAction


class ActionModule(RoleAction):
    ROLE = "ovn_central"
    _requires_connection = False

    def step(self) -> dict[str, t.Any]:
        options = self.options(RaftOptions)
        members = members_of(self.groups, "ovn_central")
        hypervisors = members_of(self.groups, "ovn_hypervisors")
        hosts = self.variables["ansible_play_hosts"]
        return {"share": search_share(members, options, hypervisors, hosts, self.host, self.hostvars)}
