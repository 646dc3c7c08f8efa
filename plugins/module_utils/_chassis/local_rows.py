# SPDX-License-Identifier: GPL-3.0-or-later
"""What the Open vSwitch database of a host has of its chassis, and the Southbound database of a central host of all. Read only."""

from __future__ import annotations

import os
import socket
import typing as t

from .._base.databases import DATABASE_NAMES
from .._base.deadline import Deadline
from .._base.errors import OvnError
from .._ovsdb.endpoint import parse_endpoint
from .._ovsdb.rows import select
from .._ovsdb.tls_files import NO_TLS
from .._ovsdb.wire import Connection
from .external_ids import REMOTE, SYSTEM_ID, settings_in_use
from .southbound_rows import NAMES_AND_TUNNELS


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
