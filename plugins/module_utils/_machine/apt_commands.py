# SPDX-License-Identifier: GPL-3.0-or-later
"""How the commands of dpkg and apt are run, and which distribution the host has. Decides nothing."""

from __future__ import annotations

import pathlib
import typing as t

from .._base.errors import OvnError
from .apt_output import parse_os_release
from .commands import Commands

Run = t.Callable[..., str]  # runs a command, returns its output; a failure is an `OvnError`
_COMMANDS = ("dpkg-query", "apt-cache", "apt-get")
_ENGLISH = {"LC_ALL": "C.UTF-8", "LANGUAGE": ""}


def apt_commands(commands: Commands) -> Run | None:
    """Return what runs a command of dpkg or apt, None on a host without them."""
    if not all(commands.find(command) for command in _COMMANDS):
        return None

    def run(*command: str) -> str:
        code, out, err = commands.run(command, _ENGLISH)
        # apt-cache ends with 100 if it knows none of the packages.
        if code != 0 and (command[0] != "apt-cache" or "No packages found" not in err):
            raise OvnError(
                f"{' '.join(command[:2])} failed: {(err or out).strip()}. Repair it on this host, then run again."
            )
        return out

    return run


def read_distribution() -> dict[str, str]:
    """Return `id`, `version` and `name` of the distribution, see `parse_os_release`."""
    for path in ("/etc/os-release", "/usr/lib/os-release"):
        try:
            return parse_os_release(pathlib.Path(path).read_text(encoding="utf-8", errors="replace"))
        except OSError:
            continue
    return parse_os_release("")
