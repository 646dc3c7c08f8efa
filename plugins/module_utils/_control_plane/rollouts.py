# SPDX-License-Identifier: GPL-3.0-or-later
"""Rolls out both databases, one after the other, in the time that a run has."""

from __future__ import annotations

import typing as t

from .._base.databases import Database
from .._base.deadline import Deadline
from .._base.errors import OvnError, TimedOut, Unreachable
from .._kubernetes.wait_tracker import Progress
from .database_rollout import DatabaseRollout, raise_combined

# What the first database leaves of the time to the second one.
_RESERVED, _RESERVED_SECONDS = 0.3, 30.0


def roll_out_databases(
    databases: t.Mapping[Database, DatabaseRollout],
    deadline: Deadline,
    progress: Progress,
    *,
    server: str,
    check_mode: bool,
) -> None:
    """Roll out one database after the other. A failure of the first does not keep the second from its rounds. `server` is the API server's URL."""
    failures: list[BaseException] = []
    for left, database in zip(reversed(range(len(databases))), databases.values()):
        try:
            if check_mode:
                database.simulate()
            else:
                rest = deadline.left()
                share = deadline.within(rest - left * min(_RESERVED_SECONDS, rest * _RESERVED))
                database.roll_out(share, deadline.seconds)
        except (Unreachable, TimedOut) as e:
            failures.append(e)
            if server in str(e):
                break  # without the API server the second one cannot be observed either
        except OvnError as e:
            failures.append(e)
    for database in databases.values():
        progress.steps += database.observed.steps
        progress.warnings += database.warnings
    raise_combined(failures)
