# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run the module ovn_raft_status, and print every ten seconds what it waits for."""

from __future__ import annotations

import typing as t

from ..plugin_utils._progress import WaitAction


class ActionModule(WaitAction):
    def waits_for(self, options: t.Mapping[str, t.Any]) -> str:
        database = options.get("database")
        if options.get("wait_for") == "quorum":
            return f"the {database} cluster to have a quorum"
        if options.get("wait_for") == "healthy":
            return f"the {database} cluster to be healthy"
        if options.get("contents"):
            return f"all rows of the {database} members to be read"
        return f"the {database} members to answer"
