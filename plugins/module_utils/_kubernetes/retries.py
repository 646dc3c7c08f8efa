# SPDX-License-Identifier: GPL-3.0-or-later
"""Which requests are retried, after which failures, and when: an API server that restarts or is overloaded for a moment must not end a rollout
between two members.
"""

from __future__ import annotations

import typing as t

from .._base.errors import OvnError, Unreachable
from .network import is_connection_failure

APPLY = "application/apply-patch+yaml"
PATIENCE = 10.0  # seconds for one request with all its repetitions
_FIRST, _LONGEST = 0.25, 2.0


def is_repeatable(method: str, content_type: str | None) -> bool:
    """Return whether a request can be retried although it may have been carried out: a read, and an apply."""
    return method == "get" or (method == "patch" and content_type == APPLY)


def pause_after(error: OvnError, attempt: int) -> float | None:
    """Return the seconds until the next attempt, None if a retry is useless. Attempts count from 0.

    A time-out is not retried: a frozen server would cost the limit several times.
    """
    if not isinstance(error, Unreachable):
        return None
    status = error.details.get("http_status")
    if status is None and not is_connection_failure(error.__cause__):
        return None
    if status is not None and status not in (429, 503):
        return None
    grown: float = _FIRST * 2**attempt
    return max(min(grown, _LONGEST), _retry_after(error.__cause__))


def _retry_after(answer: t.Any) -> float:
    """Return the seconds of the header Retry-After, 0 without one."""
    value = str((getattr(answer, "headers", None) or {}).get("Retry-After", ""))
    return float(value) if value.isascii() and value.isdecimal() else 0.0
