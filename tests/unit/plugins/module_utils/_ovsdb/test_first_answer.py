"""Members are asked one after the other."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import (
    Conflict,
    InvalidInput,
    OvnError,
    Refused,
    Unreachable,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._ovsdb.first_answer import first_answer


def questions(*answers: str | OvnError) -> t.Iterator[t.Callable[[], str]]:
    for answer in answers:

        def question(answer: str | OvnError = answer) -> str:
            if isinstance(answer, OvnError):
                raise answer
            return answer

        yield question


def test_the_first_one_that_can_answer() -> None:
    assert first_answer(questions(Unreachable("no"), "yes", "also"), "Northbound") == "yes"


@pytest.mark.parametrize(
    ("answers", "kind", "message"),
    [
        ([Refused("one.")], Refused, "one."),
        (
            [Refused("one."), Unreachable("two.")],
            Refused,
            "No server of the Northbound database can be used. one. two.",
        ),
        ([], Unreachable, "No server of the Northbound database can be used. No endpoint is given."),
        ([Conflict("changed"), "yes"], Conflict, "changed"),
        ([InvalidInput("bad"), "yes"], InvalidInput, "bad"),
    ],
)
def test_nobody(answers: list[str | OvnError], kind: type[OvnError], message: str) -> None:
    with pytest.raises(kind) as e:
        first_answer(questions(*answers), "Northbound")
    assert str(e.value) == message
