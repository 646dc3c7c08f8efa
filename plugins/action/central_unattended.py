# SPDX-License-Identifier: GPL-3.0-or-later
"""Refuse an unattended run with an option that is meant for a single run."""

from __future__ import annotations

import dataclasses
import typing as t

from ..module_utils._base.errors import Refused
from ..module_utils._roles.option_types import unattended_problem
from ..plugin_utils._role_action import RoleAction


@dataclasses.dataclass(frozen=True)
class SingleRunOptions:
    """Options that allow an outage, or give data up. In an inventory that would be decided again every few minutes."""

    permit: list[str]
    break_lock: bool
    force_conflicts: bool


class ActionModule(RoleAction):
    ROLE = "ovn_central"
    _requires_connection = False

    def step(self) -> dict[str, t.Any]:
        problem = unattended_problem(self.host, self.options(SingleRunOptions), "ovn_central_", "c5c3.ovn.site")
        if problem:
            raise Refused(problem)
        return {}
