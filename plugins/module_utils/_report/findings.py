# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

What the parts of a report have in common: problems, warnings and lines for people.

A problem means that something does not work or would not survive the next failure. A warning needs the attention of an operator, in time.
"""

from __future__ import annotations

import dataclasses
import typing as t

Result = t.Mapping[str, t.Any]
"""What a task returned; one without its values failed, and `msg` says why."""


@dataclasses.dataclass
class ReportFindings:
    problems: list[str] = dataclasses.field(default_factory=list)
    warnings: list[str] = dataclasses.field(default_factory=list)

    def state(self, good: str = "healthy") -> str:
        return "problem" if self.problems else "warning" if self.warnings else good


def format_line(label: str, state: str, details: str, width: int = 13) -> str:
    return f"{label:<{width}} {state:<11} {details}".rstrip()


def cause_of(result: Result | None) -> str:
    """Return the cause of a failed result in one line, empty without one."""
    text = " ".join(str((result or {}).get("msg") or "").split())
    return text.removeprefix("Task failed: ").removesuffix(".")
