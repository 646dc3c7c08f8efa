# SPDX-License-Identifier: GPL-3.0-or-later
"""Find the hosts of the ping and refuse a ping of nobody."""

from __future__ import annotations

import typing as t

from ..module_utils._roles.ping import HostsOptions, check_hosts
from ..plugin_utils._role_action import RoleAction


class ActionModule(RoleAction):
    ROLE = "ovn_ping"
    _requires_connection = False

    def step(self) -> dict[str, t.Any]:
        options = self.options(HostsOptions)
        lookup = self._shared_loader_obj.lookup_loader.get(
            "ansible.builtin.inventory_hostnames", loader=self._loader, templar=self._templar
        )
        matched: list[str] = lookup.run([options.hosts], variables={"groups": self.groups})
        of_run = set(self.variables["ansible_play_hosts_all"])
        hosts = [host for host in matched if host in of_run]
        check_hosts(hosts, self.hostvars, options, limit=str(self.variables.get("ansible_limit") or ""))
        return {"hosts": hosts}
