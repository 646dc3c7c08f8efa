# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

A database file out of the volume of a container, of which it stays there as it was.

While the container still runs, a symbolic link takes the place of the copy. So a run that is killed at any moment leaves a member that has its file: a
copy that is made too early would lack acknowledged writes, and no file at all looks like a lost disk. A note beside it tells our link from one that
somebody else made.
"""

from __future__ import annotations

import contextlib
import os
import shutil

from .._errors import Refused


def _note(file: str) -> str:
    return f"{file}.adopted"


def is_begun(file: str) -> bool:
    """Return whether `file` is still the link of an adoption."""
    try:
        with open(_note(file), encoding="utf-8") as note:
            return os.readlink(file) == note.read().strip()
    except OSError:
        return False


def begin(file: str, source: str) -> None:
    """Let `file` be a link to `source`; `Refused` if something else is there."""
    if is_begun(file) and os.readlink(file) == source:
        return
    if os.path.lexists(file):
        raise Refused(
            f"{file} exists already, and the container has {source}. Nothing was changed. Move it away, then run again."
        )
    with open(_note(file), "w", encoding="utf-8") as note:
        note.write(f"{source}\n")
        note.flush()
        os.fsync(note.fileno())
    os.symlink(source, file)
    _sync_directory(file)


def finish(file: str) -> None:
    """Replace the link by a copy of what it names. Only while no server has the file."""
    part = f"{file}.part"
    with contextlib.suppress(FileNotFoundError):
        os.unlink(part)
    shutil.copy2(file, part)
    with open(part, "rb") as copy:
        os.fsync(copy.fileno())
    os.replace(part, file)
    _sync_directory(file)
    os.unlink(_note(file))


def _sync_directory(file: str) -> None:
    directory = os.open(os.path.dirname(file), os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
