# SPDX-License-Identifier: GPL-3.0-or-later
"""Finds what still needs something that is to be taken away: the option `keep_for` of `ovn_units` and `ovn_firewall`."""

from __future__ import annotations

import dataclasses
import os
import pathlib
import typing as t

from .._base.errors import OvnError
from .._machine.commands import Commands, text_if_readable
from .._machine.systemd_units import PROPERTIES, Unit, is_file_of, is_our_file, parse_show, reason_to_keep, with_files
from .._pki.files import Ownership, activate, attribute_problem, read, write_pending

# Asks systemd of this host for its units, and tells it what to do with them.

# Installs the program of the observer on a machine.

_MODE, _OWNER = 0o644, Ownership(None, None)


def install_program(path: str, content: bytes, *, check_mode: bool = False) -> bool:
    """Write `content` to `path` at once or not at all, unless it is there; return whether that was, or is, necessary. `OvnError` if it cannot be written."""
    if read(path) == content and attribute_problem(path, _MODE, _OWNER) is None:
        return False
    if not check_mode:
        write_pending(path, content, _MODE, _OWNER)
        activate(path)
    return True


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
    return unit.started < max(map(_written, filter(is_our_file, unit.files)), default=0.0)


def _written(path: str) -> float:
    """Return when a file was written, in seconds since 1970; 0 if it is gone."""
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0


def predict_unit(unit: Unit, name: str, texts: t.Mapping[str, str], written: t.Container[str]) -> Unit:
    """Return the unit as it will be with these files, paths to texts, of which `written` are not on disk yet, or have another text there.

    Those that are there count where systemd does not know its files: a run may have ended between writing them and telling it. Otherwise it has read them, and
    what a file beside them replaces stays replaced.
    """
    own = {
        path: text for path, text in texts.items() if is_file_of(name, path) and (unit.needs_reload or path in written)
    }
    if not own and not unit.needs_reload:
        return unit
    newer = any(path in written or unit.started < _written(path) for path in own if is_our_file(path))
    others = {path: text_if_readable(path) for path in unit.files if path not in own}
    return with_files(unit, own, others, newer=newer)


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
