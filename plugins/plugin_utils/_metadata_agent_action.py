# SPDX-License-Identifier: GPL-3.0-or-later
"""The base of the steps of the role ovn_metadata_agent that ask the Southbound for the chassis."""

from __future__ import annotations

import abc

from ..module_utils._base.errors import OvnError, Refused
from ..module_utils._roles.metadata_agent import TIMEOUT, AgentHost, DesiredMetadataAgent, southbound_problem
from ._role_action import RoleAction


class MetadataAgentAction(RoleAction, abc.ABC):
    ROLE = "ovn_metadata_agent"

    def ask_southbound(
        self, agent: DesiredMetadataAgent, host: AgentHost, *, certificate_replaced: bool = False
    ) -> None:
        """Raise `Refused` if the agent could not work with the Southbound, or is not to have a row there."""
        try:
            answer = self.call(
                "c5c3.ovn.ovn_database_info",
                database="southbound",
                endpoints=list(host.southbound),
                tables=["Chassis_Private"],
                columns=["name"],
                where={"name": agent.chassis},
                timeout=TIMEOUT,
                **agent.files,
            )
        except OvnError as e:
            answer = {"msg": str(e)}
        problem = southbound_problem(answer, self.host, agent.chassis, certificate_replaced=certificate_replaced)
        if problem:
            raise Refused(problem)
