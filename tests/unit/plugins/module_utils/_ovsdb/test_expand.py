"""Which references are followed, and where that ends."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import InvalidInput
from ansible_collections.c5c3.ovn.plugins.module_utils._ovsdb.expand import Expander, expanded_columns, parse_expand
from ansible_collections.c5c3.ovn.plugins.module_utils._ovsdb.schema import BaseType, ColumnType, Schema

NAME = ColumnType(BaseType("string"))
PORTS = ColumnType(BaseType("uuid", "Port"), minimum=0, maximum=None)
SCHEMA = Schema(
    "DB",
    "1",
    {
        "Switch": {"name": NAME, "ports": PORTS},
        "Router": {"name": NAME, "ports": PORTS, "nat": ColumnType(BaseType("uuid", "Nat"), minimum=0)},
        "Port": {"peer": ColumnType(BaseType("uuid", "Port"), minimum=0), "name": NAME},
        "Nat": {"queues": ColumnType(BaseType("integer"), BaseType("uuid", "Port"), minimum=0, maximum=None)},
    },
)


@pytest.mark.parametrize(
    ("paths", "expected"),
    [
        ([], {"Switch": {}, "Router": {}}),
        (["ports"], {"Switch": {"ports": {}}, "Router": {"ports": {}}}),
        (["Router.ports.peer", "nat"], {"Switch": {}, "Router": {"ports": {"peer": {}}, "nat": {}}}),
        (["nat.queues.peer", "nat"], {"Switch": {}, "Router": {"nat": {"queues": {"peer": {}}}}}),
    ],
)
def test_paths(paths: list[str], expected: t.Any) -> None:
    assert parse_expand(paths, ["Switch", "Router"], SCHEMA) == expected


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("Router.ports", "begins with neither a table of tables nor a column of it."),
        ("prots", "Did you mean ports?"),
        (
            "name",
            '"name" needs references, but Switch.name is of type string. Columns of Switch with references: ports.',
        ),
        ("Switch.ports.name", "Port.name is of type string"),
        ("ports.pier", 'Table Port of DB has no column "pier". Did you mean peer?'),
        ("Switch", "is a table: name a column of it. Columns of Switch with references: "),
    ],
)
def test_paths_that_lead_nowhere(path: str, message: str) -> None:
    with pytest.raises(InvalidInput) as e:
        parse_expand([path], ["Switch"], SCHEMA)
    assert message in str(e.value)


def test_what_is_needed() -> None:
    trees = parse_expand(["Router.nat.queues.peer", "ports"], ["Switch", "Router"], SCHEMA)
    assert expanded_columns(trees, SCHEMA) == {
        "Switch": {"ports"},
        "Router": {"ports", "nat"},
        "Nat": {"queues"},
        "Port": {"peer"},
    }


ROWS: dict[str, dict[str, dict[str, t.Any]]] = {
    "Port": {
        "1": {"_uuid": "1", "name": "b", "peer": "2"},
        "2": {"_uuid": "2", "name": "a", "peer": "1"},
        "3": {"_uuid": "3", "name": "c", "peer": None},
    },
    "Nat": {"n": {"_uuid": "n", "queues": {"10": "3", "20": "9"}}},
}


def test_rows_take_the_place_of_references() -> None:
    expander = Expander(ROWS, SCHEMA)
    switch = {"_uuid": "s", "name": "sw0", "ports": ["1", "3", "9", "2"]}
    expanded = expander.expand("Switch", switch, {"ports": {}})
    assert [port if isinstance(port, str) else port["name"] for port in expanded["ports"]] == ["a", "b", "c", "9"]
    assert expander.missing == {"Port": {"9"}}
    assert switch["ports"] == ["1", "3", "9", "2"]
    assert ROWS["Port"]["1"]["peer"] == "2"


def test_maps_and_what_is_absent() -> None:
    expander = Expander(ROWS, SCHEMA)
    router = expander.expand("Router", {"_uuid": "r", "nat": "n"}, {"nat": {"queues": {}}})
    assert router["nat"]["queues"] == {"10": ROWS["Port"]["3"], "20": "9"}
    assert expander.expand("Router", {"_uuid": "r", "nat": None}, {"nat": {"queues": {}}})["nat"] is None


def test_a_cycle_ends() -> None:
    expanded = Expander(ROWS, SCHEMA).expand("Port", ROWS["Port"]["1"], {"peer": {"peer": {"peer": {}}}})
    assert expanded["peer"] == {"_uuid": "2", "name": "a", "peer": "1"}
