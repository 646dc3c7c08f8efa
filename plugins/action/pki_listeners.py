# SPDX-License-Identifier: GPL-3.0-or-later
"""Check between the phases of a rotation that every port of the central machines serves its certificate and lets in those of this host."""

from __future__ import annotations

import typing as t

from ..module_utils._base.errors import Refused
from ..module_utils._pki.issuing import AuthorityName
from ..module_utils._roles.former_nodes import expected_listeners
from ..module_utils._roles.option_types import Specification
from ..module_utils._roles.pki import is_present
from ..module_utils._roles.variables import hosts_by_backend, members_of
from ..plugin_utils._pki_action import PkiAction


class ActionModule(PkiAction):
    ARGUMENTS: t.ClassVar[Specification] = {"phase": {"type": "str", "required": True}}

    def step(self) -> dict[str, t.Any]:
        plan = self.plan()
        machines = hosts_by_backend(members_of(self.groups, "ovn_central"), self.hostvars)["host"]
        serials = {
            host: str((self.hostvars[host].get("ovn_pki_served") or {}).get("serial_number") or "") for host in machines
        }
        accesses: list[AuthorityName] = []
        if machines and plan.desired["backend"] == "host":
            is_hypervisor = self.host in members_of(self.groups, "ovn_hypervisors")
            accesses += ["central"] if self.host in machines else []
            accesses += ["chassis"] if is_hypervisor and is_present(self.variables) else []
        refusing = [problem for access in accesses for problem in self._problems(plan.pair_directory, access, serials)]
        if refusing:
            raise Refused(
                f"Phase {self.arguments['phase']} is not done: with the certificates of {self.host}, {'; '.join(refusing)}. The next phase was not begun. "
                "Look at these servers, then run again."
            )
        return {}

    def _problems(self, directory: str, access: AuthorityName, serials: t.Mapping[str, str]) -> list[str]:
        found = self.call(
            "c5c3.ovn.ovn_listeners_info",
            listeners=expected_listeners(serials, self.hostvars, access),
            private_key=f"{directory}/{access}-key.pem",
            certificate=f"{directory}/{access}-cert.pem",
            ca_certificate=f"{directory}/ca.pem",
        )
        return [one["problem"] for one in found["listeners"] if one["problem"]]
