# SPDX-License-Identifier: GPL-3.0-or-later
"""Measure what a machine has for its part, or ask a central host outside of the run for version and chassis."""

from __future__ import annotations

import dataclasses
import time
import typing as t

from ..module_utils._base.errors import OvnError
from ..module_utils._precheck.from_hostvars import PrecheckOptions, measurement_of_host
from ..module_utils._roles.option_types import Specification
from ..plugin_utils._progress import print_while_waiting
from ..plugin_utils._role_action import RoleAction

_AWAITED = "the ports of other hosts, the archives and Open vSwitch to answer"


class ActionModule(RoleAction):
    ROLE = "ovn_precheck"
    ARGUMENTS: t.ClassVar[Specification] = {"central": {"type": "str", "default": ""}}

    def step(self) -> dict[str, t.Any]:
        given = dataclasses.asdict(self.options(PrecheckOptions))
        central = self.arguments["central"]
        # What cannot be rendered is a finding of its host, so the variables are read as Ansible has them.
        measured = measurement_of_host(self._task_vars["hostvars"], self.groups, central or self.host, given)
        if central:
            measured = {"packages": ["ovn-central"], "southbound": measured.get("southbound")}
        if not measured:
            return {"skipped": True}
        sent = time.time()
        try:
            with print_while_waiting(_AWAITED, self._task_vars):
                found = self.call("c5c3.ovn.ovn_precheck", **measured)
        except OvnError as e:  # the report says it
            found = e.as_result()
        # Only with the time of the control node before and after it can be told how far a clock may be off.
        return {**found, "control_clock": {"sent": sent, "received": time.time()}}
