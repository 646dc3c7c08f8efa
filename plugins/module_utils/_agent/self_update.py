# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

The archive that is running. A run of a newer version of the collection replaces it under its processes: kubelet swaps the mounted file.
"""

from __future__ import annotations

import os
import sys
import typing as t


class RunningArchive:
    """The file that Python was started with."""

    def __init__(self, path: str = sys.argv[0]) -> None:
        self._path = path
        self._mark = self._look()

    def _look(self) -> tuple[int, int, int] | None:
        try:
            state = os.stat(self._path)
        except OSError:  # between two versions
            return None
        return state.st_dev, state.st_ino, state.st_mtime_ns

    def replaced(self) -> bool:
        """Whether another file lies there now. Then go on with that one: this one can no longer be read."""
        now = self._look()
        return now is not None and self._mark is not None and now != self._mark

    def start_again(self) -> t.NoReturn:
        """The same command with the file that lies there now, in this very process: no container restarts."""
        sys.stdout.flush()
        sys.stderr.flush()
        os.execv(sys.executable, [sys.executable, "-I", self._path, *sys.argv[1:]])
