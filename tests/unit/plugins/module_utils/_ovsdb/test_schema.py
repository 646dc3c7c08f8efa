"""Values of RFC 7047 as Python has them."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import BadAnswer, InvalidInput
from ansible_collections.c5c3.ovn.plugins.module_utils._ovsdb.schema import (
    HIDDEN,
    BaseType,
    ColumnType,
    column_facts,
    parse_schema,
    row_facts,
    sort_rows,
)

STRING, REAL, UUID = BaseType("string"), BaseType("real"), BaseType("uuid")


@pytest.mark.parametrize(
    ("value", "kind", "expected"),
    [
        pytest.param("x", ColumnType(STRING), "x", id="scalar"),
        pytest.param(2, ColumnType(REAL), 2.0, id="a real without a fraction"),
        pytest.param(["uuid", "a"], ColumnType(UUID), "a", id="uuid"),
        pytest.param(["set", []], ColumnType(STRING, minimum=0), None, id="optional, absent"),
        pytest.param(["set", ["x"]], ColumnType(STRING, minimum=0), "x", id="optional, in a set"),
        pytest.param("x", ColumnType(STRING, minimum=0), "x", id="optional, bare"),
        pytest.param("x", ColumnType(STRING, minimum=0, maximum=None), ["x"], id="a set of one is bare"),
        pytest.param(["uuid", "a"], ColumnType(UUID, minimum=0, maximum=None), ["a"], id="a set of one uuid"),
        pytest.param(["set", []], ColumnType(STRING, minimum=0, maximum=None), [], id="empty set"),
        pytest.param(["set", [10, 9]], ColumnType(BaseType("integer"), maximum=None), [9, 10], id="sorted by number"),
        pytest.param(["map", [["b", 1], ["a", 2]]], ColumnType(STRING, REAL), {"a": 2.0, "b": 1.0}, id="map"),
        pytest.param(
            ["map", [[10, "x"], [9, "y"]]],
            ColumnType(BaseType("integer"), STRING),
            {"9": "y", "10": "x"},
            id="keys of a map are text, in the order of the numbers",
        ),
    ],
)
def test_values(value: t.Any, kind: ColumnType, expected: t.Any) -> None:
    found = column_facts(value, kind)
    assert found == expected
    assert type(found) is type(expected)
    assert str(found) == str(expected)


def test_secrets_are_hidden() -> None:
    keys = ColumnType(STRING, STRING, minimum=0, maximum=None)
    types = {
        "options": keys,
        "external_ids": keys,
        "words": ColumnType(STRING, maximum=None),
        "text": ColumnType(STRING),
    }
    pem = "-----BEGIN RSA PRIVATE KEY-----\nx"
    row = {
        "options": ["map", [["psk", "secret"], ["remote_ip", "192.0.2.1"]]],
        "external_ids": ["map", [["psk", "not one of ours"], ["key", pem]]],
        "words": ["set", [pem, "b"]],
        "text": pem,
    }
    assert row_facts("Interface", row, types) == {
        "external_ids": {"key": HIDDEN, "psk": "not one of ours"},
        "options": {"psk": HIDDEN, "remote_ip": "192.0.2.1"},
        "text": HIDDEN,
        "words": [HIDDEN, "b"],
    }
    assert row_facts("Port", {"options": row["options"]}, types)["options"]["psk"] == "secret"


def test_rows_are_sorted() -> None:
    rows = [{"_uuid": "3", "name": "b"}, {"_uuid": "2", "name": "a"}, {"_uuid": "1", "name": "b"}, {"_uuid": "0"}]
    assert [row["_uuid"] for row in sort_rows(rows)] == ["0", "2", "1", "3"]


SCHEMA: dict[str, t.Any] = {
    "name": "DB",
    "version": "1.0.0",
    "tables": {
        "Switch": {
            "columns": {
                "name": {"type": "string"},
                "ports": {"type": {"key": {"type": "uuid", "refTable": "Port"}, "min": 0, "max": "unlimited"}},
                "tag": {"type": {"key": {"type": "integer"}, "min": 0, "max": 1}},
                "peer": {"type": {"key": {"type": "uuid", "refTable": "Switch"}, "min": 0}},
                "words": {"type": {"key": "string", "min": 0, "max": 3}},
                "queues": {"type": {"key": "integer", "value": {"type": "uuid", "refTable": "Port"}, "min": 0}},
                "kind": {"type": {"key": {"type": "string", "enum": ["set", ["a", "b"]]}}},
            }
        },
        "Port": {"columns": {"one": {"type": {"key": {"type": "string", "enum": "only"}}}}},
    },
}


@pytest.mark.parametrize(
    ("column", "described", "ref_table"),
    [
        ("name", "string", ""),
        ("ports", "set of references to Port", "Port"),
        ("tag", "optional integer", ""),
        ("peer", "optional reference to Switch", "Switch"),
        ("words", "set of up to 3 strings", ""),
        ("queues", "map of integer to reference to Port", "Port"),
        ("_uuid", "UUID", ""),
    ],
)
def test_types(column: str, described: str, ref_table: str) -> None:
    kind = parse_schema(SCHEMA).column("Switch", column)
    assert (kind.describe(), kind.ref_table) == (described, ref_table)


def test_values_of_an_enumeration() -> None:
    schema = parse_schema(SCHEMA)
    assert schema.column("Switch", "kind").key.enum == ("a", "b")
    assert schema.column("Port", "one").key.enum == ("only",)


@pytest.mark.parametrize(
    ("table", "column", "message"),
    [
        ("Swich", "name", 'DB has no table "Swich". Did you mean Switch? The schema of the server has version 1.0.0.'),
        ("xyz", "name", "There are Port, Switch."),
        ("switch", "name", "Did you mean Switch?"),
        ("Switch", "prts", 'Table Switch of DB has no column "prts". Did you mean ports?'),
        ("Port", "xyz", "There are _uuid, _version, one."),
    ],
)
def test_names_that_it_lacks(table: str, column: str, message: str) -> None:
    with pytest.raises(InvalidInput) as e:
        parse_schema(SCHEMA).column(table, column)
    assert message in str(e.value)


@pytest.mark.parametrize(
    "answer",
    [None, {}, {"name": "x", "tables": []}, {"name": "x", "tables": {"T": {"columns": {"c": {"type": "void"}}}}}],
)
def test_what_is_no_schema(answer: t.Any) -> None:
    with pytest.raises(BadAnswer, match="this is no schema"):
        parse_schema(answer)
