"""Values of RFC 7047 as Python has them."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._ovsdb.facts import HIDDEN, column_facts, row_facts, sort_rows
from ansible_collections.c5c3.ovn.plugins.module_utils._ovsdb.schema import BaseType, ColumnType

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
