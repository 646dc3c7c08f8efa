# SPDX-License-Identifier: GPL-3.0-or-later
"""Renew the lock for the step of a round, and write the state record that the step needs."""

from __future__ import annotations

import dataclasses
import typing as t

from ..module_utils._base.control_node import this_run
from ..plugin_utils._role_action import RoleAction


@dataclasses.dataclass(frozen=True)
class RecordOptions:
    """Options of the role that a state record needs."""

    election_timer: int


class ActionModule(RoleAction):
    """One call on each host: the module that writes the record renews the lock, and writes nothing without it."""

    ROLE = "ovn_central"

    def step(self) -> dict[str, t.Any]:
        plan, desired = self.variables["ovn_central_plan"], self.variables["ovn_central_check"]["desired"]
        seconds = desired["lock_seconds"]
        reason = (plan["step"] or {}).get("reason") or "write the state record"
        if plan["record"] is None:
            return self.call("c5c3.ovn.ovn_run_lock", holder=this_run(), step=reason, seconds=seconds, state="renewed")
        return self.call(
            "c5c3.ovn.ovn_raft_record",
            path=desired["databases"][plan["database"]]["record"],
            record=plan["record"],
            election_timer=self.options(RecordOptions).election_timer,
            lock_holder=this_run(),
            lock_step=reason,
            lock_seconds=seconds,
        )
