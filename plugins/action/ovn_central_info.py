# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run the module ovn_central_info, and print every ten seconds what it waits for."""

from __future__ import annotations

import typing as t

from ..plugin_utils._progress import WaitAction


class ActionModule(WaitAction):
    def waits_for(self, options: t.Mapping[str, t.Any]) -> str:
        return awaited(options)


def awaited(options: t.Mapping[str, t.Any]) -> str:
    """Return what the module waits for with these options."""
    raft = options.get("raft") or {}
    awaited = ["the databases and northd of this control plane to answer"]
    if raft.get("contents"):
        awaited.append("all rows of the members to be read")
    if options.get("heartbeat"):
        awaited.append("northd and the chassis to answer the heartbeat")
    return ", then for ".join(awaited)
