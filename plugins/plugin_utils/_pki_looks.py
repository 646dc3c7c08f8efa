# SPDX-License-Identifier: GPL-3.0-or-later
"""Who is asked before a CA or a certificate is changed, for the steps that list the machines and that ask the clusters and judge."""

from __future__ import annotations

import abc

from ..module_utils._roles.option_types import Specification
from ..module_utils._roles.pki_plan import (
    HostPlan,
    Looks,
    evidence_looks,
    issuer_looks,
    phase_looks,
    verified_looks,
)
from ._pki_action import PkiAction

LOOK_ARGUMENTS: Specification = {
    "purpose": {"type": "str", "choices": ["created", "moved", "issued", "clients", "verified"], "required": True},
    "accesses": {"type": "list", "elements": "str", "default": []},
}


class LookAction(PkiAction, abc.ABC):
    def looks(self, plan: HostPlan) -> Looks:
        """Return whom the purpose of the task has to ask; `accesses` are those of the clients whose certificates come from another CA."""
        purpose = self.arguments["purpose"]
        if purpose == "created":
            return evidence_looks(plan, self.variables["ansible_play_hosts"])
        if purpose == "moved":
            return phase_looks(plan)
        if purpose == "verified":
            return verified_looks(plan)
        if purpose == "issued":
            connects_only = plan.desired["certificate"] == "chassis"
            own = plan.authority
            return issuer_looks(plan, own["issuer"], own["name"], connects_only=connects_only)
        found = Looks([], [])
        for authority in (plan.authorities[access] for access in self.arguments["accesses"]):
            looks = issuer_looks(plan, authority["issuer"], authority["name"], connects_only=True, is_client=True)
            found = Looks(found.machines + looks.machines, found.clusters + looks.clusters)
        return found
