# SPDX-License-Identifier: GPL-3.0-or-later
"""Unix sockets of this network namespace at which a process listens, from /proc/net/unix (proc(5)): also those of containers and pods in this network, whose
processes a pod does not see. A path is the one that its process has named, in its own file system.
"""

from __future__ import annotations

import os
import typing as t

from .._base.errors import OvnError

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
