"""Names among endpoints."""

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
from ansible_collections.c5c3.ovn.plugins.module_utils._ovsdb.endpoint import first_answer, names_in, parse_listener


@pytest.mark.parametrize(
    ("endpoints", "names"),
    [
        ([], []),
        (["ssl:192.0.2.1:6641", "ssl:[2001:db8::1]:6641", "ssl:[fe80::1%eth0]:6641"], []),
        (
            ["ssl:b.example:6641,ssl:a.example:6641", "tcp:a.example:6642", "tcp:192.0.2.1:6642"],
            ["a.example", "b.example"],
        ),
        ([""], []),
    ],
)
def test_names(endpoints: list[str], names: list[str]) -> None:
    assert names_in(endpoints) == names


@pytest.mark.parametrize(
    ("target", "wildcard", "own_host"),
    [
        ("ptcp:6642", True, "127.0.0.1"),
        ("pssl:6642:0.0.0.0", True, "127.0.0.1"),
        ("pssl:6642:[::]", True, "::1"),
        ("pssl:6642:[0:0::0]", True, "::1"),
        ("pssl:6642:[2001:DB8:0::1]", False, "2001:db8::1"),
        ("pssl:6642:192.0.2.1", False, "192.0.2.1"),
        ("pssl:6642:[0.0.0.0]", True, "127.0.0.1"),
        ("pssl:6642:[2001:db8::1]", False, "2001:db8::1"),
    ],
)
def test_where_a_client_of_the_same_host_connects(target: str, wildcard: bool, own_host: str) -> None:
    listener = parse_listener(target)
    assert listener is not None
    assert (listener.port, listener.is_wildcard, listener.own_host) == (6642, wildcard, own_host)


@pytest.mark.parametrize(
    "target",
    [
        "ssl:192.0.2.1:6642",
        "punix:/run/6642",
        "db:OVN_Southbound,SB_Global,connections",
        "pssl:",
        "pssl:6642:2001:db8::1",
    ],
)
def test_what_is_no_listener_on_the_network(target: str) -> None:
    assert parse_listener(target) is None


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
