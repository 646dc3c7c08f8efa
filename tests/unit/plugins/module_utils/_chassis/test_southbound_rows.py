"""How rows become chassis, which rows belong to one, and what deletes them; a real database is asked in tests/integration/test_chassis_rows.py."""

from __future__ import annotations

import types
import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._chassis.southbound_rows import (
    DETAILS,
    IDENTITY,
    NAME_COLUMNS,
    ChassisRow,
    PrivateRow,
    chassis_and_address_owners,
    chassis_rows,
    conditions_of,
    delete_operations,
    expect_chassis,
    last_heartbeat,
    private_rows,
    select_operations,
)

ROWS: dict[str, list[dict[str, t.Any]]] = {
    "Chassis": [
        {
            "name": "c1",
            "hostname": "host1",
            "other_config": {"ovn-cms-options": "x,c5c3-ovn-owner=abc"},
            "external_ids": {"ovn-cms-options": "old", "only": "here"},
            "transport_zones": ["z2", "z1"],
            "nb_cfg": 5,
        },
        {"name": "c2"},
    ],
    "Encap": [
        {"chassis_name": "c1", "type": "geneve", "ip": "192.0.2.1"},
        {"chassis_name": "c1", "type": "vxlan", "ip": "192.0.2.1"},
        {"chassis_name": "c0", "type": "geneve", "ip": "192.0.2.9"},
    ],
    "Chassis_Private": [{"name": "c1", "nb_cfg": 7, "nb_cfg_timestamp": 1700000000000}, {"name": "orphan"}],
    "SB_Global": [{"nb_cfg": 8}],
}
C1 = ChassisRow(
    "c1",
    "host1",
    frozenset({("geneve", "192.0.2.1"), ("vxlan", "192.0.2.1")}),
    {"ovn-cms-options": "x,c5c3-ovn-owner=abc", "only": "here"},
    ("z2", "z1"),
    5,
)


def as_dictionaries(table: str) -> list[t.Any]:
    return list(ROWS[table])


def as_objects(table: str) -> list[t.Any]:
    """Rows of ovs.db.idl have columns as attributes, and no attribute for what was not registered."""
    return [types.SimpleNamespace(**row) for row in ROWS[table]]


both = pytest.mark.parametrize("tables", [as_dictionaries, as_objects], ids=["dictionaries", "rows of a replica"])
Tables = t.Callable[[str], list[t.Any]]


@both
def test_chassis_with_their_encapsulations(tables: Tables) -> None:
    assert chassis_rows(tables) == {"c1": C1, "c2": ChassisRow("c2")}
    assert chassis_rows(tables)["c1"].addresses == {"192.0.2.1"}


@both
def test_a_private_row_without_a_chassis_is_still_there(tables: Tables) -> None:
    assert private_rows(tables) == {"c1": PrivateRow("c1", 7, 1700000000000), "orphan": PrivateRow("orphan")}


@both
def test_the_last_heartbeat(tables: Tables) -> None:
    assert last_heartbeat(tables) == 8


def test_before_the_first_heartbeat() -> None:
    assert last_heartbeat(lambda _table: []) == 0


@both
def test_owners_of_addresses_are_known_by_their_encapsulations_alone(tables: Tables) -> None:
    other = ChassisRow("c0", "", frozenset({("geneve", "192.0.2.9")}))
    assert chassis_and_address_owners(tables, "c1") == [other, C1, ChassisRow("c2")]
    assert chassis_and_address_owners(tables, "c0") == [C1, ChassisRow("c2")], "an encapsulation alone registers nobody"


@pytest.mark.parametrize(
    ("settings", "owner"),
    [
        ({}, ""),
        ({"ovn-cms-options": "enable-chassis-as-gw"}, ""),
        ({"ovn-cms-options": "a, c5c3-ovn-owner=abc"}, "abc"),
        ({"c5c3-ovn-owner": "abc"}, ""),
    ],
    ids=["no settings", "other tokens", "the mark of a cluster", "a key of that name"],
)
def test_the_owner_of_a_chassis(settings: dict[str, str], owner: str) -> None:
    assert ChassisRow("c", settings=settings).owner == owner


def test_a_zone_alone_arrives_without_its_set() -> None:
    """RFC 7047: a set of one may be written as its element."""
    rows = {"Chassis": [{"name": "c", "transport_zones": "z1"}], "Encap": []}
    assert chassis_rows(lambda table: rows[table])["c"].transport_zones == ("z1",)


def test_rows_are_selected_by_name_and_by_address() -> None:
    selects = select_operations(conditions_of("c1", {"192.0.2.2", "192.0.2.1"}), IDENTITY)
    assert [(one["table"], one["where"]) for one in selects] == [
        ("Chassis", [["name", "==", "c1"]]),
        ("Encap", [["chassis_name", "==", "c1"]]),
        ("Encap", [["ip", "==", "192.0.2.1"]]),
        ("Encap", [["ip", "==", "192.0.2.2"]]),
    ]
    assert selects[0]["columns"] == IDENTITY["Chassis"]


def test_rows_with_an_ipv6_address_are_selected_in_every_spelling() -> None:
    """Those rows are all of the table, so it is read once."""
    addresses = {"2001:db8::1", "2001:db8::2", "192.0.2.1"}
    assert conditions_of("c1", addresses)["Encap"] == [["chassis_name", "==", "c1"], ["ip", "!=", ""]]
    rows = {"Chassis": [], "Encap": [{"chassis_name": "c2", "type": "geneve", "ip": "2001:DB8:0:0::1"}]}
    (other,) = chassis_and_address_owners(lambda table: rows[table], "c1")
    assert other.addresses == {"2001:db8::1"}


def test_everything_with_the_name_is_deleted_and_nothing_else() -> None:
    operations = delete_operations(["c1", "c2"])
    assert {one["op"] for one in operations} == {"delete"}
    assert [(one["table"], one["where"][0][2]) for one in operations] == [
        (table, name) for name in ("c1", "c2") for table in NAME_COLUMNS
    ]
    assert all(one["where"] == [[NAME_COLUMNS[one["table"]], "==", one["where"][0][2]]] for one in operations)


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([], []),
        ([{"_uuid": "u", "name": "c1", "hostname": "h"}], [{"_uuid": ["uuid", "u"], "hostname": "h"}]),
    ],
    ids=["nobody has registered meanwhile", "it is the same row"],
)
def test_a_deletion_is_guarded(rows: list[dict[str, str]], expected: list[dict[str, t.Any]]) -> None:
    guard = expect_chassis("c1", rows)
    assert (guard["op"], guard["timeout"], guard["until"]) == ("wait", 0, "==")
    assert (guard["where"], guard["rows"]) == ([["name", "==", "c1"]], expected)


def test_details_hold_all_that_identifies() -> None:
    assert all(set(columns) <= set(DETAILS[table]) for table, columns in IDENTITY.items())
