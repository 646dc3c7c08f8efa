"""Locks of runs, as tests see them."""

from __future__ import annotations

import pathlib

from _waits import until

from ansible_collections.c5c3.ovn.plugins.module_utils._raft import lock as locks


def await_expiry(path: pathlib.Path) -> None:
    """Wait until the lock of a run in this file has expired."""
    held = locks.read_lock(str(path))
    assert held is not None
    until(
        lambda: held.seconds_left(locks.read_clock()) <= 0,
        "the lock to expire",
        held.seconds_left(locks.read_clock()) + 1,
    )
