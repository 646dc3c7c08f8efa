# SPDX-License-Identifier: GPL-3.0-or-later
"""A thread that ends when it is told so, at the latest with its process."""

from __future__ import annotations

import threading


class StoppableThread(threading.Thread):
    """`run` checks or waits for `_stopped`."""

    def __init__(self, name: str) -> None:
        super().__init__(daemon=True, name=name)
        self._stopped = threading.Event()

    def stop(self) -> None:
        self._stopped.set()
