# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

A thread that ends when it is told so, at the latest with its process.
"""

from __future__ import annotations

import threading


class StoppableThread(threading.Thread):
    """`run` checks or waits for `_stopped`."""

    def __init__(self, name: str) -> None:
        super().__init__(daemon=True, name=name)
        self._stopped = threading.Event()

    def stop(self) -> None:
        self._stopped.set()
