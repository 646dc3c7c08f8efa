# SPDX-License-Identifier: GPL-3.0-or-later
"""Judge all hosts of the play together, print the report, and fail if there are findings."""

from __future__ import annotations

import dataclasses
import typing as t

from ..module_utils._base.errors import Refused
from ..module_utils._precheck.from_hostvars import PrecheckOptions, precheck
from ..plugin_utils._progress import print_lines
from ..plugin_utils._role_action import RoleAction


class ActionModule(RoleAction):
    ROLE = "ovn_precheck"
    _requires_connection = False

    def step(self) -> dict[str, t.Any]:
        given = dataclasses.asdict(self.options(PrecheckOptions))
        hosts = self.variables["ansible_play_hosts_all"]
        found = precheck(self._task_vars["hostvars"], self.groups, hosts, given)
        text = "\n".join(found["lines"])
        print_lines(text)
        if found["findings"]:
            raise Refused(text, **found)
        return found
