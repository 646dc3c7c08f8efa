# SPDX-License-Identifier: GPL-3.0-or-later
"""Show, open, load or delete the firewall of a central host."""

from __future__ import annotations

import typing as t

from ..module_utils._roles.central_check import CentralCheckOptions, firewall_given
from ..module_utils._roles.firewall import desired_firewall, firewall_kept
from ..module_utils._roles.option_types import Specification
from ..plugin_utils._progress import print_lines
from ..plugin_utils._role_action import RoleAction


class ActionModule(RoleAction):
    """Before anything new connects, it lets in whom the control plane needs, and shuts out nobody: a member that leaves takes part until it has left.

    A host outside of the group keeps its rules as long as a database is served or would start there.
    """

    ROLE = "ovn_central"
    ARGUMENTS: t.ClassVar[Specification] = {
        "purpose": {"type": "str", "choices": ["show", "open", "apply"], "default": "apply"}
    }

    def step(self) -> dict[str, t.Any]:
        given = firewall_given(self.options(CentralCheckOptions))
        firewall = desired_firewall(self.hostvars, self.groups, self.host, given, role="ovn_central")
        options, purpose = firewall["options"], self.arguments["purpose"]
        if purpose == "show":
            rules = self.call("c5c3.ovn.ovn_firewall", ports=firewall["printed"])
            print_lines("\n".join([f"{self.host}:", *rules["ruleset"].splitlines()]))
            return {}
        if purpose == "open":
            is_managed = options["state"] == "present"
            return self.call("c5c3.ovn.ovn_firewall", ports=options["ports"], purge=False) if is_managed else {}
        return self._apply(firewall)

    def _apply(self, firewall: dict[str, t.Any]) -> dict[str, t.Any]:
        options, results = firewall["options"], []
        if options["state"] == "present":
            results.append(self.call("c5c3.ovn.ovn_firewall", ports=options["ports"], keep_for=options["keep_for"]))
        units = {"files": firewall["unit_files"], "units": firewall["units"], "keep_for": options["keep_for"]}
        results.append(self.call("c5c3.ovn.ovn_units", **units))
        if options["state"] == "absent":
            results.append(self.call("c5c3.ovn.ovn_firewall", state="absent", keep_for=options["keep_for"]))
        if kept := next((text for one in results if (text := firewall_kept(one, self.host))), ""):
            print_lines(kept)
        return self.merged(results)
