# SPDX-License-Identifier: GPL-3.0-or-later
"""Processes of a Linux host from /proc (proc(5)): programs that run in this network, and who holds a socket. Read only."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import pathlib
import typing as t

from .._base.errors import OvnError
from .supervisor import Supervisor, parse_cgroup

# Unix sockets of this network namespace at which a process listens, from /proc/net/unix (proc(5)): also those of containers and pods in this network, whose
# processes a pod does not see. A path is the one that its process has named, in its own file system.

SOCKETS = "/proc/net/unix"
_SO_ACCEPTCON = 0x10000


def parse_listening(text: str) -> list[str]:
    """Return the paths at which somebody listens, sorted; one comes as often as somebody listens there."""
    rows = [line.split(None, 7) for line in text.splitlines()[1:]]
    return sorted(row[7] for row in rows if len(row) == 8 and int(row[3], 16) & _SO_ACCEPTCON)


def read_listening() -> list[str]:
    """Return the same of this network namespace; `OvnError` if it cannot be read."""
    try:
        with open(SOCKETS, encoding="utf-8", errors="replace") as file:
            return parse_listening(file.read())
    except OSError as e:
        raise OvnError(f"{SOCKETS} cannot be read: {e.strerror}. Run as root (ansible_become: true).") from e


def control_sockets(sockets: t.Iterable[str], program: str) -> list[str]:
    """Return those that are the control socket of this program: `PROGRAM.PID.ctl`, or `PROGRAM.ctl`."""
    names = ((path, os.path.basename(path)) for path in sockets)
    return [path for path, name in names if _is_control_socket(name, program)]


def _is_control_socket(name: str, program: str) -> bool:
    middle = name[len(program) : -len(".ctl")]
    return name.startswith(program) and name.endswith(".ctl") and (not middle or middle[1:].isdigit())


def foreign_control_sockets(
    sockets: t.Iterable[str], program: str, directory: str, exists: t.Callable[[str], bool]
) -> list[str]:
    """Return the control sockets of this program but for ours, which is in `directory`.

    Another container may name the same path for a file of its own: ours `exists` here, and comes once.
    """
    others = control_sockets(sockets, program)
    for path in dict.fromkeys(others):
        if path.startswith(f"{directory}/") and exists(path):
            others.remove(path)
    return others


def bridges_of(sockets: t.Iterable[str]) -> list[str]:
    """Return the bridges that the processes of Open vSwitch in this network have: each listens for an OpenFlow controller."""
    names = (os.path.basename(path) for path in sockets)
    return sorted({name[: -len(".mgmt")] for name in names if name.endswith(".mgmt")})


PROC = pathlib.Path("/proc")
_COMM = 15  # characters that the kernel keeps of a program's name
_ENDED = (FileNotFoundError, ProcessLookupError)


class RunningProgram(t.NamedTuple):
    """`arguments` are those of its command line, and begin with the program; they are empty once the process has ended."""

    pid: int
    program: str
    supervisor: Supervisor
    arguments: tuple[str, ...]

    def as_dict(self) -> dict[str, t.Any]:
        """Return the same as plain data, with the arguments in one line."""
        arguments = " ".join(self.arguments)
        return {**self._asdict(), "supervisor": dataclasses.asdict(self.supervisor), "arguments": arguments}


@contextlib.contextmanager
def examining_process() -> t.Iterator[None]:
    """Pass over a process that ends while it is read; `OvnError` if something of it must not be read: then nobody knows what it is."""
    try:
        yield
    except _ENDED:
        pass
    except OSError as e:
        raise OvnError(
            f"Looking for daemons on this host failed: {e.filename or 'a process'} cannot be read ({e.strerror}). Run as root (ansible_become: true)."
        ) from e


def running_programs(names: t.Iterable[str]) -> list[RunningProgram]:
    """Return the processes of these programs in the network of this process, in whatever container they run, by process id.

    `OvnError` if it cannot be known what runs here.
    """
    programs = {name[:_COMM] for name in names}
    own = os.readlink(PROC / "self" / "ns" / "net")
    found = []
    for pid in _process_ids():
        with examining_process():
            if _program(pid) in programs and os.readlink(PROC / str(pid) / "ns" / "net") == own:
                found.append(_read(pid))
    return found


def holders_of(inodes: t.Collection[int], first: t.Iterable[int]) -> dict[int, RunningProgram]:
    """Return the processes that have these sockets open, as far as they can be found; the process ids in `first` are looked at before all others."""
    links = {f"socket:[{inode}]": inode for inode in inodes}
    found: dict[int, RunningProgram] = {}
    for pid in dict.fromkeys([*first, *_process_ids()] if links else []):
        if len(found) == len(links):
            break
        with contextlib.suppress(OSError):
            for inode in {links[target] for target in open_files(pid) if target in links}:
                found.setdefault(inode, _read(pid))
    return found


def _process_ids() -> list[int]:
    """Return all process ids, in their order. The first process of a host always runs: where it is not seen, others are hidden as well."""
    pids = sorted(int(name) for name in os.listdir(PROC) if name.isdigit())
    if 1 not in pids:
        raise OvnError(
            f"Looking for daemons on this host failed: {PROC} hides the processes of other users. Run as root (ansible_become: true)."
        )
    return pids


def _read(pid: int) -> RunningProgram:
    arguments = tuple(os.fsdecode(word) for word in (PROC / str(pid) / "cmdline").read_bytes().split(b"\0") if word)
    return RunningProgram(pid, _program(pid), parse_cgroup(_cgroup(str(pid)), _cgroup("self")), arguments)


def _program(pid: int) -> str:
    return (PROC / str(pid) / "comm").read_text(encoding="utf-8", errors="replace").rstrip("\n")


def _cgroup(pid: str) -> str:
    return (PROC / pid / "cgroup").read_text(encoding="utf-8", errors="replace")


def open_files(pid: int) -> t.Iterator[str]:
    """Yield what the process has open: paths as it sees them, and sockets as `socket:[INODE]`."""
    for entry in os.scandir(PROC / str(pid) / "fd"):
        with contextlib.suppress(OSError):
            yield os.readlink(entry.path)
