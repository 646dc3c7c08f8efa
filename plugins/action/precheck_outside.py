# SPDX-License-Identifier: GPL-3.0-or-later
"""Choose the central host outside of a limited run whose version and chassis have to be known."""

from __future__ import annotations

import dataclasses
import typing as t

from ..module_utils._precheck.from_hostvars import PrecheckOptions, central_outside
from ..plugin_utils._role_action import RoleAction


class ActionModule(RoleAction):
    ROLE = "ovn_precheck"
    _requires_connection = False

    def step(self) -> dict[str, t.Any]:
        PrecheckOptions.of(dataclasses.asdict(self.options(PrecheckOptions)))  # an unknown code is an error
        hosts = self.variables["ansible_play_hosts_all"]
        return {"host": central_outside(self._task_vars["hostvars"], self.groups, hosts)}
