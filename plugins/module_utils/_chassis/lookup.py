# SPDX-License-Identifier: GPL-3.0-or-later
"""The edge: reads the rows of the Southbound database that concern one chassis, with the standard library alone (pods lack the library ovs)."""

from __future__ import annotations

import functools
import os
import socket
import typing as t
import zlib

from .._base.databases import DATABASE_NAMES, TITLES
from .._base.deadline import Deadline
from .._base.errors import OvnError
from .._ovsdb.endpoint import Endpoint, first_answer, parse_endpoint
from .._ovsdb.rows import Caller, decode, select, transact
from .._ovsdb.tls_files import NO_TLS, TlsFiles
from .._ovsdb.wire import Connection
from .external_ids import REMOTE, SYSTEM_ID, settings_in_use
from .heartbeats import describe_chassis
from .registration import LocalChassis
from .southbound_rows import (
    IDENTITY,
    NAMES_AND_TUNNELS,
    ChassisRow,
    Columns,
    Condition,
    Tables,
    chassis_and_address_owners,
    chassis_rows,
    conditions_of,
    last_heartbeat,
    private_rows,
    select_operations,
)
from .text import read_zones

# What the Open vSwitch database of a host has of its chassis, and the Southbound database of a central host of all. Read only.


def read_chassis(database: str, seconds: float) -> dict[str, str]:
    """Return `system_id`, `remote` and `hostname` of the chassis; the first two are empty if there is no database, or none that answers."""
    # An Open vSwitch that does not run has no chassis either.
    rows = read_tables(database, "Open_vSwitch", {"Open_vSwitch": ["external_ids"]}, seconds).get("Open_vSwitch")
    settings = settings_in_use(rows[0]["external_ids"] if rows else {})
    return {
        "system_id": settings.get(SYSTEM_ID, ""),
        "remote": settings.get(REMOTE, ""),
        "hostname": settings.get("hostname") or socket.gethostname(),
    }


def read_registered(database: str, seconds: float) -> dict[str, t.Any]:
    """Return the rows of all registered chassis by table; empty without a Southbound server at this socket that answers."""
    return read_tables(database, DATABASE_NAMES["southbound"], NAMES_AND_TUNNELS, seconds)


def read_tables(
    database: str, name: str, tables: t.Mapping[str, t.Sequence[str]], seconds: float
) -> dict[str, list[dict[str, t.Any]]]:
    """Return the rows of these tables; empty if no server with the database of this name answers at this endpoint."""
    endpoint = parse_endpoint(database)
    if endpoint.scheme == "unix" and not os.path.exists(endpoint.host):
        return {}
    try:
        with Connection(endpoint, NO_TLS, Deadline(seconds)) as connection:
            return select(connection, name, tables)
    except (OvnError, OSError):
        return {}


# All chassis of a Southbound database as plain values: what the inventory plugin returns of each.

# What ovn_sync returns of a chassis under the same names.
_SHARED = (
    "name",
    "hostname",
    "encapsulations",
    "bridge_mappings",
    "cms_options",
    "gateway",
    "transport_zones",
    "nb_cfg",
    "nb_cfg_timestamp",
)


def list_chassis(tables: Tables) -> list[dict[str, t.Any]]:
    """Return one dictionary per chassis, sorted by name."""
    chassis, latest = chassis_rows(tables), last_heartbeat(tables)
    return [
        {
            **{key: entry[key] for key in _SHARED},
            "availability_zones": read_zones(entry["cms_options"]),
            "other_config": chassis[entry["name"]].settings,
            "current": entry["alive"],
        }
        for entry in describe_chassis(chassis.values(), private_rows(tables).values(), latest, latest)
        if entry["registered"]
    ]


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
