"""Requests and answers alone; tests/integration/test_test_network.py has the database."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import Refused
from ansible_collections.c5c3.ovn.plugins.module_utils._connectivity_test.network import (
    MARK,
    DesiredNetwork,
    ObservedRow,
    Plan,
    SwitchPort,
    make_plan,
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


NET = DesiredNetwork("net", (ONE, TWO))
ABSENT = DesiredNetwork("net", present=False)


def row(uuid: str, name: str = "net", *addresses: str, mark: str | None = "net") -> ObservedRow:
    return ObservedRow(uuid, name, mark, addresses)


FIRST, SECOND = row("u1", ONE.name, ONE.addresses), row("u2", TWO.name, TWO.addresses)
WORDS_ONE, WORDS_TWO = f"port net-h1 ({ONE.addresses})", f"port net-h2 ({TWO.addresses})"


@pytest.mark.parametrize(
    ("switches", "ports", "expected"),
    [
        pytest.param(
            [], [], Plan(create=True, add=(ONE, TWO), messages=("switch net", WORDS_ONE, WORDS_TWO)), id="nothing there"
        ),
        pytest.param([row("u")], [FIRST], Plan(switch="u", add=(TWO,), messages=(WORDS_TWO,)), id="a port is missing"),
        pytest.param(
            [row("u")],
            [FIRST, row("u2", TWO.name, "old")],
            Plan(switch="u", correct=(("u2", TWO.addresses),), messages=(WORDS_TWO,)),
            id="an address differs",
        ),
        pytest.param(
            [row("u")],
            [FIRST, row("u2", TWO.name, TWO.addresses, "another")],
            Plan(switch="u", correct=(("u2", TWO.addresses),), messages=(WORDS_TWO,)),
            id="one address too many",
        ),
        pytest.param(
            [row("u")],
            [FIRST, SECOND, row("u3", "net-h3", "x")],
            Plan(switch="u"),
            id="all there, ports of others stay",
        ),
        pytest.param(
            [row("u"), row("n", "neutron", mark=None)],
            [FIRST, SECOND, row("x", "neutron-1", mark=None), row("y", "other-h1", mark="other")],
            Plan(switch="u"),
            id="rows of others with other names",
        ),
    ],
)
def test_what_is_written(switches: list[ObservedRow], ports: list[ObservedRow], expected: Plan) -> None:
    assert make_plan(NET, switches, ports) == expected


@pytest.mark.parametrize(
    ("switches", "ports", "words"),
    [
        pytest.param([row("n", mark=None)], [], "already has net, which is not part", id="a switch"),
        pytest.param([row("n", mark="other")], [], "already has net,", id="a switch of another test network"),
        pytest.param([], [row("x", "net-h2", mark=None)], "already has net-h2,", id="a port"),
        pytest.param(
            [row("n", mark=None)], [row("x", "net-h2", mark=None)], "already has net, net-h2,", id="a switch and a port"
        ),
    ],
)
def test_names_of_others_are_refused(switches: list[ObservedRow], ports: list[ObservedRow], words: str) -> None:
    with pytest.raises(Refused, match=words):
        make_plan(NET, switches, ports)


def test_two_switches_of_one_network_are_refused_and_both_removed() -> None:
    switches = [row("u2"), row("u1")]
    with pytest.raises(Refused, match=r"2 logical switches .* state: absent"):
        make_plan(NET, switches, [])
    assert make_plan(ABSENT, switches, []) == Plan(delete=("u1", "u2"), messages=("switch net",))


def test_removal_touches_marked_rows_only() -> None:
    foreign = [row("n", mark=None), row("o", mark="other")]
    ports = [SECOND, FIRST, row("x", "net-h3", mark=None)]
    expected = Plan(delete=("u",), messages=("switch net", "port net-h1", "port net-h2"))
    assert make_plan(ABSENT, [row("u"), *foreign], ports) == expected
    assert make_plan(ABSENT, foreign, []) == Plan()
