# SPDX-License-Identifier: GPL-3.0-or-later
"""Read and complete the note of which clusters a CA has served. It is beside the CA, for it outlives central hosts; a given CA has no such place."""

from __future__ import annotations

import os
import typing as t

from ..module_utils._raft.founding_report import add_to_note
from ..module_utils._roles.option_types import Specification
from ..module_utils._roles.variables import members_of
from ..plugin_utils._pki_action import PkiAction, utc_now

_FILE = "clusters.json"


class ActionModule(PkiAction):
    _requires_connection = False
    ARGUMENTS: t.ClassVar[Specification] = {"cluster_ids": {"type": "dict", "default": {}}}

    def step(self) -> dict[str, t.Any]:
        plan = self.plan()
        path = os.path.join(plan.options.ca_directory, _FILE)
        text = "" if plan.authority["given"] else self.read_note(path)
        changed = False
        if self.arguments["cluster_ids"] and plan.authority["active"]:
            members, now = members_of(self.groups, "ovn_central"), f"{utc_now():%Y-%m-%dT%H:%M:%SZ}"
            desired = add_to_note(text, path, self.arguments["cluster_ids"], members, now)
            changed = desired != text and self.write_note(path, desired)
        return {"changed": changed, "path": path, "text": text}
