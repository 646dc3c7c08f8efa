# SPDX-License-Identifier: GPL-3.0-or-later
"""Which files the services of Neutron on this host are started with, in the form of `ovn_host_info`. What that means is decided in
`_neutron/config_files.py`.
"""

from __future__ import annotations

import glob
import os
import pathlib
import shlex
import typing as t

from .._machine.commands import Commands, text_if_readable
from .._machine.systemd_units import command_lines, read_blocks
from .._neutron.config_files import (
    Reading,
    config_arguments,
    config_problem,
    config_warnings,
    files_in_order,
)
from .._neutron.ini import Sections, parse_ini
from .systemctl import systemctl

OPTIONS: dict[str, dict[str, t.Any]] = {
    "services": {"type": "list", "elements": "str", "required": True},
    "config_file": {"type": "path", "required": True},
    "config": {"type": "str", "required": True, "no_log": True},
}
_PROPERTIES = ("Id", "LoadState", "MainPID", "Environment", "ExecStart")


def read_neutron_config(params: t.Mapping[str, t.Any], commands: Commands) -> dict[str, t.Any]:
    """Return `problem`, why Neutron would not run with our settings, empty if it would, and `warnings`. `OvnError` if systemd does not answer."""
    path, ours = os.path.normpath(params["config_file"]), parse_ini(params["config"])
    text = systemctl(commands, "show", f"--property={','.join(_PROPERTIES)}", "--", *params["services"])
    units = [(values, block) for values, block in read_blocks(text) if values.get("LoadState") == "loaded"]
    readings = [one for one in (_reading(values, block, path, ours) for values, block in units) if one]
    return {"problem": config_problem(readings, ours, path), "warnings": config_warnings(readings, ours, path)}


def _reading(values: t.Mapping[str, str], block: str, path: str, ours: Sections) -> Reading | None:
    """Return what a service reads; None if that cannot be known: it reads other files than the usual ones, and does not say which."""
    commands = " ".join(command_lines(block))
    process = pathlib.Path("/proc", values.get("MainPID") or "0")
    arguments = config_arguments(commands, text_if_readable(process / "cmdline"))
    if arguments is None:
        return None
    declared = shlex.split(values.get("Environment", ""))
    texts = [*declared, *text_if_readable(process / "environ").split("\0")]
    environment = {name: value for name, _sign, value in (one.partition("=") for one in texts)}
    program = values["Id"].rpartition(".")[0]

    def listing(folder: str) -> list[str]:
        found = set(glob.glob(os.path.join(glob.escape(folder), "*.conf")))
        return sorted(found | ({path} if _is_in(path, folder) else set()))

    order = files_in_order(arguments, program, environment, listing)
    if path not in order and not arguments:
        return None
    last = {file: place for place, file in enumerate(order)}  # a file that is read twice counts where it is read last
    files = [
        (file, ours if file == path else parse_ini(text_if_readable(file)))
        for file in sorted(last, key=last.__getitem__)
        if file == path or os.path.isfile(file)
    ]
    place = next((number for number, (file, _sections) in enumerate(files) if file == path), None)
    return Reading(values["Id"], files, place, [folder for kind, folder in arguments if kind == "dir"])


def _is_in(path: str, folder: str) -> bool:
    return os.path.dirname(path) == os.path.normpath(folder) and path.endswith(".conf")
