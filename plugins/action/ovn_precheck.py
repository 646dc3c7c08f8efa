# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import time
import typing as t

from ansible.plugins.action import ActionBase


class ActionModule(ActionBase):
    """The module of this name, and the time of the control node before and after: only both together tell how far a clock may be off."""

    def run(self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        result: dict[str, t.Any] = super().run(tmp, task_vars)
        sent = time.time()
        result.update(self._execute_module(task_vars=task_vars))
        return {**result, "control_clock": {"sent": sent, "received": time.time()}}
