"""Digests of what members hold, and how those of several members are compared."""

from __future__ import annotations

import json
import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import InvalidInput
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.answer import Answer, ServerView
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.contents import (
    Contents,
    Difference,
    columns_of,
    compare,
    digest,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.verdict import assess

CID = "aaaaaaaa-0000-4000-8000-00000000000a"
ROW: dict[str, t.Any] = {"_uuid": ["uuid", "1"], "name": "a", "ports": ["set", [["uuid", "x"], ["uuid", "y"]]]}


@pytest.mark.parametrize(
    ("one", "two", "equal"),
    [
        pytest.param([ROW, {"name": "b"}], [{"name": "b"}, ROW], True, id="rows in another order are the same"),
        pytest.param([ROW], [dict(reversed(ROW.items()))], True, id="columns in another order are the same"),
        pytest.param([ROW], [{**ROW, "ports": ["set", [["uuid", "y"], ["uuid", "x"]]]}], True, id="a set has no order"),
        pytest.param(
            [{"m": ["map", [["k", 1], ["l", 2]]]}],
            [{"m": ["map", [["l", 2], ["k", 1]]]}],
            True,
            id="a map has no order",
        ),
        pytest.param([{"p": ["set", ["x"]]}], [{"p": "x"}], True, id="a set of one is its element"),
        pytest.param([{"p": ["set", []]}], [{"p": ""}], False, id="an empty set is no empty text"),
        pytest.param([ROW], [{**ROW, "name": "b"}], False, id="another value"),
        pytest.param([ROW], [ROW, ROW], False, id="a row more"),
        pytest.param([], [ROW], False, id="no row"),
        pytest.param([{"a": "1"}], [{"a": 1}], False, id="a text is no number"),
        pytest.param([{"m": ["map", [["k", "v"]]]}], [{"m": ["map", [["v", "k"]]]}], False, id="key and value swapped"),
    ],
)
def test_digest(one: list[dict[str, t.Any]], two: list[dict[str, t.Any]], equal: bool) -> None:
    assert (digest(one) == digest(two)) is equal


def test_columns_that_servers_fill_in_are_left_out() -> None:
    columns = {"target": {}, "is_connected": {}, "status": {}, "seen": {"ephemeral": True}}
    schema = {"tables": {"Connection": {"columns": columns}, "A": {"columns": {"status": {}}}}}
    assert columns_of(schema) == {"A": ["_uuid", "status"], "Connection": ["_uuid", "target"]}


def held(index: int | None, problem: str = "", **tables: str) -> Contents:
    return Contents(index, tables, problem)


@pytest.mark.parametrize(
    ("contents", "differences", "apart", "unread"),
    [
        pytest.param({"a": held(5, T="1"), "b": held(5, T="1")}, [], {}, {}, id="equal"),
        pytest.param(
            {"a": held(5, T="1", U="1"), "b": held(5, T="2", U="1"), "c": held(5, T="1", U="1")},
            [(5, ("T",), (("b",), ("a", "c")))],
            {},
            {},
            id="at one index with other digests: different, the leader's side first",
        ),
        pytest.param(
            {"a": held(5, T="1"), "b": held(6, T="2")},
            [],
            {"a": 5},
            {},
            id="at two indexes: not compared, not different",
        ),
        pytest.param(
            {"a": held(5, T="1"), "b": held(5, T="1"), "c": held(6, T="2"), "d": held(6, T="3"), "e": held(6, T="2")},
            [(6, ("T",), (("c", "e"), ("d",)))],
            {"a": 5, "b": 5},
            {},
            id="those at one index are compared among each other",
        ),
        pytest.param(
            {"a": held(5), "b": held(None, "slow")}, [], {}, {"b": "slow"}, id="one that was not read is told"
        ),
        pytest.param(
            {"a": held(5, T="1"), "b": held(5)}, [(5, ("T",), (("b",), ("a",)))], {}, {}, id="a table that one lacks"
        ),
        pytest.param({}, [], {}, {}, id="nobody was read"),
    ],
)
def test_compare(contents: dict[str, Contents], differences: list[t.Any], apart: t.Any, unread: t.Any) -> None:
    found = compare(contents, leader="b")
    assert found.differences == tuple(Difference(*difference) for difference in differences)
    assert (found.apart, found.unread) == (apart, unread)


def member(name: str, contents: Contents | None, **changes: t.Any) -> Answer:
    values = {"model": "clustered", "connected": True, "leader": name == "a", "cluster_id": CID, **changes}
    server = ServerView(server_id=f"{name * 8}-0000-4000-8000-000000000000", log_index=5, process=name, **values)
    return Answer(name, "OVN_Northbound", server=server, contents=contents)


@pytest.mark.parametrize(
    ("answers", "verdict", "code"),
    [
        pytest.param([member(n, held(5, T="1")) for n in "abc"], "healthy", "", id="equal contents are healthy"),
        pytest.param(
            [member(n, None) for n in "abc"], "healthy", "", id="contents that were not asked for are healthy"
        ),
        pytest.param(
            [member("a", held(5, T="1")), member("b", held(5, T="2")), member("c", None)],
            "diverged",
            "diverged",
            id="different contents are a verdict of their own",
        ),
        pytest.param(
            [member("a", held(5, T="1")), member("b", held(6, T="2")), member("c", None)],
            "healthy",
            "not_compared",
            id="at two indexes it is only a warning",
        ),
        pytest.param(
            [
                member("a", held(5, T="1"), leader=False, connected=False),
                member("b", held(5, T="2"), connected=False),
                member("c", None, connected=False),
            ],
            "no_quorum",
            "diverged",
            id="without quorum that comes first, but the difference is told",
        ),
    ],
)
def test_verdict(answers: list[Answer], verdict: str, code: str) -> None:
    result = assess(answers, 3)
    assert result.verdict == verdict
    codes = {reason.code for reason in result.reasons}
    assert code in codes if code else not codes & {"diverged", "not_compared"}


def test_who_differs_from_the_leader_is_named() -> None:
    (reason,) = [
        reason
        for reason in assess([member("a", held(5, T="1", U="x")), member("b", held(5, T="2", U="x"))], 2).reasons
        if reason.code == "diverged"
    ]
    assert reason.member == "b"
    assert "at log index 5: a differs from b in T." in reason.message


def test_contents_survive_the_way_through_json() -> None:
    answer = member("a", held(5, T="1"))
    assert Answer.from_dict(json.loads(json.dumps(answer.as_dict()))) == answer
    for wrong in ({"log_index": "5"}, {"tables": []}, {"surprise": 1}, [1]):
        with pytest.raises(InvalidInput):
            Answer.from_dict({**answer.as_dict(), "contents": wrong})
