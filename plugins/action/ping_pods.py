# SPDX-License-Identifier: GPL-3.0-or-later
"""Start the pods of the guests in a cluster."""

from __future__ import annotations

import typing as t

from ..module_utils._roles.ping import PingOptions
from ..plugin_utils._role_action import RoleAction


class ActionModule(RoleAction):
    ROLE = "ovn_ping"

    def step(self) -> dict[str, t.Any]:
        options = self.options(PingOptions)
        plan = self.variables["ovn_ping_plan"]
        results = []
        if plan["pods_to_delete"]:
            results.append(self.apply_objects(plan["pods_to_delete"], state="absent", wait_timeout=60))
        # In check mode a pod that would be deleted is still there, and the API server refuses to change it. A removal goes on past a guest that does not
        # start: it cannot be unplugged then, which is reported in the end.
        if plan["objects"] and not (self.check_mode and plan["pods_to_delete"]):
            timeout = max(options.wait_timeout, 60)
            forgiving = options.state == "absent"
            results.append(self.apply_objects(plan["objects"], wait_timeout=timeout, continue_on_error=forgiving))
        changed = any(result["changed"] for result in results)
        return {"changed": changed, "predicted": changed and self.check_mode, "objects": _objects(results)}


def _objects(results: list[dict[str, t.Any]]) -> list[dict[str, t.Any]]:
    """Return the objects of these results; that of a single definition is not in a list."""
    found = [result.get("result") or {} for result in results]
    return [one.get("result") or {} for result in found for one in result.get("results", [{"result": result}])]
