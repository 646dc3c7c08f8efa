# SPDX-License-Identifier: GPL-3.0-or-later
"""One question to several members of a database: the first one that can answer it."""

from __future__ import annotations

import typing as t

from .._base.errors import Conflict, InvalidInput, OvnError, Unreachable

_ANSWER = t.TypeVar("_ANSWER")


def first_answer(questions: t.Iterable[t.Callable[[], _ANSWER]], database: str) -> _ANSWER:
    """Return the result of the first call that does not fail; each asks one member of `database`, a title for messages.

    A conflict is an answer, too, and so is `InvalidInput`. If all fail, raise the type of the first error with all messages.
    """
    errors: list[OvnError] = []
    for question in questions:
        try:
            return question()
        except (InvalidInput, Conflict):
            raise
        except OvnError as e:
            errors.append(e)
    if len(errors) == 1:
        raise errors[0]
    reasons = " ".join(map(str, errors)) or "No endpoint is given."
    raise (type(errors[0]) if errors else Unreachable)(f"No server of the {database} database can be used. {reasons}")
