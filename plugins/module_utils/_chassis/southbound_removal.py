# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

The edge: deletes the rows of this host's chassis from the Southbound database, and no others.
"""

from __future__ import annotations

import functools
import typing as t

from .._databases import DATABASE_NAMES
from .._deadline import Deadline
from .._errors import Conflict, Refused, Unreachable
from .._ovsdb.endpoint import Endpoint
from .._ovsdb.rows import write
from .._ovsdb.server import read_databases
from .._ovsdb.tls_files import TlsFiles
from .._ovsdb.wire import Connection
from .lookup import ask_any, read_rows, spread
from .registration import LocalChassis, foreign_row
from .southbound_rows import (
    IDENTITY,
    NAME_COLUMNS,
    Columns,
    chassis_rows,
    conditions_of,
    delete_operations,
    expect_chassis,
)

_DATABASE = DATABASE_NAMES["southbound"]
_COLUMNS: Columns = {**IDENTITY, "Chassis": ["_uuid", *IDENTITY["Chassis"]], "Chassis_Private": ["name"]}

if t.TYPE_CHECKING:
    Rows = dict[str, list[dict[str, t.Any]]]  # table: decoded rows
else:  # Python 3.8 in a pod cannot evaluate it
    Rows = dict


def delete_rows(
    local: LocalChassis, endpoints: t.Sequence[Endpoint], tls: TlsFiles, timeout: float, *, check_mode: bool
) -> dict[str, list[str]]:
    """Delete what the Southbound database has of the chassis, and return that: table to names of rows; empty if there is nothing.

    A chassis of another host is `Refused` before anything is deleted. In check mode nothing is. `timeout` is in seconds.
    """
    deadline = Deadline(timeout)
    order = spread(endpoints, local.name)
    deleted: dict[str, list[str]] = {}
    while True:
        rows = ask_any(order, tls, deadline, functools.partial(_read, name=local.name))
        _refuse_foreign(local, rows)
        deleted = deleted or _names(rows)
        if check_mode or not any(rows.values()):
            return deleted
        try:
            ask_any(order, tls, deadline, functools.partial(_delete, name=local.name, rows=rows))
        except Conflict:
            if deadline.expired:
                raise
        else:
            return deleted


def _read(connection: Connection, *, name: str) -> Rows:
    """Return the rows of the chassis from a member that takes part in its cluster: the copy of another one may be old."""
    server = read_databases(connection).get(_DATABASE)
    if server is not None and not server.connected:
        raise Unreachable(
            f"{connection.name} has lost its cluster. Look at the Southbound members with c5c3.ovn.status, then run again."
        )
    return read_rows(connection, conditions_of(name), _COLUMNS)


def _delete(connection: Connection, *, name: str, rows: Rows) -> None:
    """Delete the rows of the chassis if it is still the one that was read, else `Conflict`."""
    operations = [expect_chassis(name, rows["Chassis"]), *delete_operations([name])]
    write(connection, _DATABASE, operations, "c5c3.ovn.ovn_chassis")


def _refuse_foreign(local: LocalChassis, rows: Rows) -> None:
    for row in chassis_rows(lambda table: rows[table]).values():
        reason = foreign_row(local, row)
        if reason:
            raise Refused(f"{reason} Nothing was changed.")


def _names(rows: Rows) -> dict[str, list[str]]:
    """Return the rows for people: chassis names, and encapsulations as `geneve 192.0.2.1`."""
    found = {
        table: sorted(f"{row['type']} {row['ip']}" if table == "Encap" else row["name"] for row in rows[table])
        for table in NAME_COLUMNS
    }
    return {table: names for table, names in found.items() if names}
