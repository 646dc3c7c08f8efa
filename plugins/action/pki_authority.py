# SPDX-License-Identifier: GPL-3.0-or-later
"""Create the CAs that are missing, or prepare, switch or retire those of the declared phase, in their directory on the control node."""

from __future__ import annotations

import os
import typing as t

from ..module_utils._host.ca_directory import AuthorityDirectory, NewAuthority, Phase
from ..module_utils._pki.issuing import AuthorityName
from ..module_utils._roles.authority import SigningOptions, ca_directory_problem
from ..module_utils._roles.option_types import Specification
from ..module_utils._roles.pki_plan import HostPlan, created_authorities
from ..plugin_utils._pki_action import PkiAction, container_signs, utc_now


class ActionModule(PkiAction):
    _requires_connection = False
    ARGUMENTS: t.ClassVar[Specification] = {
        "state": {"type": "str", "choices": ["created", "moved"], "required": True},
        "trust": {"type": "dict", "default": {}},
    }

    def step(self) -> dict[str, t.Any]:
        plan, options = self.plan(), self.signing_options()
        if self.arguments["state"] == "created":
            former: t.Mapping[AuthorityName, str] = {"central": "bundles", "chassis": "client_bundles"}
            trust = self.arguments["trust"]
            return self._create(
                options,
                "active",
                {name: trust[former[name]] for name in created_authorities(plan, trust["trusting"])},
            )
        return self._move(plan, options)

    def _move(self, plan: HostPlan, options: SigningOptions) -> dict[str, t.Any]:
        rotates: t.Sequence[AuthorityName] = plan.authority["rotates"]
        rotation = plan.options.phase
        if rotation == "prepare":
            return self._create(options, "next", {name: [] for name in rotates if not plan.files[name].get("next")})
        changed = False
        for directory in (self.directory_of(options, name) for name in rotates):
            if self.check_mode:
                changed |= os.path.exists(directory.certificate("next" if rotation == "switch" else "previous"))
            else:
                changed |= directory.switch() if rotation == "switch" else directory.retire(utc_now())
        return {"changed": changed}

    def _create(
        self, options: SigningOptions, phase: Phase, former: t.Mapping[AuthorityName, t.Sequence[str]]
    ) -> dict[str, t.Any]:
        directories = {name: self.directory_of(options, name) for name in former}
        if directories:
            self.refuse(ca_directory_problem(container_signs(), options.ca_directory, options.ca_directory_is_kept))
        if self.check_mode:
            paths = [one.certificate(phase) for one in directories.values()]
            due = [path for path in paths if not os.path.exists(path)]
            return {"changed": bool(due), **({"msg": f"A CA would be created: {', '.join(due)}"} if due else {})}
        changed = [self._created(one, options, phase, former[name]) for name, one in directories.items()]
        return {"changed": any(changed)}

    @staticmethod
    def _created(directory: AuthorityDirectory, options: SigningOptions, phase: Phase, former: t.Sequence[str]) -> bool:
        new = NewAuthority(options.ca_validity_days, options.passphrase(directory.name), former)
        return directory.create(phase, new, utc_now())
