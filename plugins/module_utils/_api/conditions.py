# SPDX-License-Identifier: GPL-3.0-or-later
"""A condition in a status. Pure."""

from __future__ import annotations

import typing as t


class StatusCondition(t.NamedTuple):
    """A condition without its history."""

    kind: str
    status: str  # True | False | Unknown
    reason: str
    message: str


def repeat_condition(before: t.Mapping[str, t.Any]) -> StatusCondition:
    """Return a condition of the previous status as it is."""
    return StatusCondition(before["type"], before["status"], before["reason"], before["message"])
