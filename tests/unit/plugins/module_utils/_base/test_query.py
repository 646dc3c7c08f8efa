"""Queries, and what is said about those that cannot work."""

from __future__ import annotations

import sys

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import InvalidInput
from ansible_collections.c5c3.ovn.plugins.module_utils._base.query import check_query, plain, run_query, text_or_data

FACTS = {"tables": {"Switch": [{"name": "sw0", "tag": 5}, {"name": "sw1", "tag": None}]}}


class Marked(str):
    """A text of another class, as Ansible has them."""


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("tables.Switch[].name", ["sw0", "sw1"]),
        ("tables.Switch[?tag].name | [0]", "sw0"),
        ("length(tables.Switch)", 2),
        ("nothing", None),
    ],
)
def test_queries(query: str, expected: object) -> None:
    assert run_query(query, FACTS) == expected


def test_functions_know_marked_texts() -> None:
    assert run_query("names[?starts_with(@, 's')]", {Marked("names"): (Marked("sw0"), Marked("lr0"))}) == ["sw0"]
    assert plain(Marked("x")).__class__ is str
    assert plain([True, 1, 1.5, None]) == [True, 1, 1.5, None]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("tables[", "query 'tables[' is not complete: it ends after character 7."),
        ("tables.[?", "'[?' at character 8 is not expected there."),
        ("a b", "query 'a b' is not JMESPath: 'b' at character 3 is not expected there."),
        ("tables.#x", "at character 8."),
        ("", "query is empty."),
        ("nothing(@)", "query 'nothing(@)' failed: Unknown function: nothing()"),
        ("length(`1`)", "failed: In function length(), invalid type for value: 1"),
        ("length()", "failed: Expected 1 argument for function length(), received 0"),
    ],
)
def test_mistakes(query: str, message: str) -> None:
    with pytest.raises(InvalidInput) as e:
        run_query(query, FACTS)
    assert message in str(e.value)
    if "failed" not in message:
        with pytest.raises(InvalidInput):
            check_query(query)


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jmespath", None)
    with pytest.raises(InvalidInput, match="install python3-jmespath"):
        check_query("tables")


@pytest.mark.parametrize(
    ("value", "form"),
    [
        ("sw0", "text"),
        ("", "text"),
        (["sw0", Marked("sw1")], "text"),
        ([], "data"),
        (["sw0", None], "data"),
        ([["sw0"]], "data"),
        ({"name": "sw0"}, "data"),
        (2, "data"),
        (True, "data"),
        (None, "data"),
    ],
)
def test_what_can_be_printed_as_lines(value: object, form: str) -> None:
    assert text_or_data(value) == form


def test_a_query_that_is_no_text() -> None:
    with pytest.raises(InvalidInput, match="is no text"):
        check_query(["a", "b"])
