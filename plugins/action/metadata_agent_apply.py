# SPDX-License-Identifier: GPL-3.0-or-later
"""Write the settings of a metadata agent, and run it with them."""

from __future__ import annotations

import typing as t

from ..module_utils._roles.metadata_agent import MetadataAgentOptions, agent_host, desired_metadata_agent
from ..module_utils._roles.neutron_proxy import service_files
from ..plugin_utils._metadata_agent_action import MetadataAgentAction


class ActionModule(MetadataAgentAction):
    def step(self) -> dict[str, t.Any]:
        options = self.options(MetadataAgentOptions)
        place = (self.host, options, self.variables, self.hostvars, self.groups)
        host, _central = agent_host(*place, check_mode=self.check_mode)
        plan = self.variables["ovn_metadata_agent_plan"]
        agent = desired_metadata_agent(options, host, plan["files"])
        issued = self.variables.get("ovn_pki_state") or {}
        # In check mode only with one that stays, where something else is due, such as a CA.
        stays = not issued.get("needed", True) and host.southbound
        if plan["certificate_due"] and (stays or not self.check_mode):
            self.ask_southbound(agent, host, certificate_replaced=issued.get("needed", False))
        written = self.write_file(
            agent.config_file,
            agent.config,
            hidden=True,  # the shared secret
            owner="root",
            group=options.neutron_group,
            mode="0640",
        )
        # Before its files go, by which a run that follows a killed one knows it.
        results = [self.call("c5c3.ovn.ovn_units", units=agent.left_units)] if agent.left_units else []
        files = [*service_files([agent.unit], agent.config, has_secret=True), *agent.left_files]
        results.append(self.call("c5c3.ovn.ovn_units", files=files, units=agent.service_units))
        return {
            "changed": any(one["changed"] for one in (written, *results)),
            "actions": [action for one in results for action in one["actions"]],
            "diff": [diff for one in results for diff in one["diff"]],
        }
