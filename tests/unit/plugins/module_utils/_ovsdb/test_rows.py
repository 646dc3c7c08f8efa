from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import BadAnswer, Conflict, Refused
from ansible_collections.c5c3.ovn.plugins.module_utils._ovsdb.rows import (
    as_list,
    as_optional,
    decode,
    encode_map,
    encode_optional,
    select,
    transact,
    write,
)


@pytest.mark.parametrize(
    ("wire", "value"),
    [
        (5, 5),
        ("set", "set"),
        (["set", []], []),
        (["set", [1, 2]], [1, 2]),
        (["set", [["uuid", "x"]]], ["x"]),
        (["uuid", "x"], "x"),
        (["map", []], {}),
        (["map", [["a", "1"], ["b", ["uuid", "x"]]]], {"a": "1", "b": "x"}),
    ],
)
def test_decode(wire: t.Any, value: t.Any) -> None:
    assert decode(wire) == value


def test_sets_of_one() -> None:
    assert (as_list(5), as_list([5]), as_list([])) == ([5], [5], [])
    assert (as_optional(5), as_optional([5]), as_optional([]), as_optional(False)) == (5, 5, None, False)


def test_encode() -> None:
    assert encode_map({"b": "2", "a": "1"}) == ["map", [["a", "1"], ["b", "2"]]]
    assert (encode_optional(None), encode_optional(0)) == (["set", []], 0)


class FakeConnection:
    """Answers with what it was given."""

    name = "unix:/run/ovn/ovnnb_db.sock"

    def __init__(self, *answers: t.Any) -> None:
        self.answers = list(answers)
        self.asked: list[t.Any] = []

    def call(self, method: str, params: list[t.Any]) -> t.Any:
        self.asked.append((method, params))
        return self.answers


def test_select_reads_all_tables_at_once() -> None:
    connection = FakeConnection({"rows": [{"options": ["map", [["a", "1"]]]}]}, {"rows": []})
    rows = select(t.cast("t.Any", connection), "DB", {"T1": ["options"], "T2": ["target"]})
    assert rows == {"T1": [{"options": {"a": "1"}}], "T2": []}
    assert len(connection.asked) == 1


CONFLICTS = [
    ("a value has changed", [{"error": "timed out", "details": '"wait" timed out'}]),
    ("the row is there already", [{}, {"error": "constraint violation", "details": 'Transaction causes multiple rows in "Connection" table'}]),
    ("the only row is there already", [{"error": "constraint violation", "details": "transaction causes NB_Global table to contain 2 rows"}]),
]  # fmt: skip


@pytest.mark.parametrize("answers", [row[1] for row in CONFLICTS], ids=[row[0] for row in CONFLICTS])
def test_somebody_was_faster(answers: list[t.Any]) -> None:
    with pytest.raises(Conflict, match="Nothing was written"):
        write(t.cast("t.Any", FakeConnection(*answers)), "DB", [], "test")


@pytest.mark.parametrize(
    "answers",
    [
        [{"error": "constraint violation", "details": "999 is less than minimum allowed value 1000"}, None, None],
        [{"error": "permission error", "details": "RBAC rules"}],
        [{}, {"error": "unknown table"}],
    ],
)
def test_refused(answers: list[t.Any]) -> None:
    with pytest.raises(Refused):
        write(t.cast("t.Any", FakeConnection(*answers)), "DB", [], "test")


def test_an_answer_that_is_no_list_is_told() -> None:
    connection: t.Any = FakeConnection()
    connection.answers = None
    with pytest.raises(BadAnswer, match="no OVSDB server"):
        transact(connection, "OVN_Northbound", [])
