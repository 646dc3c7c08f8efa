# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run the module ovn_raft_member, and print every ten seconds what it waits for."""

from __future__ import annotations

import typing as t

from ..plugin_utils._progress import WaitAction


def awaited(state: str, database: t.Any, server_id: t.Any) -> str:
    """Return what a step of a member waits for."""
    if state in ("started", "restarted"):
        return f"the {database} member on this host to take part in its cluster"
    if state == "stopped":
        return f"the {database} member on this host to end"
    if state == "kicked":
        return f"the {database} cluster to remove server {server_id}"
    if state == "waited":
        return f"the {database} member on this host to change its state"
    return f"the {database} member on this host to answer"


class ActionModule(WaitAction):
    def waits_for(self, options: t.Mapping[str, t.Any]) -> str:
        return awaited(options.get("state", "examined"), options.get("database"), options.get("server_id"))
