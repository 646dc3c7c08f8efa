# SPDX-License-Identifier: GPL-3.0-or-later
"""Print the lines of all pings."""

from __future__ import annotations

import typing as t

from ..module_utils._roles.ping import report_lines
from ..plugin_utils._progress import print_lines
from ..plugin_utils._role_action import RoleAction


class ActionModule(RoleAction):
    ROLE = "ovn_ping"
    _requires_connection = False

    def step(self) -> dict[str, t.Any]:
        lines = report_lines(self.hostvars, self.variables["ansible_play_hosts"])
        if lines:
            print_lines("\n".join(lines))
        return {"lines": lines}
