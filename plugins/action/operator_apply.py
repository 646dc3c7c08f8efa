# SPDX-License-Identifier: GPL-3.0-or-later
"""Install or remove the operator in the cluster that the host stands for."""

from __future__ import annotations

import typing as t

from ..module_utils._roles.operator import OperatorRoleOptions, operator_arguments
from ..module_utils._roles.rendered import changed_objects
from ..plugin_utils._progress import print_lines
from ..plugin_utils._role_action import RoleAction


class ActionModule(RoleAction):
    ROLE = "ovn_operator"

    def step(self) -> dict[str, t.Any]:
        arguments = operator_arguments(self.options(OperatorRoleOptions), self.host)
        applied = self.call("c5c3.ovn.ovn_operator", **arguments)
        if changes := changed_objects(applied["objects"]):
            print_lines("\n".join([f"{self.host}:", *changes]))
        return applied
