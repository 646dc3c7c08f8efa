# SPDX-License-Identifier: GPL-3.0-or-later
"""Write the logical switch of the guests, or remove it."""

from __future__ import annotations

import typing as t

from ..module_utils._roles.option_types import Specification
from ..module_utils._roles.ping import PingOptions, check_guests, choose_remover, choose_writer, play_guests
from ..plugin_utils._role_action import RoleAction


class ActionModule(RoleAction):
    ROLE = "ovn_ping"
    ARGUMENTS: t.ClassVar[Specification] = {"state": {"choices": ["present", "absent"], "default": "present"}}

    def step(self) -> dict[str, t.Any]:
        options = self.options(PingOptions)
        hosts = self.variables["ansible_play_hosts"]
        guests = []
        if self.arguments["state"] == "present":
            guests = play_guests(self.hostvars, hosts)
            check_guests(guests, options.nodes)
        # Hosts that failed in the test itself are no hosts of the play any more.
        elif self.host != choose_remover(self.hostvars, [*hosts, *self.variables["ansible_play_hosts_all"]]):
            return {}
        writer = choose_writer(self.hostvars, self.groups, self.host, options.northbound_endpoints)
        written = self.call(
            "c5c3.ovn.ovn_test_network",
            name=options.name,
            state=self.arguments["state"],
            ports=[guest["port"] for guest in guests],
            **writer.arguments,
        )
        return {"changed": written["changed"], "written": written["written"]}
