# SPDX-License-Identifier: GPL-3.0-or-later
"""Roll out the control plane in the Kubernetes cluster that the host stands for, or say that another run is at work."""

from __future__ import annotations

import typing as t

from ..module_utils._base.errors import OvnError, Refused
from ..module_utils._roles.central import (
    YIELDS,
    CentralClusterOptions,
    CentralRolloutOptions,
    certificate_name_problem,
    desired_cluster,
    rollout_arguments,
)
from ..module_utils._roles.cluster_source import name_options
from ..module_utils._roles.option_types import Specification
from ..module_utils._roles.rendered import changed_objects
from ..module_utils._roles.variables import is_true
from ..plugin_utils._progress import PrintsProgress, print_lines
from ..plugin_utils._role_action import RoleAction


class ActionModule(PrintsProgress, RoleAction):
    ROLE = "ovn_central"
    ARGUMENTS: t.ClassVar[Specification] = {"chassis": {"type": "list", "elements": "dict", "default": []}}

    def step(self) -> dict[str, t.Any]:
        options, rollout = self.options(CentralClusterOptions), self.options(CentralRolloutOptions, alone=True)
        desired = desired_cluster(options, self.host, self.variables, self.hostvars, self.groups)
        if problem := desired.problem or certificate_name_problem(self.arguments["chassis"]):
            raise Refused(problem)
        try:
            with self.printed_progress(self._task_vars):
                found = self.call("c5c3.ovn.ovn_cluster", **rollout_arguments(rollout, desired, self.variables))
        except OvnError as e:
            if is_true(self.variables, YIELDS) and "holder" in e.details:
                return {**e.as_result(), "busy": str(e), "endpoints": {}}
            raise name_options(e, self.variables) from None
        if changes := [*found.get("steps", ()), *changed_objects(found["objects"])]:
            print_lines("\n".join([f"{self.host}:", *changes]))
        # Not the resource and what members answered: ansible-core 2.16 renders the whole of it for each host that looks for the endpoints.
        names = ["changed", "steps", "objects", "diff"]
        read = {name: found[name] for name in names if name in found}
        return {"endpoints": found.get("endpoints") or {}, **read, "busy": ""}
