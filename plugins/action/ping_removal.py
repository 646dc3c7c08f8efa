# SPDX-License-Identifier: GPL-3.0-or-later
"""Remove the pods of the guests, and name what could not be removed."""

from __future__ import annotations

import typing as t

from ..module_utils._base.errors import Refused
from ..module_utils._roles.ping import PingOptions, guests_left, judge_removal
from ..plugin_utils._role_action import RoleAction


class ActionModule(RoleAction):
    ROLE = "ovn_ping"

    def step(self) -> dict[str, t.Any]:
        options = self.options(PingOptions)
        pods: list[dict[str, t.Any]] = []
        if options.backend == "kubernetes":
            labels = [f"app.kubernetes.io/name={options.name}", "app.kubernetes.io/component=ping"]
            found = self.call_cluster(
                "kubernetes.core.k8s_info", kind="Pod", namespace=options.namespace, label_selectors=labels
            )
            pods = found["resources"]
        # The pod of a guest that is still plugged in stays, for the next run to unplug it there.
        left = guests_left(self.variables["ovn_ping_unplugged"])
        removal = judge_removal(left, self.variables["ovn_ping_switch"], pods)
        changed = False
        if removal["objects"]:
            deleted = self.apply_objects(removal["objects"], state="absent", wait_timeout=60)
            changed = deleted["changed"]
        if removal["remains"]:
            raise Refused(
                f"Not everything of the test network {options.name} could be removed. {'; '.join(removal['remains'])}. Run again with "
                "ovn_ping_state=absent when they answer. For one that never comes back, delete its Node (Kubernetes then deletes the pod of the guest), or "
                "take the machine out of the inventory."
            )
        return {"changed": changed}
