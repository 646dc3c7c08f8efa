# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

What a module is doing at the moment. A module prints nothing before it ends; the action plugin that started it on this machine reads this and prints it.
"""

from __future__ import annotations

import contextlib
import os

VARIABLE = "C5C3_OVN_PROGRESS"
"""The environment variable with the path of the file; without it there is no reader, and nothing is written."""


def report_progress(doing: str) -> None:
    """Say in one line what is done or waited for from now on."""
    path = os.environ.get(VARIABLE)
    if path:
        with contextlib.suppress(OSError), open(path, "w", encoding="utf-8") as file:
            file.write(doing)
