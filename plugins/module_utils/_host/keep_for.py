# SPDX-License-Identifier: GPL-3.0-or-later
"""Finds what still needs something that is to be taken away: the option `keep_for` of `ovn_units` and `ovn_firewall`."""

from __future__ import annotations

import os
import typing as t

from .._machine.commands import Commands
from .._machine.systemd_units import reason_to_keep
from .systemctl import read_units

OPTION: dict[str, t.Any] = {
    "type": "dict",
    "options": {
        "files": {"type": "list", "elements": "path", "default": []},
        "units": {"type": "list", "elements": "str", "default": []},
    },
}


def read_reasons_to_keep(keep_for: t.Mapping[str, t.Any] | None, commands: Commands) -> list[str]:
    """Return which of the files are there, and which of the units run or would start with the machine. `keep_for` has the form of the option."""
    if keep_for is None:
        return []
    reasons = [f"{path} is there" for path in keep_for["files"] if os.path.lexists(path)]
    units = read_units(commands, keep_for["units"]) if keep_for["units"] else {}
    return reasons + [reason for reason in map(reason_to_keep, units.values()) if reason]
