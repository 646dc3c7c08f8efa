# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

Asks systemd of this host for its units, and tells it what to do with them.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import pathlib
import typing as t

from .._commands import Commands
from .._errors import OvnError
from .._units import OUR_DROP_IN, OURS, PROPERTIES, Unit, parse_show


def systemctl(commands: Commands, *arguments: str) -> str:
    """Return what systemctl prints; `OvnError` if it fails."""
    code, out, err = commands.run(["systemctl", *arguments])
    if code != 0:
        raise OvnError(
            f"systemctl {' '.join(arguments)} failed: {(err or out).strip()}. See: journalctl -u {arguments[-1]}"
        )
    return out


def read_units(commands: Commands, names: t.Sequence[str]) -> dict[str, Unit]:
    """Return the state of each unit, also of those that are not there."""
    units = parse_show(
        systemctl(commands, "show", "--timestamp=us+utc", f"--property={','.join(PROPERTIES)}", "--", *names)
    )
    if len(units) != len(names):
        raise OvnError(
            f"systemctl show printed {len(units)} of the units {', '.join(names)}. Is systemd running on this host?"
        )
    return {name: _with_process(unit) for name, unit in zip(names, units)}


def _with_process(unit: Unit) -> Unit:
    """Return the unit with the environment of its main process; a process that has just ended counts as not running."""
    process = pathlib.Path("/proc", str(unit.main_pid))
    if not unit.main_pid:
        return unit
    try:
        environment = frozenset((process / "environ").read_bytes().decode(errors="surrogateescape").split("\0"))
        replaced = os.readlink(process / "exe").endswith(" (deleted)")
    except OSError:
        return dataclasses.replace(unit, main_pid=0)
    return dataclasses.replace(
        unit, process_environment=environment, binary_replaced=replaced, predates_files=_predates_files(unit)
    )


def _predates_files(unit: Unit) -> bool:
    """Return whether the process started before one of our files of its unit was written; those of packages come and go without new settings."""
    written = []
    for path in unit.files:
        if OURS not in path and not path.endswith(OUR_DROP_IN):
            continue
        with contextlib.suppress(OSError):  # deleted meanwhile
            written.append(os.stat(path).st_mtime)
    return unit.started < max(written, default=0.0)
