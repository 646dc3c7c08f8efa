# SPDX-License-Identifier: GPL-3.0-or-later
"""Create, switch or retire a CA in its directory on the control node."""

from __future__ import annotations

import os
import typing as t

from ..module_utils._base.errors import Refused
from ..module_utils._host.ca_directory import AuthorityDirectory, NewAuthority
from ..module_utils._roles.authority import SigningOptions, ca_directory_problem
from ..module_utils._roles.option_types import Specification
from ..plugin_utils._pki_action import PkiAction, container_signs, utc_now


class ActionModule(PkiAction):
    _requires_connection = False
    ARGUMENTS: t.ClassVar[Specification] = {
        "authority": {"type": "str", "choices": ["central", "chassis"], "required": True},
        "state": {"type": "str", "choices": ["created", "prepared", "switched", "retired"], "required": True},
        "former": {"type": "list", "elements": "str", "default": []},
    }

    def step(self) -> dict[str, t.Any]:
        options = self.signing_options()
        directory = self.directory_of(options, self.arguments["authority"])
        state = self.arguments["state"]
        if state in ("created", "prepared"):
            return self._create(directory, options, "active" if state == "created" else "next")
        path = directory.certificate("next" if state == "switched" else "previous")
        if self.check_mode:
            return {"changed": os.path.exists(path)}
        return {"changed": directory.switch() if state == "switched" else directory.retire(utc_now())}

    def _create(
        self, directory: AuthorityDirectory, options: SigningOptions, phase: t.Literal["active", "next"]
    ) -> dict[str, t.Any]:
        problem = ca_directory_problem(container_signs(), options.ca_directory, options.ca_directory_is_kept)
        if problem:
            raise Refused(problem)
        path = directory.certificate(phase)
        if self.check_mode:
            is_due = not os.path.exists(path)
            return {"changed": is_due, **({"msg": f"A CA would be created: {path}"} if is_due else {})}
        new = NewAuthority(
            options.ca_validity_days, options.passphrase(self.arguments["authority"]), self.arguments["former"]
        )
        return {"changed": directory.create(phase, new, utc_now())}
