# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

Which requests are sent again, after which failures, and when: an API server that restarts or is overloaded for a moment shall not end a rollout
between two members.
"""

from __future__ import annotations

import typing as t

from .._errors import OvnError, Unreachable
from .network import broke

APPLY = "application/apply-patch+yaml"
PATIENCE = 10.0  # seconds for one request with all its repetitions
_FIRST, _LONGEST = 0.25, 2.0


def may_be_repeated(method: str, content_type: str | None) -> bool:
    """Whether a request that was perhaps carried out can be sent once more: who asks, and who says what shall be there."""
    return method == "get" or (method == "patch" and content_type == APPLY)


def pause_after(error: OvnError, attempt: int) -> float | None:
    """Seconds until the next attempt; None if there is no point in one. Attempts count from 0.

    Not after a limit in time: a frozen server would cost it several times.
    """
    if not isinstance(error, Unreachable):
        return None
    status = error.details.get("http_status")
    if status is None and not broke(error.__cause__):
        return None
    if status is not None and status not in (429, 503):
        return None
    grown: float = _FIRST * 2**attempt
    return max(min(grown, _LONGEST), _asked_for(error.__cause__))


def _asked_for(answer: t.Any) -> float:
    """The seconds that an overloaded server wants to be left alone."""
    value = str((getattr(answer, "headers", None) or {}).get("Retry-After", ""))
    return float(value) if value.isascii() and value.isdecimal() else 0.0
