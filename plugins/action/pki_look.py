# SPDX-License-Identifier: GPL-3.0-or-later
"""List the machines that are asked before a CA or a certificate is changed; refuse a phase that may not begin."""

from __future__ import annotations

import typing as t

from ..module_utils._roles.option_types import Specification
from ..plugin_utils._pki_looks import LOOK_ARGUMENTS, LookAction


class ActionModule(LookAction):
    _requires_connection = False
    ARGUMENTS: t.ClassVar[Specification] = LOOK_ARGUMENTS

    def step(self) -> dict[str, t.Any]:
        return {"machines": self.looks(self.plan()).machines}
