# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

A condition in a status. Pure.
"""

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
