"""What a server listens on, beside the rows of its table."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import InvalidInput
from ansible_collections.c5c3.ovn.plugins.module_utils._daemons.database_settings import (
    LAYOUTS,
    DesiredSettings,
    ObservedSettings,
    RemotesPlan,
    desired_from_params,
    plan_release,
    plan_rows,
    plan_table,
    port_of,
    timer_steps,
)

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


NB, SB = LAYOUTS["northbound"], LAYOUTS["southbound"]
UUID = "00000000-0000-4000-8000-000000000001"
ROW = {
    "_uuid": UUID,
    "target": "pssl:6642:[::]",
    "role": "",
    "read_only": False,
    "inactivity_probe": None,
    "max_backoff": None,
}
FOREIGN = {**ROW, "_uuid": "00000000-0000-4000-8000-000000000002", "target": "ptcp:16640:127.0.0.1"}
GLOBAL = "00000000-0000-4000-8000-00000000000f"


def actual(*rows: dict[str, t.Any], **options: str) -> ObservedSettings:
    return ObservedSettings(GLOBAL, {row["target"]: row for row in rows}, options)


def params(**changes: t.Any) -> dict[str, t.Any]:
    return {
        "database": "southbound",
        "election_timer": None,
        "connections": None,
        "purge_connections": False,
        "options": None,
        **changes,
    }


ACTIONS = [
    ("an empty desired state changes nothing", DesiredSettings(), actual(FOREIGN, a="1"), []),
    ("a fresh database is left alone by the timer alone", DesiredSettings(election_timer=2000), ObservedSettings(), []),
    (
        "a fresh database gets its row with everything",
        DesiredSettings(connections={"pssl:6642:[::]": {"role": ""}}, options={"a": "1", "gone": None}),
        ObservedSettings(),
        ["create the row of SB_Global", "add connection pssl:6642:[::]", "set option a to 1"],
    ),
    (
        "a missing row is added",
        DesiredSettings(connections={"pssl:6642:[::]": {}}),
        actual(FOREIGN),
        ["add connection pssl:6642:[::]"],
    ),
    (
        "an equal row stays",
        DesiredSettings(connections={"pssl:6642:[::]": {"role": "", "read_only": False}}),
        actual(ROW, FOREIGN),
        [],
    ),
    (
        "only named columns are compared",
        DesiredSettings(connections={"pssl:6642:[::]": {"inactivity_probe": 0}}),
        actual({**ROW, "inactivity_probe": 0, "max_backoff": 9000, "role": "ovn-controller"}),
        [],
    ),
    (
        "a differing column is changed in place",
        DesiredSettings(connections={"pssl:6642:[::]": {"role": "ovn-controller", "inactivity_probe": 60000}}),
        actual(ROW),
        ["change connection pssl:6642:[::]: inactivity_probe None to 60000, role '' to 'ovn-controller'"],
    ),
    ("foreign rows survive", DesiredSettings(connections={}), actual(ROW, FOREIGN), []),
    (
        "purge removes what is not named",
        DesiredSettings(connections={"pssl:6642:[::]": {}}, purge_connections=True),
        actual(ROW, FOREIGN),
        ["remove connection ptcp:16640:127.0.0.1"],
    ),
    (
        "a row that has to go is removed, one that is not there is no matter",
        DesiredSettings(connections={}, removed_connections=frozenset({"pssl:6642:[::]", "pssl:6650:[::]"})),
        actual(ROW, FOREIGN),
        ["remove connection pssl:6642:[::]"],
    ),
    (
        "options are compared key by key",
        DesiredSettings(options={"a": "1", "b": "2", "c": None, "d": None}),
        actual(a="1", b="1", c="x", other="kept"),
        ["set option b to 2", "remove option c"],
    ),
    ("an empty value is a value", DesiredSettings(options={"a": ""}), actual(), ["set option a to "]),
]


@pytest.mark.parametrize(("desired", "found", "actions"), [row[1:] for row in ACTIONS], ids=[row[0] for row in ACTIONS])
def test_actions(desired: DesiredSettings, found: ObservedSettings, actions: list[str]) -> None:
    plan = plan_rows(desired, found, SB)
    assert plan.actions == actions
    assert bool(plan.operations) == bool(actions)


def test_each_write_expects_what_was_compared() -> None:
    desired = DesiredSettings(
        connections={"pssl:6642:[::]": {"role": "ovn-controller"}, "pssl:1:[::]": {}}, options={"b": "2"}
    )
    operations = plan_rows(desired, actual(ROW, a="1", b="1"), SB).operations
    assert [(operation["op"], operation["table"]) for operation in operations] == [
        ("wait", "Connection"),
        ("update", "Connection"),
        ("insert", "Connection"),
        ("wait", "SB_Global"),
        ("mutate", "SB_Global"),
    ]
    assert operations[0]["rows"] == [{"role": ""}]
    assert operations[3]["rows"] == [{"options": ["map", [["a", "1"], ["b", "1"]]]}]
    assert operations[4]["mutations"] == [
        ["connections", "insert", ["set", [["named-uuid", "connection0"]]]],
        ["options", "delete", ["set", ["b"]]],
        ["options", "insert", ["map", [["b", "2"]]]],
    ]


def test_a_fresh_database_is_expected_to_be_still_fresh() -> None:
    operations = plan_rows(DesiredSettings(connections={"pssl:6641:[::]": {}}), ObservedSettings(), NB).operations
    assert operations[0] == {
        "op": "wait", "timeout": 0, "table": "NB_Global", "where": [], "columns": ["_uuid"], "until": "==", "rows": [],
    }  # fmt: skip
    assert operations[-1]["row"]["connections"] == ["set", [["named-uuid", "connection0"]]]


def test_diff_has_only_what_differs() -> None:
    desired = DesiredSettings(
        connections={"pssl:6642:[::]": {"role": "x", "read_only": False}}, options={"a": "1", "b": None}
    )
    plan = plan_rows(desired, actual(ROW, FOREIGN, a="1", b="2"), SB)
    assert plan.before == {"connections": {"pssl:6642:[::]": {"role": ""}}, "options": {"b": "2"}}
    assert plan.after == {"connections": {"pssl:6642:[::]": {"role": "x"}}, "options": {"b": None}}


@pytest.mark.parametrize(
    ("current", "desired", "steps"),
    [
        (1000, 1000, []),
        (1000, 16000, [2000, 4000, 8000, 16000]),
        (1000, 3000, [2000, 3000]),
        (16000, 4000, [4000]),
        (100, 600000, [200, 400, 800, 1600, 3200, 6400, 12800, 25600, 51200, 102400, 204800, 409600, 600000]),
    ],
)
def test_timer_steps(current: int, desired: int, steps: list[int]) -> None:
    assert timer_steps(current, desired) == steps


def test_values_are_strings_as_the_database_stores_them() -> None:
    desired = desired_from_params(params(options={"a": True, "b": 5, "c": None, 6: "x", "d": ""}))
    assert desired.options == {"a": "true", "b": "5", "c": None, "6": "x", "d": ""}


def test_columns_that_are_absent_are_left_alone() -> None:
    connections = [
        {"target": " pssl:6642:[::] ", "role": "", "read_only": None, "inactivity_probe": 0, "max_backoff": None}
    ]
    assert desired_from_params(params(connections=connections)).connections == {
        "pssl:6642:[::]": {"role": "", "inactivity_probe": 0}
    }


def test_an_empty_role_is_fine_where_there_are_no_roles() -> None:
    item = {"target": "pssl:6641:[::]", "role": "", "read_only": False}
    assert desired_from_params(params(database="northbound", connections=[item])).connections == {"pssl:6641:[::]": {}}


REFUSED = [
    ("a timer below the range", {"election_timer": 99}, "out of range"),
    ("a timer above the range", {"election_timer": 600001}, "out of range"),
    ("a target twice", {"connections": [{"target": "ptcp:1"}, {"target": "ptcp:1"}]}, "twice"),
    ("a target that is none", {"connections": [{"target": "6642"}]}, "no target"),
    ("a target with a blank", {"connections": [{"target": "pssl:6642: ::"}]}, "no target"),
    ("an empty target", {"connections": [{"target": ""}]}, "no target"),
    ("a role in the Northbound database", {"database": "northbound", "connections": [{"target": "ptcp:1", "role": "x"}]}, "Southbound"),
    ("a negative probe", {"connections": [{"target": "ptcp:1", "inactivity_probe": -1}]}, "negative"),
    ("a back-off below a second", {"connections": [{"target": "ptcp:1", "max_backoff": 999}]}, "1000"),
    ("purge without a list", {"purge_connections": True}, "needs connections"),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "message"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_refused(changes: dict[str, t.Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        desired_from_params(params(**changes))


@pytest.mark.parametrize(
    "target", ["pssl:6642", "ptcp:6642:127.0.0.1", "pssl:6642:[::]", "punix:/run/x", "ssl:[::1]:6642", "tcp:host:1"]
)
def test_targets(target: str) -> None:
    assert desired_from_params(params(connections=[{"target": target}])).connections == {target: {}}
