# SPDX-License-Identifier: GPL-3.0-or-later
"""The one family of expected errors. A module catches `OvnError` once, in `main()`."""

from __future__ import annotations

import typing as t

# Pieces of messages that people read.


def list_names(names: t.Sequence[str], most: int = 10, *, kind: str = "") -> str:
    """Return names for a sentence, at most `most` of them: "a, b and 7 more", or "a, b and 7 more tables" with `kind` "tables"."""
    more = len(names) - most
    rest = f" and {more} more{f' {kind}' if kind else ''}" if more > 0 else ""
    return f"{', '.join(names[:most])}{rest}"


class OvnError(Exception):
    """Something that a user can act on; the message names the object, the cause and the next step.

    `details` are merged into the module's failure, for example the last observed state.
    """

    def __init__(self, message: str, **details: t.Any) -> None:
        super().__init__(message)
        self.details = details

    def as_result(self) -> dict[str, t.Any]:
        return {**self.details, "msg": str(self)}


class InvalidInput(OvnError):
    """An option has a value that can never work."""


class Unreachable(OvnError):
    """Nothing listens at the address: refused, no route, name not found, no such socket."""


class TimedOut(OvnError):
    """No complete answer came in time, although something listens."""


class CertificateProblem(OvnError):
    """TLS failed: an own file is unusable, the peer's certificate is not trusted, or the peer refused ours."""


class Refused(OvnError):
    """The server answered with an error, or a safety rule forbids the step."""


class Conflict(OvnError):
    """Another client changed the same object between our read and our write; nothing was written."""


class Changed(OvnError):
    """The target of a step is no longer as it was when the step was planned; nothing was done, and the caller observes again."""


class BadAnswer(OvnError):
    """An answer came, but it is cut off, or it is no answer to the question."""
