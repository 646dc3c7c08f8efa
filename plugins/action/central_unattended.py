# SPDX-License-Identifier: GPL-3.0-or-later
"""Refuse an unattended run with an option that is meant for a single run."""

from __future__ import annotations

import dataclasses
import typing as t

from ..module_utils._base.errors import Refused
from ..plugin_utils._role_action import RoleAction


@dataclasses.dataclass(frozen=True)
class SingleRunOptions:
    """Options that allow an outage, or give data up. In an inventory that would be decided again every few minutes."""

    allow_outage: bool
    new_cluster: bool
    accept_rollback: bool
    accept_lost_disk: bool
    break_lock: bool
    force_conflicts: bool
    firewall_disconnect: bool


class ActionModule(RoleAction):
    ROLE = "ovn_central"
    _requires_connection = False

    def step(self) -> dict[str, t.Any]:
        given = dataclasses.asdict(self.options(SingleRunOptions))
        names = [f"ovn_central_{name}" for name, value in given.items() if value]
        if names:
            raise Refused(
                f"{', '.join(names)} {'is' if len(names) == 1 else 'are'} set for {self.host}. Each is meant for one run that somebody watches, so an "
                "unattended one does not start with it. Take it out of the inventory, and give it to a run of c5c3.ovn.site with -e where it is needed. "
                "Nothing was changed."
            )
        return {}
