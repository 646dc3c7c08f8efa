# SPDX-License-Identifier: GPL-3.0-or-later
"""The test network without a library, for pods and hypervisors: one request that reads and one transaction that writes (RFC 7047 section 5.2)."""

from __future__ import annotations

import dataclasses
import functools
import typing as t

from .._base.databases import DATABASE_NAMES
from .._base.deadline import Deadline
from .._base.errors import Refused
from .._ovsdb.endpoint import Endpoint, first_answer
from .._ovsdb.rows import Caller, Operation, as_list, decode, expect, transact, write
from .._ovsdb.tls_files import TlsFiles
from .._ovsdb.wire import Connection

# The test network in the Northbound database: one logical switch with a port per hypervisor. What has to be written, decided from rows; no database here.
# Every row carries our mark. Rows without it are never touched, whatever their names are.

MARK = "c5c3-ovn-test-network"  # in external_ids, with the name of the test network
COMMENT = "c5c3.ovn.ovn_test_network"
SWITCH, PORT = "Logical_Switch", "Logical_Switch_Port"


@dataclasses.dataclass(frozen=True)
class SwitchPort:
    name: str
    addresses: str  # "MAC IP", as in Logical_Switch_Port.addresses


@dataclasses.dataclass(frozen=True)
class DesiredNetwork:
    """`ports` have to exist; other ports of the switch stay. Without `present` the switch and all of its ports go."""

    name: str
    ports: tuple[SwitchPort, ...] = ()
    present: bool = True


@dataclasses.dataclass(frozen=True)
class ObservedRow:
    """A switch or a port. `mark` is the test network that it belongs to, None if it is somebody else's."""

    uuid: str
    name: str
    mark: str | None
    addresses: tuple[str, ...] = ()  # of a port


@dataclasses.dataclass(frozen=True)
class Plan:
    """What to write in one transaction, and the same as `messages`: none if nothing is to be done."""

    create: bool = False  # the switch
    switch: str = ""  # UUID of the switch that is there
    add: tuple[SwitchPort, ...] = ()  # to the switch
    correct: tuple[tuple[str, str], ...] = ()  # UUID of a port, its new addresses
    delete: tuple[str, ...] = ()  # UUIDs of switches: their ports go with them, because nothing else holds them
    messages: tuple[str, ...] = ()


def make_plan(desired: DesiredNetwork, switches: t.Iterable[ObservedRow], ports: t.Iterable[ObservedRow]) -> Plan:
    """Return what to write. The rows are those with our mark or with a name of `desired`, or more."""
    switches, ports = list(switches), list(ports)
    own_switches = sorted(row.uuid for row in switches if row.mark == desired.name)
    own_ports = {row.name: row for row in ports if row.mark == desired.name}
    if not desired.present:
        names = [f"port {name}" for name in sorted(own_ports)]
        messages = (f"switch {desired.name}", *names) if own_switches else ()
        return Plan(delete=tuple(own_switches), messages=messages)
    _refuse_names_of_others(desired, switches, ports)
    if len(own_switches) > 1:
        raise Refused(
            f"There are {len(own_switches)} logical switches of the test network {desired.name}. "
            "Remove them with state: absent (ovn_ping_state=absent), then run again."
        )
    return _present(desired, own_switches, own_ports)


def _refuse_names_of_others(
    desired: DesiredNetwork, switches: t.Iterable[ObservedRow], ports: t.Iterable[ObservedRow]
) -> None:
    wanted = {port.name for port in desired.ports}
    foreign = {row.name for row in switches if row.name == desired.name and row.mark != desired.name}
    foreign |= {row.name for row in ports if row.name in wanted and row.mark != desired.name}
    if foreign:
        raise Refused(
            f"The Northbound database already has {', '.join(sorted(foreign))}, which is not part of a test network of ours. Choose another name."
        )


def _present(desired: DesiredNetwork, own_switches: t.Sequence[str], own_ports: t.Mapping[str, ObservedRow]) -> Plan:
    add = tuple(port for port in desired.ports if port.name not in own_ports)
    wrong = [
        port for port in desired.ports if port.name in own_ports and own_ports[port.name].addresses != (port.addresses,)
    ]
    return Plan(
        create=not own_switches,
        switch=next(iter(own_switches), ""),
        add=add,
        correct=tuple((own_ports[port.name].uuid, port.addresses) for port in wrong),
        messages=(
            *([] if own_switches else [f"switch {desired.name}"]),
            *(f"port {port.name} ({port.addresses})" for port in desired.ports if port in (*add, *wrong)),
        ),
    )


DATABASE = DATABASE_NAMES["northbound"]
_COLUMNS = {SWITCH: ["_uuid", "name", "external_ids"], PORT: ["_uuid", "name", "external_ids", "addresses"]}


def converge(
    endpoints: t.Sequence[Endpoint], tls: TlsFiles, deadline: Deadline, desired: DesiredNetwork, check_mode: bool
) -> Plan:
    """Write what differs, unless in check mode, and return what that is."""
    connect = [functools.partial(Connection, endpoint, tls, deadline) for endpoint in endpoints]
    with first_answer(connect, DATABASE) as connection:
        return converge_on(connection, desired, check_mode)


def converge_on(connection: Caller, desired: DesiredNetwork, check_mode: bool) -> Plan:
    """Do the same through one connection, which may be a command in a pod."""
    plan = make_plan(desired, *observed_rows(transact(connection, DATABASE, queries(desired))))
    if plan.messages and not check_mode:
        write(connection, DATABASE, operations(desired.name, plan), COMMENT)
    return plan


def _marked(name: str) -> list[t.Any]:
    return ["external_ids", "includes", _mark(name)]


def _mark(name: str) -> list[t.Any]:
    return ["map", [[MARK, name]]]


def queries(desired: DesiredNetwork) -> list[Operation]:
    """Return what reads our rows, and the rows that have a desired name. Conditions of one select must all be true, so there is one for each."""
    conditions = [
        (SWITCH, _marked(desired.name)),
        (SWITCH, ["name", "==", desired.name]),
        (PORT, _marked(desired.name)),
        *((PORT, ["name", "==", port.name]) for port in desired.ports),
    ]
    return [
        {"op": "select", "table": table, "where": [condition], "columns": _COLUMNS[table]}
        for table, condition in conditions
    ]


def observed_rows(answers: t.Sequence[dict[str, t.Any]]) -> tuple[list[ObservedRow], list[ObservedRow]]:
    """Return the switches and ports that `queries` found. A row that several of them found is there once."""

    def rows(some: t.Iterable[dict[str, t.Any]]) -> list[ObservedRow]:
        return list(dict.fromkeys(_row(row) for answer in some for row in answer["rows"]))

    return rows(answers[:2]), rows(answers[2:])


def _row(encoded: t.Mapping[str, t.Any]) -> ObservedRow:
    row = {column: decode(value) for column, value in encoded.items()}
    return ObservedRow(
        row["_uuid"], row["name"], row["external_ids"].get(MARK), tuple(as_list(row.get("addresses", [])))
    )


def operations(name: str, plan: Plan) -> list[Operation]:
    """Return the plan for the test network `name` as operations of one transaction."""
    if plan.delete:
        return [{"op": "delete", "table": SWITCH, "where": [_marked(name)]}]
    inserts = [
        {
            "op": "insert",
            "table": PORT,
            "row": {"name": port.name, "addresses": port.addresses, "external_ids": _mark(name)},
            "uuid-name": f"port{number}",
        }
        for number, port in enumerate(plan.add)
    ]
    new = ["set", [["named-uuid", insert["uuid-name"]] for insert in inserts]]
    todo = [_still_there(PORT, uuid) for uuid, _addresses in plan.correct]
    if plan.create:
        todo.append(_no_switch(name))
    elif inserts:
        todo.append(_still_there(SWITCH, plan.switch))
    todo += inserts
    todo += [
        {"op": "update", "table": PORT, "where": _is(uuid), "row": {"addresses": addresses}}
        for uuid, addresses in plan.correct
    ]
    if plan.create:
        row = {"name": name, "external_ids": _mark(name), "ports": new}
        todo.append({"op": "insert", "table": SWITCH, "row": row})
    elif inserts:
        todo.append(
            {"op": "mutate", "table": SWITCH, "where": _is(plan.switch), "mutations": [["ports", "insert", new]]}
        )
    return todo


def _is(uuid: str) -> list[list[t.Any]]:
    return [["_uuid", "==", ["uuid", uuid]]]


def _still_there(table: str, uuid: str) -> Operation:
    """Return what aborts the transaction if the row was deleted: an update would change nothing then, and a new port would vanish."""
    return expect(table, uuid, {"_uuid": ["uuid", uuid]})


def _no_switch(name: str) -> Operation:
    """Return what aborts the transaction if there is a switch of ours: names of switches are not unique, and two runs at once must not make two."""
    return {
        "op": "wait",
        "timeout": 0,
        "table": SWITCH,
        "where": [_marked(name)],
        "columns": ["name"],
        "until": "==",
        "rows": [],
    }
