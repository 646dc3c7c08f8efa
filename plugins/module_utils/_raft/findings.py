# SPDX-License-Identifier: GPL-3.0-or-later
"""What the checks of a verdict have in common: the view that they check and the reasons that they add. Pure."""

from __future__ import annotations

import typing as t

from .answer import Answer
from .view import View

Health = t.Literal["healthy", "degraded", "no_quorum", "split", "diverged", "forming", "unreachable", "standalone"]


class Reason(t.NamedTuple):
    code: str
    member: str | None
    message: str
    severity: str = "problem"  # problem | warning
    fixed_in: str = ""  # the release of Open vSwitch without the fault that a warning is about

    def as_dict(self) -> dict[str, t.Any]:
        return self._asdict()


def list_members(answers: t.Sequence[Answer]) -> str:
    """Return the names of members for a sentence."""
    return ", ".join(answer.member for answer in answers) or "no member"


class VerdictFindings:
    """The findings on one sample of answers; every check adds its reasons."""

    def __init__(self, view: View, expected_members: int | None, earlier: list[View], certificate_days: float) -> None:
        self.view = view
        self.expected = expected_members
        self.earlier = earlier
        self.certificate_days = certificate_days
        self.reasons: list[Reason] = []
        self.transient = False

    def problem(self, code: str, member: str | None, message: str) -> None:
        self.reasons.append(Reason(code, member, message))

    def warning(self, code: str, member: str | None, message: str, fixed_in: str = "") -> None:
        self.reasons.append(Reason(code, member, message, "warning", fixed_in))
