# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes, masks, enables, starts and restarts units of systemd, in the form of `ovn_units`. What to do is decided in `_machine/systemd_units.py`."""

from __future__ import annotations

import os
import typing as t

from .._base.errors import InvalidInput, Refused
from .._machine.commands import Commands
from .._machine.systemd_units import DesiredUnit, enabling_warnings, not_loaded_units, running_masked, systemctl_verbs
from .._pki.files import Ownership, activate, attribute_problem, delete, read, write_pending
from .systemctl import OPTION as KEEP_FOR
from .systemctl import predict_unit, read_reasons_to_keep, read_units, systemctl

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
    "keep_for": KEEP_FOR,
}
_UNCHANGED_OWNER = Ownership(None, None)


def apply_units(params: t.Mapping[str, t.Any], commands: Commands, *, check_mode: bool) -> dict[str, t.Any]:
    """Return the result of `ovn_units`; `Refused` if a unit runs that is not ours to stop, `OvnError` if systemctl fails."""
    kept_for: list[str] = []
    kept = _without_removals(params)
    if params["keep_for"] is not None and kept != params:
        predicted = _apply(params, commands, check_mode=True)
        if not predicted["changed"]:
            return {**predicted, "kept_for": []}
        kept_for = read_reasons_to_keep(params["keep_for"], commands)
    return {**_apply(kept if kept_for else params, commands, check_mode=check_mode), "kept_for": kept_for}


def _without_removals(params: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """Return the options without what deletes a file or ends a unit."""
    return {
        **params,
        "files": [file for file in params["files"] if file["state"] == "present"],
        "units": [unit for unit in params["units"] if unit["enabled"] is not False and unit["state"] != "stopped"],
    }


def _apply(params: t.Mapping[str, t.Any], commands: Commands, *, check_mode: bool) -> dict[str, t.Any]:
    desired = [DesiredUnit(name, masked=True) for name in params["masked"]]
    desired += [DesiredUnit(**unit) for unit in params["units"]]
    names = [one.name for one in desired]
    units = read_units(commands, names) if names else {}
    foreign = [] if params["stop_masked"] else running_masked(desired, units)
    if foreign:
        raise Refused(
            f"{', '.join(foreign)} runs on this host and was not started by this collection, so it is not stopped either. Nothing was changed here. "
            f"Back up what it holds, stop it when its users can do without it (systemctl stop {' '.join(foreign)}), then run again."
        )
    present = [file for file in params["files"] if file["state"] == "present" and not _is_skipped(file)]
    diffs = _write_files(present, check_mode)
    if check_mode:
        texts = {file["path"]: file["content"] for file in present}
        written = {diff["after_header"] for diff in diffs}
        units = {name: predict_unit(unit, name, texts, written) for name, unit in units.items()}
    elif diffs and names:
        units = read_units(commands, names)
    if any(unit.needs_reload for unit in units.values()) and not check_mode:
        systemctl(commands, "daemon-reload")
        units = read_units(commands, names)
    verbs = []
    for one in desired:
        unit = units[one.name]
        for verb in systemctl_verbs(one, unit):
            verbs.append(f"{verb} {one.name}" + (f" ({unit.outdated})" if verb == "restart" else ""))
            if not check_mode:
                systemctl(commands, verb, one.name)
    deleted = _delete_files([file["path"] for file in params["files"] if file["state"] == "absent"], check_mode)
    if deleted and not check_mode:
        systemctl(commands, "daemon-reload")
    actions = [f"write {diff['after_header']}" for diff in diffs] + verbs
    actions += [f"delete {diff['before_header']}" for diff in deleted]
    diffs += [*deleted, {"before": "", "after": "".join(f"{verb}\n" for verb in verbs)}]
    return {
        "changed": bool(actions),
        "actions": actions,
        "not_loaded": not_loaded_units(desired, units),
        "diff": diffs,
        "warnings": enabling_warnings(desired, units),
    }


def _is_skipped(file: t.Mapping[str, t.Any]) -> bool:
    return bool(file["skip_without_directory"] and not os.path.isdir(os.path.dirname(file["path"])))


def _write_files(files: t.Iterable[t.Mapping[str, t.Any]], check_mode: bool) -> list[dict[str, str]]:
    """Write the files that differ (not in check mode); return a diff for each of them."""
    diffs = []
    for file in files:
        path, content = file["path"], file["content"].encode()
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
