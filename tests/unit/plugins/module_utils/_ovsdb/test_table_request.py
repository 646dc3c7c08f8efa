"""Which columns of which tables are read."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import InvalidInput
from ansible_collections.c5c3.ovn.plugins.module_utils._ovsdb.schema import BaseType, ColumnType, Schema
from ansible_collections.c5c3.ovn.plugins.module_utils._ovsdb.table_request import parse_request, parse_where

NAME, ID = ColumnType(BaseType("string")), ColumnType(BaseType("uuid"))
SCHEMA = Schema(
    "DB",
    "1",
    {
        "Switch": {"_uuid": ID, "_version": ID, "name": NAME, "port": ColumnType(BaseType("uuid", "Port"))},
        "Port": {"_uuid": ID, "_version": ID, "name": NAME, "type": NAME},
    },
)


def columns(**options: t.Any) -> dict[str, t.Sequence[str]]:
    given = {"tables": ["Switch"], "columns": None, "where": None, "expand": None}
    return dict(parse_request({**given, **options}, SCHEMA).columns)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, {"Switch": ["_uuid", "name", "port"]}),
        ({"columns": ["name"]}, {"Switch": ["_uuid", "name"]}),
        ({"columns": "name, _version"}, {"Switch": ["_uuid", "_version", "name"]}),
        ({"columns": []}, {"Switch": ["_uuid"]}),
        (
            {"columns": {"Switch": ["name"]}, "expand": ["port"]},
            {"Switch": ["_uuid", "name", "port"], "Port": ["_uuid", "name", "type"]},
        ),
        (
            {"columns": {"Port": "type"}, "expand": ["port"]},
            {"Switch": ["_uuid", "name", "port"], "Port": ["_uuid", "type"]},
        ),
        ({"tables": ["Port", "Port"]}, {"Port": ["_uuid", "name", "type"]}),
    ],
)
def test_columns(options: dict[str, t.Any], expected: dict[str, list[str]]) -> None:
    assert columns(**options) == expected


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tables": []}, "tables is empty. Name at least one table of DB."),
        ({"tables": ["Prot"]}, 'DB has no table "Prot". Did you mean Port?'),
        ({"tables": ["Switch", "Port"], "columns": ["name"]}, "columns is a list, but tables has 2 items."),
        ({"columns": ["nme"]}, 'Table Switch of DB has no column "nme". Did you mean name?'),
        ({"columns": {"Port": ["name"]}}, "columns has Port, which is neither in tables nor reached by expand."),
        ({"columns": {"Prt": ["name"]}}, 'DB has no table "Prt".'),
        ({"columns": 7}, "columns is neither a list of columns nor a dictionary"),
        ({"columns": {"Switch": 7}}, "columns is neither a list of columns nor a dictionary"),
    ],
)
def test_mistakes(options: dict[str, t.Any], message: str) -> None:
    with pytest.raises(InvalidInput) as e:
        columns(**options)
    assert message in str(e.value)


ROW_ID = "0f7ab1b0-0000-4000-8000-00000000000A"
COLUMNS = {
    "name": ColumnType(BaseType("string")),
    "number": ColumnType(BaseType("integer")),
    "size": ColumnType(BaseType("real")),
    "flag": ColumnType(BaseType("boolean")),
    "kind": ColumnType(BaseType("string", enum=("a", "b"))),
    "tag": ColumnType(BaseType("integer"), minimum=0),
    "peer": ColumnType(BaseType("uuid", "T"), minimum=0),
    "words": ColumnType(BaseType("string"), minimum=0, maximum=2),
    "keys": ColumnType(BaseType("integer"), BaseType("string"), minimum=0, maximum=None),
}
CONDITION_SCHEMA = Schema("DB", "1", {"T": COLUMNS, "Other": COLUMNS})


@pytest.mark.parametrize(
    ("column", "function", "value", "encoded"),
    [
        ("name", "==", "x", "x"),
        ("number", "<", 5, 5),
        ("number", ">=", " -5 ", -5),
        ("size", "<=", 1, 1.0),
        ("size", ">", "1.5", 1.5),
        ("flag", "!=", "True", True),
        ("flag", "==", False, False),
        ("kind", "==", "b", "b"),
        ("tag", "==", None, ["set", []]),
        ("tag", "<", 3, ["set", [3]]),
        ("peer", "==", ROW_ID, ["set", [["uuid", ROW_ID.lower()]]]),
        ("words", "==", ["x", "y"], ["set", ["x", "y"]]),
        ("words", "includes", "x", ["set", ["x"]]),
        ("words", "excludes", ["x", "y", "z"], ["set", ["x", "y", "z"]]),
        ("keys", "includes", {"1": "one"}, ["map", [[1, "one"]]]),
    ],
)
def test_values(column: str, function: str, value: t.Any, encoded: t.Any) -> None:
    where = [{"column": column, "op": function, "value": value}]
    assert parse_where(where, ["T"], CONDITION_SCHEMA) == {"T": [[column, function, encoded]]}


def test_a_dictionary_is_equality() -> None:
    assert parse_where({"name": "x", "tag": 1}, ["T"], CONDITION_SCHEMA) == {
        "T": [["name", "==", "x"], ["tag", "==", ["set", [1]]]]
    }
    assert parse_where({}, ["T", "Other"], CONDITION_SCHEMA) == {}


def test_several_tables() -> None:
    where = [{"table": "Other", "column": "name", "value": "x"}, {"table": "T", "column": "number", "value": 1}]
    assert parse_where(where, ["T", "Other"], CONDITION_SCHEMA) == {
        "Other": [["name", "==", "x"]],
        "T": [["number", "==", 1]],
    }


@pytest.mark.parametrize(
    ("where", "message"),
    [
        (
            "name == x",
            "where is 'name == x', which is no JSON. Give a dictionary of columns and values, or a list of conditions.",
        ),
        ([{"column": "name"}], "Give each one column and value"),
        ([{"column": "name", "value": 1, "function": "=="}], "Give each one column and value"),
        ([{"table": "Third", "column": "name", "value": 1}], "with the table 'Third'. Name one of tables: T."),
        ({"nam": 1}, 'Table T of DB has no column "nam". Did you mean name?'),
        ([{"column": "name", "op": "=", "value": "x"}], 'where: "=" on T.name is no operator. Use ==, !=, <,'),
        ([{"column": "words", "op": "<", "value": 1}], 'set of up to 2 strings, but "<" compares one integer or real.'),
        ([{"column": "keys", "op": ">", "value": {}}], 'map of integer to string, but ">" compares'),
        ({"name": 7}, "where: T.name is of type string, 7 is no string. Put it in quotes."),
        ({"name": None}, "where: T.name is of type string, None is none."),
        ({"name": ["x"]}, "is of type string, ['x'] is none."),
        ({"number": True}, "True is no integer."),
        ({"number": 1.5}, "1.5 is no integer."),
        ({"size": "large"}, "'large' is no real."),
        ({"size": True}, "True is no real."),
        ({"flag": 1}, "1 is no boolean."),
        ({"kind": "c"}, "'c' is none of its values a, b."),
        ({"tag": [1, 2]}, "optional integer, 2 values are too many."),
        ({"words": ["x", "y", "z"]}, "3 values are too many."),
        ({"peer": "sw0"}, "optional reference to T, 'sw0' is no UUID."),
        ({"keys": "x"}, "'x' is none. Give a dictionary."),
        ({"words": {"x": 1}}, "a dictionary is none."),
    ],
)
def test_mistakes_in_conditions(where: t.Any, message: str) -> None:
    with pytest.raises(InvalidInput) as e:
        parse_where(where, ["T"], CONDITION_SCHEMA)
    assert message in str(e.value)


def test_which_table_has_to_be_said() -> None:
    with pytest.raises(InvalidInput, match=r"a condition on name with no table\. Name one of tables: T, Other\."):
        parse_where({"name": "x"}, ["T", "Other"], CONDITION_SCHEMA)


def test_json_is_what_it_says() -> None:
    assert parse_where('{"number": 5}', ["T"], CONDITION_SCHEMA) == parse_where({"number": 5}, ["T"], CONDITION_SCHEMA)
