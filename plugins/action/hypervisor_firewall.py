# SPDX-License-Identifier: GPL-3.0-or-later
"""Load, show or delete the firewall of a hypervisor."""

from __future__ import annotations

import typing as t

from ..module_utils._roles.firewall import desired_firewall, firewall_kept
from ..module_utils._roles.hypervisor_check import FirewallOptions, firewall_options
from ..module_utils._roles.option_types import Specification
from ..plugin_utils._progress import print_lines
from ..plugin_utils._role_action import RoleAction


class ActionModule(RoleAction):
    """On a central host it only lets in: the table and its unit are those of the role ovn_central.

    A former central host loses its rules here, unless a database is served or would start there: nobody opens the port of one by leaving a host out of a
    group.
    """

    ROLE = "ovn_hypervisor"
    ARGUMENTS: t.ClassVar[Specification] = {
        "show": {"type": "bool", "default": False},
        "central": {"type": "str", "default": ""},
    }

    def step(self) -> dict[str, t.Any]:
        if self.arguments["central"]:
            return self._let_in_on(self.arguments["central"])
        given = firewall_options(self.options(FirewallOptions), self.variables, self.host)
        firewall = desired_firewall(self.hostvars, self.groups, self.host, given, role="ovn_hypervisor")
        shows = self.arguments["show"]
        if shows and firewall["printed"]:
            rules = self.call("c5c3.ovn.ovn_firewall", ports=firewall["printed"])
            print_lines("\n".join([f"{self.host}:", *rules["ruleset"].splitlines()]))
        options = firewall["options"]
        results = []
        if options["state"] == "present":
            results.append(self.call("c5c3.ovn.ovn_firewall", **options))
        if options["purge"] and not shows:
            results.append(
                self.call(
                    "c5c3.ovn.ovn_units",
                    files=firewall["unit_files"],
                    units=firewall["units"],
                    keep_for=options["keep_for"],
                )
            )
        if options["state"] == "absent":
            results.append(self.call("c5c3.ovn.ovn_firewall", state="absent", keep_for=options["keep_for"]))
        kept = next((text for one in results if (text := firewall_kept(one, self.host))), "")
        reported = (self.variables.get("ovn_hypervisor_check") or {}).get("firewall_kept")
        if kept and (shows or not reported):
            print_lines(kept)
        return self.merged(results)

    def _let_in_on(self, central: str) -> dict[str, t.Any]:
        """Let the hypervisors of the inventory in on a central host, to which the task is delegated."""
        ports = desired_firewall(self.hostvars, self.groups, central)["options"]["ports"]
        found = self.call("c5c3.ovn.ovn_firewall", ports=ports, purge=False)
        return {name: value for name, value in found.items() if name != "invocation"}
