# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

Units that do not run now and would start daemons of the control plane with the host. Only what their commands say counts.
"""

from __future__ import annotations

import os
import re
import typing as t

from .._errors import OvnError
from .._processes.supervisor import Supervisor
from .command_line import parse_command_line

_OURS = "c5c3-ovn-"
_LIST = ("list-unit-files", "--type=service", "--state=enabled,enabled-runtime", "--no-legend", "--plain")
_ARGUMENTS = re.compile(r"argv\[\]=(.*?) ; ignore_errors=")
# What a command of ovn-ctl starts; start_northd starts the databases as well, unless it is told not to.
_STARTED = {
    "run_nb_ovsdb": ("northbound",),
    "run_sb_ovsdb": ("southbound",),
    "start_nb_ovsdb": ("northbound",),
    "start_sb_ovsdb": ("southbound",),
    "start_ovsdb": ("northbound", "southbound"),
    "start_northd": ("northd", "northbound", "southbound"),
}
_FILES = {"northbound": "--db-nb-file", "southbound": "--db-sb-file"}

Systemctl = t.Callable[..., str]  # runs systemctl with these arguments, returns its output


class StoppedUnit(t.NamedTuple):
    """`commands` are those that systemd executes when the unit starts, as words, with the names of variables in the place of their values."""

    name: str
    commands: tuple[tuple[str, ...], ...]

    def starts(self, daemon: str, file: str) -> bool:
        """Return whether it starts `daemon`, a database in this file (`northbound`, `southbound`) or `northd`."""
        return any(_starts(command, daemon, file) for command in self.commands)


def _starts(words: t.Sequence[str], daemon: str, file: str) -> bool:
    programs = {os.path.basename(word) for word in words}
    if daemon == "northd" and "ovn-northd" in programs:
        return True
    if "ovsdb-server" in programs and file and file in words:
        return True
    if "ovn-ctl" not in programs:
        return False
    command = parse_command_line(words)
    if command.value("--ovn-manage-ovsdb") == "no" and daemon != "northd":
        return False
    started = {one for word in words for one in _STARTED.get(word, ())}
    return daemon in started and command.value(_FILES.get(daemon, "")) in ("", file)


def read_stopped_units(systemctl: Systemctl) -> list[StoppedUnit]:
    """Return the units of services that start with this host and have no process now, without those of the collection.

    One that has a process is known by that: what it runs in another network or container is nobody's business here.
    """
    names = [line.split()[0] for line in systemctl(*_LIST).splitlines() if line.strip()]
    others = [name for name in names if not name.startswith(_OURS) and "@." not in name]  # a template starts nothing
    return parse_units(systemctl("show", "--property=Id,MainPID,ExecStart", "--", *others)) if others else []


def parse_units(text: str) -> list[StoppedUnit]:
    """Parse the output of `systemctl show --property=Id,MainPID,ExecStart`: a block for each unit, with a line for each of its commands."""
    units = []
    for block in text.strip().split("\n\n"):
        values = dict(line.split("=", 1) for line in block.splitlines() if "=" in line)
        commands = tuple(tuple(arguments.split()) for arguments in _ARGUMENTS.findall(block))
        if values.get("Id") and values.get("MainPID") == "0":
            units.append(StoppedUnit(values["Id"], commands))
    return units


def units_of_container(output: t.Callable[..., str], supervisor: Supervisor, name: str) -> list[str]:
    """Return the units that start this container, now or with the host; `OvnError` if it cannot be known. Kolla writes one for each container."""
    lines = output("systemctl", "list-unit-files", "--type=service", "--no-legend", "--plain").splitlines()
    names = [line.split()[0] for line in lines if line.strip()]
    shown = [one for one in names if not one.startswith(_OURS) and "@." not in one]
    text = (
        output("systemctl", "show", "--property=Id,ActiveState,UnitFileState,ExecStart", "--", *shown) if shown else ""
    )
    if not text:
        raise OvnError("units of systemd cannot be read, which could start it again")
    found = {supervisor.unit} if supervisor.unit else set()
    for block in text.strip().split("\n\n"):
        values = dict(line.split("=", 1) for line in block.splitlines() if "=" in line)
        starts = any(_runs_container(words.split(), supervisor.runtime, name) for words in _ARGUMENTS.findall(block))
        rests = values.get("ActiveState") in ("inactive", "failed") and values.get("UnitFileState") in (
            "disabled",
            "masked",
        )
        if starts and not rests:
            found.add(values["Id"])
    return sorted(found)


def _runs_container(words: t.Sequence[str], runtime: str, name: str) -> bool:
    programs = {os.path.basename(word) for word in words}
    return runtime in programs and (name in words or f"--name={name}" in words)
