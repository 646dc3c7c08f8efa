# SPDX-License-Identifier: GPL-3.0-or-later
"""Note that the rollout of a central host begins or has ended, and refuse to go on if it has not ended on all of them."""

from __future__ import annotations

import typing as t

from ..module_utils._base.errors import Refused
from ..module_utils._roles.central_plan import unfinished_hosts
from ..module_utils._roles.option_types import Specification
from ..module_utils._roles.variables import members_of
from ..plugin_utils._role_action import RoleAction


class ActionModule(RoleAction):
    """After a failed task Ansible ends the whole run, but after a host that became unreachable only the play."""

    ROLE = "ovn_central"
    ARGUMENTS: t.ClassVar[Specification] = {
        "phase": {"type": "str", "choices": ["begin", "end", "check"], "required": True}
    }
    _requires_connection = False

    def step(self) -> dict[str, t.Any]:
        phase = self.arguments["phase"]
        if phase != "check":
            return {"ended": phase == "end"}
        if unfinished := unfinished_hosts(self.hostvars, members_of(self.groups, "ovn_central")):
            raise Refused(
                f"The control plane was not rolled out: the run ended on {', '.join(unfinished)}, see above who could not be reached or failed. "
                "Nothing else is done."
            )
        return {}
