# SPDX-License-Identifier: GPL-3.0-or-later
"""Apply to AWX what the folder awx describes."""

from __future__ import annotations

import pathlib
import typing as t

from ansible.module_utils.common.yaml import yaml_load

from ..module_utils._roles.awx import AwxOptions, awx_arguments
from ..plugin_utils._progress import print_lines
from ..plugin_utils._role_action import RoleAction

_FILES = pathlib.Path(__file__).resolve().parents[2] / "awx"


class ActionModule(RoleAction):
    ROLE = "ovn_awx"

    def step(self) -> dict[str, t.Any]:
        files = [yaml_load(path.read_bytes()) for path in sorted(_FILES.glob("*.yml"))]
        applied = self.call("c5c3.ovn.ovn_awx", **awx_arguments(self.options(AwxOptions), files))
        if applied["objects"]:
            print_lines("\n".join(f"{change['action']} {change['object']}" for change in applied["objects"]))
        return applied
