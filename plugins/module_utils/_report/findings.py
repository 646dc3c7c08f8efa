# SPDX-License-Identifier: GPL-3.0-or-later
"""What the parts of a report have in common: problems, warnings and lines for people.

A problem means that something does not work or would not survive the next failure. A warning needs the attention of an operator, in time.
"""

from __future__ import annotations

import dataclasses
import json
import typing as t

_STATUS = '{"kind":"Status"'  # how the API server begins an answer that says why not
Result = t.Mapping[str, t.Any]
"""What a task returned; one without its values failed, and `msg` says why."""


@dataclasses.dataclass(frozen=True)
class ReportFinding:
    """A problem or a warning. `code` is one of codes.py; `fixed_in` the release without the fault that a warning is about, else empty."""

    code: str
    message: str
    fixed_in: str = ""


@dataclasses.dataclass
class ReportFindings:
    """`acknowledge` has codes: warnings with one of them are listed as acknowledged and change no state."""

    acknowledge: frozenset[str] = frozenset()
    problems: list[ReportFinding] = dataclasses.field(default_factory=list)
    warnings: list[ReportFinding] = dataclasses.field(default_factory=list)
    acknowledged: list[ReportFinding] = dataclasses.field(default_factory=list)

    def problem(self, code: str, message: str) -> None:
        self.problems.append(ReportFinding(code, message))

    def warning(self, code: str, message: str, fixed_in: str = "") -> None:
        found = self.acknowledged if code in self.acknowledge else self.warnings
        found.append(ReportFinding(code, message, fixed_in))

    def new_section(self) -> ReportFindings:
        """Return empty findings for a part of the report, which has a state of its own."""
        return ReportFindings(self.acknowledge)

    def add(self, section: ReportFindings) -> None:
        self.problems += section.problems
        self.warnings += section.warnings
        self.acknowledged += section.acknowledged

    def state(self, good: str = "healthy") -> str:
        return "problem" if self.problems else "warning" if self.warnings else good


def format_line(label: str, state: str, details: str, width: int = 13) -> str:
    return f"{label:<{width}} {state:<11} {details}".rstrip()


def cause_of(result: Result | None) -> str:
    """Return the cause of a failed result in one line, empty without one."""
    text = " ".join(str((result or {}).get("msg") or "").split())
    return (_status_message(text) or text).removeprefix("Task failed: ").removesuffix(".")


def _status_message(text: str) -> str:
    """Return what the API server said, from a message of kubernetes.core with headers and a traceback around it; empty if it is not in there."""
    _before, found, after = text.partition(_STATUS)
    if not found:
        return ""
    try:
        status, _end = json.JSONDecoder().raw_decode(_STATUS + after)
    except ValueError:
        return ""
    return str(status.get("message") or "")
