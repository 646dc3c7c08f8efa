# SPDX-License-Identifier: GPL-3.0-or-later
"""How commands are run and found on the host."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import typing as t

from .._base.errors import OvnError

# Files of this host that may be gone, or that nobody may read.


def text_if_readable(path: str | os.PathLike[str]) -> str:
    """Return the text of a file, empty if it is gone or the host lets this user not read it."""
    try:
        return pathlib.Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


Answer = tuple[int, str, str]
"""Exit code, standard output, standard error."""
Runner = t.Callable[[list[str], dict[str, str]], Answer]
"""`runner(command, environment)` returns the answer of a command, and raises `OvnError` if it cannot be run."""


class Commands:
    """Commands of the managed host."""

    def run(self, command: t.Sequence[str], environment: t.Mapping[str, str] | None = None) -> Answer:
        """Return the answer of the command, which gets these variables besides those that there are; `OvnError` if it cannot be run.

        AnsibleModule.run_command loses the output of a command that takes more than a second on a busy host (ansible/ansible#51393). Files, and not
        pipes, so that a daemon which the command leaves behind is not waited for. Files in memory, because most programs
        do not notice that the disk of /tmp is full.
        """
        try:
            with _memory_file() as out, _memory_file() as err:
                done = subprocess.run(
                    list(command),
                    env={**os.environ, **(environment or {})},
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=err,
                    check=False,
                )
                return done.returncode, _content(out), _content(err)
        except OSError as e:
            raise OvnError(
                f"Cannot run {command[0]}: {e.strerror}. Check that it is installed and executable on this host."
            ) from e

    def find(self, program: str) -> str:
        """Return the path of the program, empty if it is not installed."""
        return shutil.which(program, path=f"/usr/sbin:/sbin:{os.environ.get('PATH', os.defpath)}") or ""


def _memory_file() -> t.IO[bytes]:
    return os.fdopen(os.memfd_create("output"), "w+b")


def _content(file: t.IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode("utf-8", "replace")
