"""What a server listens on, beside the rows of its table."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._daemons.database_remotes import (
    RemotesPlan,
    plan_release,
    plan_table,
    port_of,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._daemons.database_settings import LAYOUTS

SOUTHBOUND = LAYOUTS["southbound"]
TABLE, SOCKET = "db:OVN_Southbound,SB_Global,connections", "punix:/run/ovn/ovnsb_db.sock"
CHASSIS, OTHERS = "pssl:6642:[::]", "pssl:16642:[::]"


@pytest.mark.parametrize(
    ("target", "port"),
    [
        ("pssl:6642:[::]", 6642),
        ("ptcp:6641", 6641),
        ("pssl:6642:192.0.2.1", 6642),
        ("ssl:192.0.2.1:6642", None),
        ("punix:/run/6642", None),
        (TABLE, None),
    ],
)
def test_the_port_of_a_listener(target: str, port: int | None) -> None:
    assert port_of(target) == port


@pytest.mark.parametrize(
    ("remotes", "rows", "plan"),
    [
        pytest.param([SOCKET, TABLE], [OTHERS], RemotesPlan(), id="nothing to do"),
        pytest.param([SOCKET, OTHERS], [OTHERS], RemotesPlan((TABLE,), (OTHERS,)), id="after the port was given up"),
        pytest.param([SOCKET, OTHERS, TABLE], [OTHERS], RemotesPlan((), (OTHERS,)), id="killed in between"),
        pytest.param([SOCKET, "ptcp:7000"], [OTHERS], RemotesPlan((TABLE,)), id="a port that is in no row stays"),
        pytest.param(
            [SOCKET, OTHERS], ["pssl:16642:0.0.0.0"], RemotesPlan((TABLE,), (OTHERS,)), id="its row has another address"
        ),
        pytest.param([SOCKET, TABLE, "punix:/x"], ["punix:/x2", "ssl:192.0.2.1:1"], RemotesPlan(), id="no ports"),
    ],
)
def test_listening_as_the_table_says(remotes: list[str], rows: list[str], plan: RemotesPlan) -> None:
    assert plan_table(remotes, rows, SOUTHBOUND) == plan


@pytest.mark.parametrize(
    ("remotes", "rows", "plan"),
    [
        pytest.param([SOCKET, TABLE], [OTHERS], RemotesPlan(), id="no such row"),
        pytest.param([SOCKET, OTHERS], [CHASSIS, OTHERS], RemotesPlan(), id="given up already"),
        pytest.param([SOCKET, TABLE], [CHASSIS, OTHERS], RemotesPlan((OTHERS,), (TABLE,)), id="by its row"),
        pytest.param([SOCKET, TABLE, OTHERS], [CHASSIS, OTHERS], RemotesPlan((), (TABLE,)), id="killed in between"),
        pytest.param(
            [SOCKET, TABLE, "pssl:6642:192.0.2.1"], [OTHERS], RemotesPlan((), ("pssl:6642:192.0.2.1",)), id="by itself"
        ),
        pytest.param(
            [SOCKET, TABLE, "pssl:6642"], [CHASSIS, OTHERS], RemotesPlan((OTHERS,), (TABLE, "pssl:6642")), id="by both"
        ),
    ],
)
def test_giving_up_a_port(remotes: list[str], rows: list[str], plan: RemotesPlan) -> None:
    assert plan_release(remotes, {row: {"role": "", "read_only": False} for row in rows}, 6642, SOUTHBOUND) == plan


@pytest.mark.parametrize("limit", [{"role": "ovn-controller"}, {"read_only": True}])
def test_a_port_with_limits_is_not_opened_without_them(limit: dict[str, t.Any]) -> None:
    rows = {CHASSIS: {"role": "ovn-controller"}, OTHERS: {}, "pssl:7000": limit}
    assert plan_release([SOCKET, TABLE], rows, 6642, SOUTHBOUND) == RemotesPlan((OTHERS,), (TABLE,))
