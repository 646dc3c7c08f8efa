# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

Writes, masks, enables, starts and restarts units of systemd, in the form of `ovn_units`. What to do is decided in `_units`.
"""

from __future__ import annotations

import dataclasses
import os
import pathlib
import typing as t

from .._commands import Commands
from .._errors import InvalidInput, OvnError, Refused
from .._pki.files import Ownership, activate, attribute_problem, delete, read, write_pending
from .._units import PROPERTIES, DesiredUnit, Unit, parse_show, running_masked, systemctl_verbs

OPTIONS: dict[str, dict[str, t.Any]] = {
    "files": {
        "type": "list",
        "elements": "dict",
        "default": [],
        "options": {
            "path": {"type": "path", "required": True},
            "content": {"type": "str"},
            "mode": {"type": "str", "default": "0644"},
            "skip_without_directory": {"type": "bool", "default": False},
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
        },
        "required_if": [("state", "present", ["content"])],
    },
    "masked": {"type": "list", "elements": "str", "default": []},
    "stop_masked": {"type": "bool", "default": True},
    "units": {
        "type": "list",
        "elements": "dict",
        "default": [],
        "options": {
            "name": {"type": "str", "required": True},
            "enabled": {"type": "bool"},
            "state": {"type": "str", "choices": ["started", "stopped"]},
        },
    },
}
_UNCHANGED_OWNER = Ownership(None, None)


def apply_units(params: t.Mapping[str, t.Any], commands: Commands, *, check_mode: bool) -> dict[str, t.Any]:
    """Return the result of `ovn_units`; `Refused` if a unit runs that is not ours to stop, `OvnError` if systemctl fails."""
    desired = [DesiredUnit(name, masked=True) for name in params["masked"]]
    desired += [DesiredUnit(**unit) for unit in params["units"]]
    names = [one.name for one in desired]
    units = _read_units(commands, names) if names else {}
    foreign = [] if params["stop_masked"] else running_masked(desired, units)
    if foreign:
        raise Refused(
            f"{', '.join(foreign)} runs on this host and was not started by this collection, so it is not stopped either. Nothing was changed here. "
            f"Back up what it holds, stop it when its users can do without it (systemctl stop {' '.join(foreign)}), then run again."
        )
    diffs = _write_files((file for file in params["files"] if file["state"] == "present"), check_mode)
    if diffs and names and not check_mode:
        units = _read_units(commands, names)
    if any(unit.needs_reload for unit in units.values()) and not check_mode:
        _systemctl(commands, "daemon-reload")
        units = _read_units(commands, names)
    verbs = []
    for one in desired:
        unit = units[one.name]
        for verb in systemctl_verbs(one, unit):
            verbs.append(f"{verb} {one.name}" + (f" ({unit.outdated})" if verb == "restart" else ""))
            if not check_mode:
                _systemctl(commands, verb, one.name)
    deleted = _delete_files([file["path"] for file in params["files"] if file["state"] == "absent"], check_mode)
    if deleted and not check_mode:
        _systemctl(commands, "daemon-reload")
    actions = [f"write {diff['after_header']}" for diff in diffs] + verbs
    actions += [f"delete {diff['before_header']}" for diff in deleted]
    diffs += [*deleted, {"before": "", "after": "".join(f"{verb}\n" for verb in verbs)}]
    return {"changed": bool(actions), "actions": actions, "diff": diffs}


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
    return dataclasses.replace(unit, process_environment=environment, binary_replaced=replaced)


def _systemctl(commands: Commands, *arguments: str) -> str:
    code, out, err = commands.run(["systemctl", *arguments])
    if code != 0:
        raise OvnError(
            f"systemctl {' '.join(arguments)} failed: {(err or out).strip()}. See: journalctl -u {arguments[-1]}"
        )
    return out


def _read_units(commands: Commands, names: list[str]) -> dict[str, Unit]:
    units = parse_show(_systemctl(commands, "show", f"--property={','.join(PROPERTIES)}", "--", *names))
    if len(units) != len(names):
        raise OvnError(
            f"systemctl show printed {len(units)} of the units {', '.join(names)}. Is systemd running on this host?"
        )
    return {name: _with_process(unit) for name, unit in zip(names, units)}


def _write_files(files: t.Iterable[t.Mapping[str, t.Any]], check_mode: bool) -> list[dict[str, str]]:
    """Write the files that differ (not in check mode); return a diff for each of them."""
    diffs = []
    for file in files:
        path, content = file["path"], file["content"].encode()
        if file["skip_without_directory"] and not os.path.isdir(os.path.dirname(path)):
            continue
        try:
            mode = int(file["mode"], 8)
        except ValueError as e:
            raise InvalidInput(f"The mode of {path} is {file['mode']}: give an octal number such as '0644'.") from e
        before = read(path)
        if before == content:
            problem = attribute_problem(path, mode, _UNCHANGED_OWNER)
            if problem is None:
                continue
            diffs.append({"before_header": path, "after_header": path, "before": f"{problem}\n", "after": ""})
        else:
            old = (before or b"").decode(errors="replace")
            diffs.append({"before_header": path, "after_header": path, "before": old, "after": file["content"]})
        if not check_mode:
            write_pending(path, content, mode, _UNCHANGED_OWNER)
            activate(path)
    return diffs


def _delete_files(paths: t.Iterable[str], check_mode: bool) -> list[dict[str, str]]:
    """Delete the files that are there (not in check mode); return a diff for each of them. systemd stops and disables a unit only while it has its file."""
    diffs = []
    for path in paths:
        before = read(path)
        if before is None:
            continue
        diffs.append(
            {"before_header": path, "after_header": path, "before": before.decode(errors="replace"), "after": ""}
        )
        if not check_mode:
            delete(path)
    return diffs
