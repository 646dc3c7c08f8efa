# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

Files of this host that may be gone, or that nobody may read.
"""

from __future__ import annotations

import os
import pathlib


def text_if_readable(path: str | os.PathLike[str]) -> str:
    """Return the text of a file, empty if it is gone or the host lets this user not read it."""
    try:
        return pathlib.Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
