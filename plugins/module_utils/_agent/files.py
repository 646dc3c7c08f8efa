# SPDX-License-Identifier: GPL-3.0-or-later
"""Files that other processes read at any time. One process alone writes each of them."""

from __future__ import annotations

import contextlib
import os


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
