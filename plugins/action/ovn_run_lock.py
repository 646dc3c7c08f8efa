# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run the module ovn_run_lock for this run, unless its holder is named, and print every ten seconds what it waits for."""

from __future__ import annotations

import typing as t

from ..module_utils._base.control_node import this_run
from ..plugin_utils._progress import WaitAction


class ActionModule(WaitAction):
    def run(self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        self._task.args.setdefault("holder", this_run())
        result: dict[str, t.Any] = super().run(tmp, task_vars)
        return result

    def waits_for(self, options: t.Mapping[str, t.Any]) -> str:
        return "the run that holds the lock of the control plane" if options.get("wait_timeout") else ""
