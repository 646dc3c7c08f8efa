# SPDX-License-Identifier: GPL-3.0-or-later
"""Plan the phases of a rotation that are left, and record beside the CA which one is under way: a run that was killed goes on in it."""

from __future__ import annotations

import os
import typing as t

from ..module_utils._pki import files
from ..module_utils._roles.former_nodes import check_rotation, next_note, phase_note, remaining_message, rotation_plan
from ..module_utils._roles.option_types import Specification
from ..module_utils._roles.pki import CERTIFICATES, clusters_with_node_certificates
from ..module_utils._roles.pki_plan import HostPlan, check_introduction
from ..module_utils._roles.variables import Overlaid, members_of
from ..plugin_utils._pki_action import PkiAction

_FILE = "rotation.json"


class ActionModule(PkiAction):
    _requires_connection = False
    ARGUMENTS: t.ClassVar[Specification] = {
        "state": {"type": "str", "choices": ["planned", "begun", "done"], "default": "planned"},
        "phase": {"type": "str", "default": ""},
        "rotate": {"type": "list", "elements": "str", "default": []},
    }

    def step(self) -> dict[str, t.Any]:
        plan = self.plan()
        path = os.path.join(plan.options.ca_directory, _FILE)
        phase, rotate = self.arguments["phase"], self.arguments["rotate"]
        if self.arguments["state"] == "planned":
            return self._plan(plan, self.read_note(path))
        if self.arguments["state"] == "begun":
            return {"changed": self.write_note(path, phase_note(phase, rotate))}
        note = next_note(phase, rotate)
        if note:
            return {"changed": self.write_note(path, note)}
        there = os.path.lexists(path)
        if there and not self.check_mode:
            files.delete(path)
        return {"changed": there}

    def _plan(self, plan: HostPlan, note: str) -> dict[str, t.Any]:
        """Return the phases, and the hypervisor clusters whose nodes get other certificates in the phase switch. A given CA moves in its owner's runs."""
        options, rotates = plan.options, self.variables.get("ovn_pki_rotate")
        hosts = dict.fromkeys([*members_of(self.groups, "ovn_central"), *members_of(self.groups, "ovn_hypervisors")])
        left_out = [host for host in hosts if host not in self.variables["ansible_play_hosts"]]
        variables = Overlaid({"ovn_pki_ca_directory": options.ca_directory}, self.variables)
        check_rotation(left_out, options.ca_rotation, rotates, plan.files, variables)
        has_clients = bool(plan.clients()) or any(
            "ovn_metadata_agent_nova_host" in self.hostvars[host] for host in members_of(self.groups, "ovn_hypervisors")
        )
        if not plan.rotated:
            found: dict[str, t.Any] = {"phases": ["none"], "rotate": [CERTIFICATES], "last": True}
        else:
            check = self.check_mode
            found = rotation_plan(note, plan.files, rotates, has_clients=has_clients, check_mode=check)
            check_introduction(plan, found["rotate"])
        moves_nodes = "chassis" in found["rotate"] and not options.is_given("chassis")
        remaining = not found["last"] and has_clients and not self.check_mode
        return {
            **found,
            "node_clusters": clusters_with_node_certificates(self.hostvars, self.groups) if moves_nodes else [],
            "checks_nodes": moves_nodes,
            "remaining": remaining_message(found["phases"][-1], options.clients_directory) if remaining else "",
        }
