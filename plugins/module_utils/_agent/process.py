# SPDX-License-Identifier: GPL-3.0-or-later
"""A thread that ends when it is told so, at the latest with its process."""

from __future__ import annotations

import contextlib
import datetime
import os
import sys
import threading
import time
import typing as t

from .._base.errors import BadAnswer, OvnError

# Files that other processes read at any time. One process alone writes each of them.

# The file by whose time a probe sees that a process does its rounds.


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


# The log of the processes in pods: one line for each change, not one for each attempt.


def as_ovn_error(error: Exception) -> OvnError:
    """Return the error as an `OvnError`. The message of an unexpected one begins with its class, for debugging."""
    return error if isinstance(error, OvnError) else BadAnswer(f"{type(error).__name__}: {error}")


class Log:
    """Lines on standard error, from any thread."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.Lock()
        self._errors: dict[str, str] = {}

    def info(self, message: str) -> None:
        now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        with self._lock:
            sys.stderr.write(f"{now} {self._name}: {message}\n")
            sys.stderr.flush()

    def report_error(self, subject: str, error: OvnError | None) -> None:
        """Log the error of `subject` when it begins, changes, or ends (None)."""
        message = "" if error is None else str(error)
        with self._lock:
            before = self._errors.get(subject, "")
            self._errors[subject] = message
        if message != before:
            self.info(message or f"{subject}: works again")


# The archive that is running. A run of a newer version of the collection replaces it while its processes run: kubelet swaps the mounted file.


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


class StoppableThread(threading.Thread):
    """`run` checks or waits for `_stopped`."""

    def __init__(self, name: str) -> None:
        super().__init__(daemon=True, name=name)
        self._stopped = threading.Event()

    def stop(self) -> None:
        self._stopped.set()
