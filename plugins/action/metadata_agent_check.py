# SPDX-License-Identifier: GPL-3.0-or-later
"""Check the options of a metadata agent, and say which certificate it needs and whether a cluster has to be asked for the endpoints."""

from __future__ import annotations

import dataclasses
import typing as t

from ..module_utils._base.errors import Refused
from ..module_utils._roles.metadata_agent import MetadataAgentOptions, agent_host, desired_metadata_agent
from ..module_utils._roles.variables import members_of
from ..plugin_utils._role_action import RoleAction


class ActionModule(RoleAction):
    ROLE = "ovn_metadata_agent"
    _requires_connection = False

    def step(self) -> dict[str, t.Any]:
        options = self.options(MetadataAgentOptions)
        place = (self.host, options, self.variables, self.hostvars, self.groups)
        host, central = agent_host(*place, check_mode=self.check_mode)
        if central["asked"]:  # its endpoints are still to be read
            host = dataclasses.replace(host, endpoints_follow=True)
        agent = desired_metadata_agent(options, host)
        if agent.problems:
            raise Refused("\n".join(agent.problems))
        asked = central["asked"] and not central["published"]
        return {
            "tls": options.tls,
            "chassis": agent.chassis,
            "directory": agent.directory,
            "group": options.neutron_group,
            "asked_host": members_of(self.groups, "ovn_central")[0] if asked else "",
        }
