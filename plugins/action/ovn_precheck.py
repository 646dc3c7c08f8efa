# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import time
import typing as t

from ..plugin_utils._progress import WaitAction


class ActionModule(WaitAction):
    """The module of this name, and the time of the control node before and after: only both together tell how far a clock may be off."""

    def waits_for(self, options: t.Mapping[str, t.Any]) -> str:
        return "the ports of other hosts, the archives and Open vSwitch to answer"

    def _execute_module(self, *given: t.Any, **named: t.Any) -> dict[str, t.Any]:
        sent = time.time()
        result: dict[str, t.Any] = super()._execute_module(*given, **named)
        return {**result, "control_clock": {"sent": sent, "received": time.time()}}
