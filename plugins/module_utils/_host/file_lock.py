# SPDX-License-Identifier: GPL-3.0-or-later
"""A lock that keeps the other runs on this host from what a module is about to change."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import time
import typing as t

from .._base.deadline import Deadline
from .._base.errors import OvnError, TimedOut

_LOCK_SECONDS, _PAUSE = 20.0, 0.05  # a run holds a lock for as long as a few small files take


def acquire(descriptor: int, path: str) -> None:
    """Lock an open file or directory until it is closed; `TimedOut` if another process keeps it. `path` is its name for people."""
    deadline = Deadline(_LOCK_SECONDS)
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as e:
            if e.errno not in (errno.EAGAIN, errno.EACCES):
                raise OvnError(f"{path} cannot be locked: {e.strerror}. Correct that, then run again.") from e
            if deadline.expired:
                raise TimedOut(
                    f"Timed out after {_LOCK_SECONDS:.0f} s waiting for {path}: another process has locked it. End that process (fuser -v shows it), "
                    "then run again."
                ) from e
            time.sleep(_PAUSE)
        else:
            return


@contextlib.contextmanager
def locked(directory: str) -> t.Iterator[None]:
    """Lock a directory; `OvnError` if it cannot be opened."""
    try:
        descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as e:
        raise OvnError(f"{directory} cannot be opened: {e.strerror}. Run the task as root (become: true).") from e
    try:
        acquire(descriptor, directory)
        yield
    finally:
        os.close(descriptor)
