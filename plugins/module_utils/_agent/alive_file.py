# SPDX-License-Identifier: GPL-3.0-or-later
"""The file by whose time a probe sees that a process does its rounds."""

from __future__ import annotations

import contextlib
import os
import time


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
