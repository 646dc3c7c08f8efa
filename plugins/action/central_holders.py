# SPDX-License-Identifier: GPL-3.0-or-later
"""Return which other runs hold the lock of the control plane, from what each host has answered."""

from __future__ import annotations

import dataclasses
import typing as t

from ..module_utils._base.control_node import has_ended
from ..plugin_utils._role_action import RoleAction


@dataclasses.dataclass(frozen=True)
class LockOptions:
    """Options of the role that concern the lock."""

    lock_wait_timeout: int


class ActionModule(RoleAction):
    """A run of this control node whose process has ended holds nobody up: `ended` names it, and the next run takes over from it."""

    ROLE = "ovn_central"
    _requires_connection = False

    def step(self) -> dict[str, t.Any]:
        limit = self.options(LockOptions, alone=True).lock_wait_timeout
        answers = {
            host: self.hostvars[host].get("ovn_central_lock") or {} for host in self.variables["ansible_play_hosts"]
        }
        held = {host: answer for host, answer in answers.items() if answer.get("held_by")}
        holders = list(dict.fromkeys(answer["held_by"]["holder"] for answer in held.values()))
        ended = [name for name in holders if has_ended(name)]
        goes_on = "Its process on this control node has ended, so this run goes on at once."
        waits = f"This run waits for it, at most {limit} s."
        return {
            "holders": holders,
            "ended": ended,
            "messages": {
                host: f"{answer['msg']} {goes_on if answer['held_by']['holder'] in ended else waits}"
                for host, answer in held.items()
            },
            "busy": next((one["msg"] for one in held.values() if one["held_by"]["holder"] not in ended), ""),
        }
