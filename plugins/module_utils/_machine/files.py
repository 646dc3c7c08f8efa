# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of this host that may be gone, or that nobody may read."""

from __future__ import annotations

import os
import pathlib


def text_if_readable(path: str | os.PathLike[str]) -> str:
    """Return the text of a file, empty if it is gone or the host lets this user not read it."""
    try:
        return pathlib.Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
