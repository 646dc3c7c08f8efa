# SPDX-License-Identifier: GPL-3.0-or-later
"""Send a heartbeat through the installation from one central host, whose own members take part if there is such a host."""

from __future__ import annotations

import typing as t

from ..module_utils._roles.verify import HeartbeatOptions
from ..plugin_utils._progress import print_while_waiting
from ..plugin_utils._verify_action import VerifyAction
from .ovn_sync import AWAITED


class ActionModule(VerifyAction):
    def step(self) -> dict[str, t.Any]:
        options, desired = self.options(HeartbeatOptions, alone=True), self.desired()
        with print_while_waiting(AWAITED, self._task_vars):
            return self.call(
                "c5c3.ovn.ovn_sync",
                northbound=desired["sockets"]["northbound"] + desired["northbound_endpoints"],
                southbound=desired["sockets"]["southbound"] + desired["southbound_endpoints"],
                **desired["files"],
                wait_for=desired["wait_for"],
                timeout=options.timeout,
            )
