# SPDX-License-Identifier: GPL-3.0-or-later
"""The processes of ovsdb-server and ovn-northd on this host, and what keeps them running. Read only."""

from __future__ import annotations

import dataclasses
import errno
import os
import pathlib
import re
import stat
import typing as t

from .._base.databases import DATABASE_NAMES
from .._base.errors import OvnError
from .._machine.proc import PROC, RunningProgram, examining_process, open_files, running_programs
from .._machine.supervisor import Supervisor

# What the command line of a running ovsdb-server or ovn-northd says: files, listeners, sockets, TLS (ovsdb-server(1), ovn-northd(8)). Pure.

# Whether the value of an option may be the next word, must be behind an equals sign, or does not exist. tests/integration/test_processes.py compares
# this with what the programs say of themselves.
REQUIRED, OPTIONAL, NO_VALUE = "required", "optional", "none"
_COMMON = {
    **dict.fromkeys(("--unixctl", "--user", "--syslog-method", "--syslog-target"), REQUIRED),
    **dict.fromkeys(("--private-key", "--certificate", "--ca-cert"), REQUIRED),
    **dict.fromkeys(("--ssl-protocols", "--ssl-ciphers", "--ssl-ciphersuites"), REQUIRED),
    **dict.fromkeys(("--pidfile", "--log-file", "--verbose"), OPTIONAL),
    **dict.fromkeys(("--detach", "--monitor", "--no-chdir", "--overwrite-pidfile", "--no-self-confinement"), NO_VALUE),
    **dict.fromkeys(("--help", "--version"), NO_VALUE),
}
OPTIONS = {
    "ovsdb-server": {
        **_COMMON,
        **dict.fromkeys(("--remote", "--run", "--sync-from", "--sync-exclude-tables", "--config-file"), REQUIRED),
        **dict.fromkeys(("--bootstrap-ca-cert", "--peer-ca-cert"), REQUIRED),
        **dict.fromkeys(("--record", "--replay"), OPTIONAL),
        **dict.fromkeys(("--active", "--no-dbs", "--disable-file-column-diff"), NO_VALUE),
    },
    "ovn-northd": {
        **_COMMON,
        **dict.fromkeys(("--ovnnb-db", "--ovnsb-db", "--n-threads"), REQUIRED),
        **dict.fromkeys(("--dry-run", "--options"), NO_VALUE),
    },
}
_SHORT = {"-p": "--private-key", "-c": "--certificate", "-C": "--ca-cert"}


@dataclasses.dataclass(frozen=True)
class CommandLine:
    """`files` are the databases, in order. `options` maps a long option to its values, in order; one without a value has an empty one."""

    files: tuple[str, ...]
    options: dict[str, tuple[str, ...]]

    def value(self, option: str) -> str:
        """Return the value that counts, the last one; empty without the option."""
        return self.options.get(option, ("",))[-1]

    @property
    def remotes(self) -> tuple[str, ...]:
        return self.options.get("--remote", ())


def parse_command_line(arguments: t.Sequence[str], program: str = "") -> CommandLine:
    """Return what the arguments after the program's name say, read as getopt_long(3) does.

    The options of another program than those in OPTIONS have their values behind equals signs.
    """
    known = OPTIONS.get(program, {})
    files: list[str] = []
    options: dict[str, tuple[str, ...]] = {}
    words = iter(arguments)
    for word in words:
        if word == "--":
            files += words
            break
        if word[:2] in _SHORT:
            name, value = _SHORT[word[:2]], word[2:] or next(words, "")
        elif word.startswith("--"):
            name, equals, value = word.partition("=")
            name = _full_name(name, known)
            if not equals and known.get(name) == REQUIRED:
                value = next(words, "")
        elif word.startswith("-"):
            continue
        else:
            files.append(word)
            continue
        options[name] = (*options.get(name, ()), value)
    return CommandLine(tuple(files), options)


def _full_name(name: str, known: t.Mapping[str, str]) -> str:
    """Return the option that `name` abbreviates; an option of a later version may make it ambiguous, so the shortest one counts."""
    if name in known:
        return name
    return min((option for option in known if option.startswith(name)), key=len, default=name)


_SERVER, _NORTHD = "ovsdb-server", "ovn-northd"
_PROGRAMS = (_SERVER, _NORTHD)
# The first line of a member's file and the schema of a standalone one name the database.
_NAME = re.compile(rb'"name":\s*"(OVN_(?:North|South)bound)"')
_CLUSTER = re.compile(rb"OVSDB CLUSTER (\d+) [0-9a-f]+\n")
# The first record of a member's file may have the data of its last compaction in front of the name.
_END_BYTES = 2**18
_LINKS = 40
# What would be stopped together with a daemon in one container.
_NEIGHBORS = (*_PROGRAMS, "ovn-controller", "ovs-vswitchd", "ovn-ic")


class ControlPlaneProcess(t.NamedTuple):
    """`name` is northbound, southbound or northd. `root` is how its files are reached from here, empty if they are ours as well."""

    name: str
    pid: int
    supervisor: Supervisor
    command: CommandLine
    root: str = ""
    file: str = ""
    clustered: bool = False

    def reach(self, path: str) -> str:
        """Return the path from here of what this process sees under `path`."""
        return resolve_below(self.root, path)


def find_processes() -> list[ControlPlaneProcess]:
    """Return the daemons of OVN's control plane in the network of this host, by name and process id; a server once for each of its databases.

    Those of other networks concern nobody here.
    `OvnError` if it cannot be known whether there are others.
    """
    found = list[ControlPlaneProcess]()
    for program in running_programs(_PROGRAMS):
        with examining_process():
            found += _examine(program)
    return sorted(found, key=lambda process: (process.name, process.pid))


def find_server(file: str) -> ControlPlaneProcess | None:
    """Return the server of this database file, None if none runs. A container may have the same file under another path."""
    return next((p for p in find_processes() if p.file and _is_same_file(p.reach(p.file), file)), None)


def find_contained(database: str, file: str) -> ControlPlaneProcess | None:
    """Return the server of this database in a container, None if none runs; not one of our `file`. `OvnError` if there are several."""
    found = {
        process.supervisor.name: process
        for process in find_processes()
        if process.name == database
        and process.supervisor.kind == "container"
        and not _is_same_file(process.reach(process.file), file)
    }
    if len(found) > 1:
        raise OvnError(
            f"{database} runs in several containers ({', '.join(sorted(found))}). Stop those that are no members of the cluster, then run again."
        )
    return next(iter(found.values()), None)


def neighbors(process: ControlPlaneProcess) -> list[str]:
    """Return the other daemons that the same unit or container runs: it could only be stopped together with them."""
    return [
        f"{program.program} (process {program.pid})"
        for program in running_programs(_NEIGHBORS)
        if program.pid != process.pid
        and program.supervisor == process.supervisor
        and program.arguments
        and " " not in program.arguments[0]
    ]


def resolve_below(root: str, path: str) -> str:
    """Return the path from here of what a process with this root directory sees under `path`.

    The kernel would follow an absolute link of an image, as /var/run, from the root directory of the host.
    """
    if not root:
        return path
    left, done, links = path.split("/")[::-1], list[str](), 0
    while left:
        part = left.pop()
        if part == "..":
            done = done[:-1]
        if part in ("", ".", ".."):
            continue
        try:
            target = os.readlink("/".join([root, *done, part]))
        except OSError as e:
            if e.errno not in (errno.EINVAL, errno.ENOENT, errno.ENOTDIR):
                raise
            done.append(part)
            continue
        links += 1
        if links > _LINKS:
            raise OvnError(f"{path} below {root} has too many symbolic links. Repair them, then run again.")
        if target.startswith("/"):
            done = []
        left += target.split("/")[::-1]
    return "/".join([root, *done])


def control_socket(process: ControlPlaneProcess) -> str:
    """Return the path of the control socket, as the process sees it; without the option it has the program and the process id in its name.

    ovsdb-server is a program of Open vSwitch, and has its run directory.
    """
    given = process.command.value("--unixctl")
    program, run_directory = (_NORTHD, "/run/ovn") if process.name == "northd" else (_SERVER, "/run/openvswitch")
    directory = os.path.dirname(given) or run_directory
    name = os.path.basename(given) or f"{program}.{_own_pid(process.pid)}.ctl"
    # /var/run is a link to /run.
    return os.path.join(directory if process.root else os.path.realpath(directory), name)


def _own_pid(pid: int) -> int:
    """Return the id that a process has for itself: a container counts its own (proc(5), NSpid)."""
    try:
        status = (PROC / str(pid) / "status").read_text(encoding="utf-8")
    except OSError:
        return pid
    return next((int(line.split()[-1]) for line in status.splitlines() if line.startswith("NSpid:")), pid)


def database_socket(process: ControlPlaneProcess) -> str:
    """Return the path of the Unix socket for clients, as the process sees it; empty without one."""
    return next((r.partition(":")[2] for r in process.command.remotes if r.startswith("punix:")), "")


def _is_same_file(one: str, other: str) -> bool:
    try:
        return os.path.samefile(one, other)
    except (FileNotFoundError, NotADirectoryError):
        return False


def _examine(program: RunningProgram) -> list[ControlPlaneProcess]:
    words, directory = program.arguments, PROC / str(program.pid)
    if not words or " " in words[0]:  # a parent with --monitor has a title instead of arguments
        return []
    command = parse_command_line(words[1:], program.program)
    root = "" if _is_same_namespace(directory, "mnt") or _has_our_root(directory) else str(directory / "root")
    if program.program == _NORTHD:
        return [ControlPlaneProcess("northd", program.pid, program.supervisor, command, root)]
    cwd = os.readlink(directory / "cwd")
    named = [os.path.normpath(os.path.join(cwd, file)) for file in command.files]
    found = dict[str, ControlPlaneProcess]()
    # A server has its files open, also those that a configuration file or ovs-appctl has named.
    for path in dict.fromkeys([*named, *open_files(program.pid)]):
        record = _read_first_record(resolve_below(root, path))
        name = _NAME.search(record)
        if name is not None:
            database = next(key for key, value in DATABASE_NAMES.items() if value == name[1].decode())
            clustered = _CLUSTER.match(record) is not None
            process = ControlPlaneProcess(database, program.pid, program.supervisor, command, root, path, clustered)
            found.setdefault(database, process)
    return list(found.values())


def _read_first_record(path: str) -> bytes:
    """Return both ends of the first record; nothing if there is no file, as for `relay:…` or one that was removed."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):  # the terminal or pipe of the process, which might never answer
            return b""
        with open(path, "rb") as stream:
            head = stream.read(_END_BYTES)
            match = _CLUSTER.match(head)
            end = match.end() + int(match[1]) if match is not None else 0
            if end <= _END_BYTES:
                return head
            stream.seek(max(_END_BYTES, end - _END_BYTES))
            return head + stream.read(min(_END_BYTES, end - _END_BYTES))
    except (FileNotFoundError, NotADirectoryError):
        return b""


def _is_same_namespace(directory: pathlib.Path, namespace: str) -> bool:
    return os.readlink(directory / "ns" / namespace) == os.readlink(PROC / "self" / "ns" / namespace)


def _has_our_root(directory: pathlib.Path) -> bool:
    """Return whether its files are those that we see: a unit with a private /tmp has a mount namespace of its own, too."""
    theirs, ours = os.stat(directory / "root"), os.stat("/")
    return (theirs.st_dev, theirs.st_ino) == (ours.st_dev, ours.st_ino)
