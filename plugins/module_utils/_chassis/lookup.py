# SPDX-License-Identifier: GPL-3.0-or-later
"""The edge: reads the rows of the Southbound database that concern one chassis, with the standard library alone (pods lack the library ovs)."""

from __future__ import annotations

import functools
import typing as t
import zlib

from .._base.databases import DATABASE_NAMES, TITLES
from .._base.deadline import Deadline
from .._ovsdb.endpoint import Endpoint
from .._ovsdb.first_answer import first_answer
from .._ovsdb.rows import Caller, decode, transact
from .._ovsdb.tls_files import TlsFiles
from .._ovsdb.wire import Connection
from .registration import LocalChassis
from .southbound_rows import (
    IDENTITY,
    ChassisRow,
    Columns,
    Condition,
    chassis_and_address_owners,
    conditions_of,
    select_operations,
)

_ANSWER = t.TypeVar("_ANSWER")


def look_up(
    local: LocalChassis, endpoints: t.Sequence[Endpoint], tls: TlsFiles, deadline: Deadline
) -> list[ChassisRow]:
    """Return our chassis if it is there, and the owners of our addresses (their host names are not asked for)."""

    def ask(connection: Connection) -> list[ChassisRow]:
        tables = read_rows(connection, conditions_of(local.name, local.addresses), IDENTITY)
        return chassis_and_address_owners(lambda table: tables[table], local.name)

    return ask_any(spread(endpoints, local.name), tls, deadline, ask)


def spread(endpoints: t.Sequence[Endpoint], name: str) -> list[Endpoint]:
    """Return the endpoints in an order of this chassis' own: hundreds that start at once must not all ask the first member."""
    start = zlib.crc32(name.encode()) % max(1, len(endpoints))
    return [*endpoints[start:], *endpoints[:start]]


def read_rows(
    connection: Caller, conditions: t.Mapping[str, t.Sequence[Condition]], columns: Columns
) -> dict[str, list[dict[str, t.Any]]]:
    """Return the rows that meet a condition of their table, decoded; one that meets several comes several times.

    It is one request, so one state of the database.
    """
    operations = select_operations(conditions, columns)
    tables: dict[str, list[dict[str, t.Any]]] = {table: [] for table in columns}
    for operation, answer in zip(operations, transact(connection, DATABASE_NAMES["southbound"], operations)):
        rows = ({column: decode(value) for column, value in row.items()} for row in answer["rows"])
        tables[operation["table"]] += rows
    return tables


def ask_any(
    endpoints: t.Sequence[Endpoint], tls: TlsFiles, deadline: Deadline, ask: t.Callable[[Connection], _ANSWER]
) -> _ANSWER:
    """Return the result of `ask` on the first member that answers. A conflict is an answer, too."""

    def ask_one(endpoint: Endpoint) -> _ANSWER:
        with Connection(endpoint, tls, deadline.within(max(2.0, deadline.seconds / len(endpoints)))) as connection:
            return ask(connection)

    return first_answer([functools.partial(ask_one, endpoint) for endpoint in endpoints], TITLES["southbound"])
