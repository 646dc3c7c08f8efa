"""Schemas, the names of their types, and names that they lack."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import BadAnswer, InvalidInput
from ansible_collections.c5c3.ovn.plugins.module_utils._ovsdb.schema import parse_schema

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
