# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

The processes of ovsdb-server and ovn-northd on this host, and what keeps them running. Read only.
"""

from __future__ import annotations

import os
import pathlib
import re
import typing as t

from .._databases import DATABASE_NAMES
from .._errors import Refused
from .._processes.proc import PROC, RunningProgram, examining_process, running_programs
from .._processes.supervisor import Supervisor
from .command_line import CommandLine, parse_command_line

_NORTHD = "ovn-northd"
_PROGRAMS = ("ovsdb-server", _NORTHD)
# The first line of a member's file and the schema of a standalone one name the database.
_NAME = re.compile(rb'"name":\s*"(OVN_(?:North|South)bound)"')
_ADDRESS = re.compile(rb'"local_address":\s*"([^"]+)"')
_HEAD_BYTES = 2**18
_CLUSTER_MAGIC = b"OVSDB CLUSTER"


class ControlPlaneProcess(t.NamedTuple):
    """`name` is northbound, southbound or northd. `root` is how its files are reached from here, empty if they are ours as well.

    `address` is the Raft address in a member's file.
    """

    name: str
    pid: int
    supervisor: Supervisor
    command: CommandLine
    root: str = ""
    file: str = ""
    clustered: bool = False
    address: str = ""


def find_processes() -> list[ControlPlaneProcess]:
    """Return the daemons of OVN's control plane in the network of this host, by name and process id. Those of other networks concern nobody here.

    `OvnError` if it cannot be known whether there are others.
    """
    found = []
    for program in running_programs(_PROGRAMS):
        with examining_process():
            process = _examine(program)
            if process is not None:
                found.append(process)
    return sorted(found, key=lambda process: (process.name, process.pid))


def find_server(file: str) -> ControlPlaneProcess | None:
    """Return the server of this database file, None if none runs. A container may have the same file under another path."""
    return next((p for p in find_processes() if p.file and is_same_file(p.root + p.file, file)), None)


def find_contained(database: str, address: str) -> ControlPlaneProcess | None:
    """Return the member of a database that runs in a container with files of its own, None without one.

    `address` is the Raft address of the member, empty if it is not known. `Refused` if there are several.
    """
    found = [
        process
        for process in find_processes()
        if process.name == database
        and process.clustered
        and process.root
        and process.supervisor.kind == "container"
        and address in ("", process.address)
    ]
    if len(found) > 1:
        raise Refused(
            f"{database} runs in several containers of this host: {', '.join(str(one.supervisor) for one in found)}. Stop those that are not "
            "members of the cluster, then run again. Nothing was changed."
        )
    return found[0] if found else None


def control_socket(process: ControlPlaneProcess) -> str:
    """Return the path of the control socket, as the process sees it; of a daemon without the option it has the process id in its name."""
    given = process.command.value("--unixctl")
    directory = os.path.dirname(given) or "/run/ovn"
    name = os.path.basename(given) or f"ovn-northd.{process.pid}.ctl"
    # /var/run is a link to /run.
    return os.path.join(directory if process.root else os.path.realpath(directory), name)


def database_socket(process: ControlPlaneProcess) -> str:
    """Return the path of the Unix socket for clients, as the process sees it; empty without one."""
    return next((r.partition(":")[2] for r in process.command.remotes if r.startswith("punix:")), "")


def is_same_file(one: str, other: str) -> bool:
    try:
        return os.path.samefile(one, other)
    except (FileNotFoundError, NotADirectoryError):
        return False


def _examine(program: RunningProgram) -> ControlPlaneProcess | None:
    words, directory = program.arguments, PROC / str(program.pid)
    if not words or " " in words[0]:  # a parent with --monitor has a title instead of arguments
        return None
    command = parse_command_line(words[1:])
    root = "" if _is_same_namespace(directory, "mnt") or _has_our_root(directory) else str(directory / "root")
    if program.program == _NORTHD:
        return ControlPlaneProcess("northd", program.pid, program.supervisor, command, root)
    for file in command.files:
        path = os.path.normpath(os.path.join(os.readlink(directory / "cwd"), file))
        head = _read_head(root + path)
        name = _NAME.search(head)
        if name is not None:
            database = next(key for key, value in DATABASE_NAMES.items() if value == name[1].decode())
            clustered = head.startswith(_CLUSTER_MAGIC)
            own = _ADDRESS.search(head) if clustered else None
            address = own[1].decode(errors="replace") if own else ""
            return ControlPlaneProcess(
                database, program.pid, program.supervisor, command, root, path, clustered, address
            )
    return None


def _read_head(path: str) -> bytes:
    """Return the beginning of a database file; nothing if there is none, as for `relay:…` or a file that was removed."""
    try:
        with open(path, "rb") as stream:
            return stream.read(_HEAD_BYTES)
    except (FileNotFoundError, NotADirectoryError):
        return b""


def _is_same_namespace(directory: pathlib.Path, namespace: str) -> bool:
    return os.readlink(directory / "ns" / namespace) == os.readlink(PROC / "self" / "ns" / namespace)


def _has_our_root(directory: pathlib.Path) -> bool:
    """Return whether its files are those that we see: a unit with a private /tmp has a mount namespace of its own, too."""
    theirs, ours = os.stat(directory / "root"), os.stat("/")
    return (theirs.st_dev, theirs.st_ino) == (ours.st_dev, ours.st_ino)
