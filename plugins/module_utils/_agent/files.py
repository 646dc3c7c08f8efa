# SPDX-License-Identifier: GPL-3.0-or-later
"""Files that other processes read at any time. One process alone writes each of them."""

from __future__ import annotations

import contextlib
import os
import time

# The file by whose time a probe sees that a process does its rounds.


def touch(path: str) -> None:
    """Update the file's time for the liveness probe. Without the folder there is no probe."""
    try:
        with open(path, "w", encoding="ascii"):
            os.utime(path)
    except OSError:
        return


def forget(path: str) -> None:
    """Remove the file of a former process, which the next container of a pod finds: a process is not alive before it says so itself."""
    with contextlib.suppress(OSError):
        os.unlink(path)


def is_alive(path: str, seconds: float) -> bool:
    """Return whether the file was updated in the last `seconds`."""
    try:
        return time.time() - os.stat(path).st_mtime < seconds
    except OSError:
        return False


def replace_file(path: str, text: str) -> None:
    """Write the file at once or not at all; `OSError`, and nothing is left beside it, if it cannot be written."""
    new = f"{path}.new"
    try:
        with open(new, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(new, path)
    except OSError:
        with contextlib.suppress(OSError):
            os.remove(new)
        raise


def file_state(path: str) -> tuple[int, ...]:
    """Return a value that changes with the file; mounted ConfigMaps are replaced as a whole, so the inode changes, too."""
    try:
        found = os.stat(path)
    except OSError:
        return ()
    return found.st_ino, found.st_mtime_ns, found.st_size
