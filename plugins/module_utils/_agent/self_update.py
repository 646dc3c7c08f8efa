# SPDX-License-Identifier: GPL-3.0-or-later
"""The archive that is running. A run of a newer version of the collection replaces it while its processes run: kubelet swaps the mounted file."""

from __future__ import annotations

import os
import sys
import typing as t


class RunningArchive:
    """The file that Python was started with."""

    def __init__(self, path: str = sys.argv[0]) -> None:
        self._path = path
        self._mark = self._file_state()

    def _file_state(self) -> tuple[int, int, int] | None:
        try:
            state = os.stat(self._path)
        except OSError:  # between two versions
            return None
        return state.st_dev, state.st_ino, state.st_mtime_ns

    def is_replaced(self) -> bool:
        """Return whether the file was replaced. Then restart with the new one: this one can no longer be read."""
        now = self._file_state()
        return now is not None and self._mark is not None and now != self._mark

    def restart(self) -> t.NoReturn:
        """Execute the same command with the present file, in this process: no container restarts."""
        sys.stdout.flush()
        sys.stderr.flush()
        os.execv(sys.executable, [sys.executable, "-I", self._path, *sys.argv[1:]])
