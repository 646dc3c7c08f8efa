# SPDX-License-Identifier: GPL-3.0-or-later
"""Print what a run on central machines has to say, and fail if members have not joined."""

from __future__ import annotations

import typing as t

from ..module_utils._base.errors import Refused
from ..module_utils._roles.central_plan import timer_messages
from ..module_utils._roles.option_types import Specification
from ..plugin_utils._progress import print_lines
from ..plugin_utils._role_action import RoleAction

_PARTS = ("warnings", "timers", "joined")


class ActionModule(RoleAction):
    ROLE = "ovn_central"
    ARGUMENTS: t.ClassVar[Specification] = {
        "parts": {"type": "list", "elements": "str", "choices": list(_PARTS), "default": list(_PARTS)}
    }
    _requires_connection = False

    def step(self) -> dict[str, t.Any]:
        plan, desired = self.variables["ovn_central_plan"], self.variables["ovn_central_check"]["desired"]
        parts = self.arguments["parts"]
        messages = [
            *(plan["new_warnings"] if "warnings" in parts else ()),
            *(timer_messages(desired) if "timers" in parts else ()),
        ]
        if messages:
            print_lines("\n".join(messages))
        missing = [text for texts in plan["incomplete"].values() for text in texts]
        if missing and "joined" in parts:
            raise Refused("\n".join(missing))
        return {"lines": messages}
