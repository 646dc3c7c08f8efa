"""Which columns of which tables are read."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import InvalidInput
from ansible_collections.c5c3.ovn.plugins.module_utils._ovsdb.schema import BaseType, ColumnType, Schema
from ansible_collections.c5c3.ovn.plugins.module_utils._ovsdb.table_request import parse_request

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
