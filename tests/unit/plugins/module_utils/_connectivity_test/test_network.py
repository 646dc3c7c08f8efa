from __future__ import annotations

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import Refused
from ansible_collections.c5c3.ovn.plugins.module_utils._connectivity_test.network import (
    DesiredNetwork,
    ObservedRow,
    Plan,
    SwitchPort,
    make_plan,
)

ONE = SwitchPort("net-h1", "02:00:00:00:00:01 198.18.0.1")
TWO = SwitchPort("net-h2", "02:00:00:00:00:02 198.18.0.2")
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
