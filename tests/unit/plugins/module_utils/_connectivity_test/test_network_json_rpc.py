"""Requests and answers alone; tests/integration/test_test_network.py has the database."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._connectivity_test.network import (
    MARK,
    DesiredNetwork,
    ObservedRow,
    Plan,
    SwitchPort,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._connectivity_test.network_json_rpc import (
    observed_rows,
    operations,
    queries,
)

ONE = SwitchPort("net-h1", "02:00:00:00:00:01 198.18.0.1")
TWO = SwitchPort("net-h2", "02:00:00:00:00:02 198.18.0.2")
OURS = ["map", [[MARK, "net"]]]


def encoded(uuid: str, name: str, **columns: t.Any) -> dict[str, t.Any]:
    return {"_uuid": ["uuid", uuid], "name": name, "external_ids": OURS, **columns}


def test_rows_are_decoded_and_counted_once() -> None:
    switch = encoded("u", "net")
    port = encoded("p", "net-h1", addresses=ONE.addresses)
    foreign = encoded("f", "net-h2", addresses=["set", ["a", "b"]], external_ids=["map", []])
    answers: list[list[dict[str, t.Any]]] = [[switch], [switch], [port], [port], [foreign]]
    assert len(queries(DesiredNetwork("net", (ONE, TWO)))) == len(answers)
    assert observed_rows([{"rows": rows} for rows in answers]) == (
        [ObservedRow("u", "net", "net")],
        [ObservedRow("p", "net-h1", "net", (ONE.addresses,)), ObservedRow("f", "net-h2", None, ("a", "b"))],
    )


@pytest.mark.parametrize(
    ("plan", "expected"),
    [
        (
            Plan(create=True, add=(ONE, TWO)),
            [
                "wait Logical_Switch",
                "insert Logical_Switch_Port",
                "insert Logical_Switch_Port",
                "insert Logical_Switch",
            ],
        ),
        (
            Plan(switch="u", add=(TWO,)),
            ["wait Logical_Switch", "insert Logical_Switch_Port", "mutate Logical_Switch"],
        ),
        (
            Plan(switch="u", correct=(("p", "x"),)),
            ["wait Logical_Switch_Port", "update Logical_Switch_Port"],
        ),
        (Plan(delete=("u1", "u2")), ["delete Logical_Switch"]),
        (Plan(), []),
    ],
    ids=["all of it", "a port", "an address", "removal", "nothing"],
)
def test_operations(plan: Plan, expected: list[str]) -> None:
    assert [f"{operation['op']} {operation['table']}" for operation in operations("net", plan)] == expected


def test_every_new_row_carries_the_mark() -> None:
    todo = operations("net", Plan(create=True, add=(ONE, TWO)))
    assert [operation["row"]["external_ids"] for operation in todo if operation["op"] == "insert"] == [OURS] * 3


def test_removal_deletes_what_is_marked() -> None:
    [delete] = operations("net", Plan(delete=("u",)))
    assert delete["where"] == [["external_ids", "includes", OURS]]
