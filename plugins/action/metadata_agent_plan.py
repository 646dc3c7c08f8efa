# SPDX-License-Identifier: GPL-3.0-or-later
"""Read a compute node and the Southbound, and refuse what forbids a metadata agent there, before anything is changed."""

from __future__ import annotations

import typing as t

from ..module_utils._base.errors import Refused
from ..module_utils._roles.metadata_agent import (
    MetadataAgentOptions,
    agent_host,
    desired_metadata_agent,
    host_questions,
    is_certificate_due,
    unit_problem,
)
from ..plugin_utils._metadata_agent_action import MetadataAgentAction


class ActionModule(MetadataAgentAction):
    def step(self) -> dict[str, t.Any]:
        options = self.options(MetadataAgentOptions)
        place = (self.host, options, self.variables, self.hostvars, self.groups)
        host, central = agent_host(*place, check_mode=self.check_mode)
        agent = desired_metadata_agent(options, host)
        declared = self.variables.get("ovn_pki_declared") or {} if options.tls else {}
        found = self.call("c5c3.ovn.ovn_host_info", **host_questions(agent, declared))
        # In check mode the control plane may still be missing.
        unusable = central["problem"] if central["asked"] and (host.southbound or not self.check_mode) else ""
        unit = unit_problem(self.host, options.program, agent.unit, found["units"][0])
        problems = [problem for problem in (unusable or "\n".join(agent.problems), unit) if problem]
        if problems:
            raise Refused("\n".join(problems))
        due = is_certificate_due(options, declared, found["certificates"])
        # With a certificate that is about to be replaced nobody may be let in: one that has expired, or of a former CA.
        if not due and (host.southbound or not self.check_mode):
            self.ask_southbound(agent, host)
        return {"certificate_due": due, "files": list(found["files"])}
