from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._connectivity_test.network import (
    MARK,
    ObservedNetwork,
    SwitchPort,
    actual_of,
    operations,
    queries,
    removal,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._errors import Refused

ONE = SwitchPort("net-h1", "02:00:00:00:00:01 198.18.0.1")
TWO = SwitchPort("net-h2", "02:00:00:00:00:02 198.18.0.2")
OURS = ["map", [[MARK, "net"]]]


def row(**columns: t.Any) -> dict[str, t.Any]:
    return {"_uuid": ["uuid", "u-" + columns.get("name", "net")], **columns}


def answers(*tables: list[dict[str, t.Any]]) -> list[dict[str, t.Any]]:
    return [{"rows": rows} for rows in tables]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (answers([], [], [], []), ObservedNetwork()),
        (
            answers([row()], [row(name="net-h1", addresses=ONE.addresses)], [row(external_ids=OURS)], []),
            ObservedNetwork("u-net", {"net-h1": ("u-net-h1", (ONE.addresses,))}),
        ),
        (
            answers([row()], [row(name="net-h1", addresses=["set", ["a", "b"]])], [], []),
            ObservedNetwork("u-net", {"net-h1": ("u-net-h1", ("a", "b"))}),
        ),
        (
            answers([], [], [row(external_ids=["map", []])], [row(name="net-h1", external_ids=["map", []])]),
            ObservedNetwork(foreign=("net", "net-h1")),
        ),
        (answers([], [], [row(external_ids=["map", [[MARK, "other"]]])], []), ObservedNetwork(foreign=("net",))),
    ],
    ids=["empty database", "ours", "several addresses", "somebody else's names", "another test network's name"],
)
def test_what_is_there(given: list[dict[str, t.Any]], expected: ObservedNetwork) -> None:
    assert len(queries("net", [ONE])) == len(given)
    assert actual_of("net", given) == expected


def test_two_switches_of_one_network_are_refused() -> None:
    with pytest.raises(Refused, match="2 logical switches"):
        actual_of("net", answers([row(), row()], [], [], []))


def kinds(todo: list[dict[str, t.Any]]) -> list[str]:
    return [f"{operation['op']} {operation['table']}" for operation in todo]


EXISTS = {"net-h1": ("u1", (ONE.addresses,))}


@pytest.mark.parametrize(
    ("actual", "expected"),
    [
        (
            ObservedNetwork(),
            [
                "wait Logical_Switch",
                "insert Logical_Switch_Port",
                "insert Logical_Switch_Port",
                "insert Logical_Switch",
            ],
        ),
        (ObservedNetwork("u", EXISTS), ["insert Logical_Switch_Port", "mutate Logical_Switch"]),
        (ObservedNetwork("u", {**EXISTS, "net-h2": ("u2", ("old",))}), ["update Logical_Switch_Port"]),
        (ObservedNetwork("u", {**EXISTS, "net-h2": ("u2", (TWO.addresses,)), "net-h3": ("u3", ("x",))}), []),
    ],
    ids=["nothing there", "one port is missing", "an address differs", "all there, ports of others stay"],
)
def test_operations(actual: ObservedNetwork, expected: list[str]) -> None:
    todo, words = operations("net", [ONE, TWO], actual)
    assert kinds(todo) == expected
    assert bool(words) == bool(todo)


def test_every_new_row_carries_the_mark() -> None:
    todo, _words = operations("net", [ONE, TWO], ObservedNetwork())
    assert [operation["row"]["external_ids"] for operation in todo if operation["op"] == "insert"] == [OURS] * 3


def test_names_of_others_are_refused() -> None:
    with pytest.raises(Refused, match="net-h1, which is not part"):
        operations("net", [ONE], ObservedNetwork(foreign=("net-h1",)))


def test_removal_touches_marked_rows_only() -> None:
    todo, words = removal("net", ObservedNetwork("u", EXISTS))
    assert todo == [
        {"op": "delete", "table": "Logical_Switch", "where": [["external_ids", "includes", ["map", [[MARK, "net"]]]]]}
    ]
    assert words == ["switch net", "port net-h1"]
    assert removal("net", ObservedNetwork(foreign=("net",))) == ([], [])
