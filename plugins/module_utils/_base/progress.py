# SPDX-License-Identifier: GPL-3.0-or-later
"""What a module is doing at the moment. A module prints nothing before it ends; the action plugin that started it on this machine reads this and prints it."""

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
