"""Everything comes from one transaction, also while others write; real servers are in tests/integration/test_database_info.py."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import Refused
from ansible_collections.c5c3.ovn.plugins.module_utils._control_plane.pod_database import PodConnection
from ansible_collections.c5c3.ovn.plugins.module_utils._ovsdb.table_reader import read_database

SCHEMA = {
    "name": "DB",
    "version": "1.0.0",
    "tables": {
        "Switch": {
            "columns": {
                "name": {"type": "string"},
                "ports": {"type": {"key": {"type": "uuid", "refTable": "Port"}, "min": 0, "max": "unlimited"}},
            }
        },
        "Port": {"columns": {"name": {"type": "string"}}},
    },
}
SERVER = {"_uuid": ["uuid", "s"], "name": "DB", "model": "clustered", "connected": True, "leader": False, "index": 7}


class Fake:
    """A server whose rows are another state for each transaction, the last of them from then on."""

    name = "tcp:192.0.2.1:6641"
    single_rows_bytes: int | None = None

    def __init__(self, *states: dict[str, dict[str, t.Any]], **server: t.Any) -> None:
        self.states = list(states)
        self.server = {**SERVER, "cid": ["uuid", "c"], "sid": ["uuid", "i"], **server}
        self.transactions: list[list[tuple[str, t.Any]]] = []

    def call(self, method: str, params: list[t.Any]) -> t.Any:
        if method == "get_schema":
            return SCHEMA
        if params[0] == "_Server":
            return [{"rows": [self.server]}]
        state = self.states.pop(0) if len(self.states) > 1 else self.states[0]
        self.transactions.append([(operation["table"], operation["where"]) for operation in params[1:]])
        return [{"rows": self._rows(state, operation)} for operation in params[1:]]

    def _rows(self, state: dict[str, dict[str, t.Any]], operation: dict[str, t.Any]) -> list[dict[str, t.Any]]:
        rows = [{"_uuid": ["uuid", key], **row} for key, row in state[operation["table"]].items()]
        for column, _function, value in operation["where"]:
            rows = [row for row in rows if row[column] == value]
        return [{column: row[column] for column in operation["columns"]} for row in rows]


def state(name: str, *ports: str) -> dict[str, dict[str, t.Any]]:
    references = ["set", [["uuid", port] for port in ports]]
    return {
        "Switch": {"a": {"name": name, "ports": references}},
        "Port": {port: {"name": f"p{port}"} for port in ports},
    }


def read(fake: Fake, **options: t.Any) -> t.Any:
    given = {"tables": ["Switch"], "columns": None, "where": None, "expand": ["ports"], "leader_only": False}
    return read_database(fake, "DB", {**given, **options})


def test_one_transaction_reads_all() -> None:
    fake = Fake(state("sw0", "1", "2"))
    facts = read(fake)
    assert [port["name"] for port in facts.tables["Switch"][0]["ports"]] == ["p1", "p2"]
    assert fake.transactions == [[("Switch", []), ("Port", [])]]
    assert (facts.schema_version, facts.endpoint, facts.server.index) == ("1.0.0", Fake.name, 7)


def test_only_the_rows_that_are_referred_to() -> None:
    fake = Fake(state("sw0", "1", "2"))
    where = {"name": "sw0"}
    assert [port["name"] for port in read(fake, where=where).tables["Switch"][0]["ports"]] == ["p1", "p2"]
    clause = [["name", "==", "sw0"]]
    single = [("Port", [["_uuid", "==", ["uuid", number]]]) for number in "12"]
    assert fake.transactions == [[("Switch", clause)], [("Switch", clause), *single]]


def test_rows_that_change_meanwhile_are_read_again() -> None:
    """The result is the last state as a whole, never a mixture."""
    fake = Fake(state("sw0", "1"), state("sw0", "2"), state("sw0", "2", "1"))
    where = {"name": "sw0"}
    assert [port["name"] for port in read(fake, where=where).tables["Switch"][0]["ports"]] == ["p1", "p2"]
    assert len(fake.transactions) == 3


def test_a_reference_to_a_row_that_is_not_there() -> None:
    broken = state("sw0", "1")
    broken["Port"] = {}
    assert read(Fake(broken), where={"name": "sw0"}).tables["Switch"][0]["ports"] == ["1"]
    assert read(Fake(broken)).tables["Switch"][0]["ports"] == ["1"]


def test_many_references_are_read_with_their_table() -> None:
    ports = [f"{number:03}" for number in range(201)]
    fake = Fake(state("sw0", *ports))
    assert len(read(fake, where={"name": "sw0"}).tables["Switch"][0]["ports"]) == 201
    assert [len(transaction) for transaction in fake.transactions] == [1, 2]


def test_a_short_request_reads_the_table_where_single_rows_would_be_too_long() -> None:
    """In a pod a request is an argument of a command, which has a limit."""
    ports = [f"{number:03}" for number in range(190)]
    fake = Fake(state("sw0", *ports))
    assert len(read(fake, where={"name": "sw0"}).tables["Switch"][0]["ports"]) == 190
    assert [len(transaction) for transaction in fake.transactions] == [1, 191]
    limited = Fake(state("sw0", *ports))
    limited.single_rows_bytes = PodConnection.single_rows_bytes
    assert len(read(limited, where={"name": "sw0"}).tables["Switch"][0]["ports"]) == 190
    assert [len(transaction) for transaction in limited.transactions] == [1, 2]
    few = Fake(state("sw0", *ports[:5]))
    few.single_rows_bytes = PodConnection.single_rows_bytes
    read(few, where={"name": "sw0"})
    assert [len(transaction) for transaction in few.transactions] == [1, 6]


@pytest.mark.parametrize(
    ("server", "options", "message"),
    [
        ({"name": "Other"}, {}, "serves Other, not DB"),
        ({"connected": False}, {}, "has lost its cluster or still joins it: its copy of DB may be old"),
        ({}, {"leader_only": True}, "does not lead DB, and leader_only is set"),
    ],
)
def test_servers_that_are_not_asked(server: dict[str, t.Any], options: dict[str, t.Any], message: str) -> None:
    fake = Fake(state("sw0"), **server)
    with pytest.raises(Refused, match=message):
        read(fake, **options)
    assert not fake.transactions


@pytest.mark.parametrize("server", [{"leader": True}, {"model": "relay"}, {"model": "standalone"}])
def test_leader_only_is_about_members_of_a_cluster(server: dict[str, t.Any]) -> None:
    assert read(Fake(state("sw0"), **server), leader_only=True).tables["Switch"][0]["name"] == "sw0"
