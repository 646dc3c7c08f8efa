# SPDX-License-Identifier: GPL-3.0-or-later
"""The `_Server` database: what an ovsdb-server reports about each database that it hosts (ovsdb-server(5))."""

from __future__ import annotations

import dataclasses
import typing as t

from .._base.deadline import Deadline
from .._base.errors import BadAnswer, Refused
from .endpoint import Endpoint
from .tls_files import TlsFiles
from .wire import Connection

# Commands on a daemon's control socket, as ovs-appctl(8) sends them.


def appctl(control_socket: str, command: str, *arguments: str, deadline: Deadline) -> str:
    """Return the text that `command` prints; `Refused` for an error of the command, `TimedOut` for a frozen daemon."""
    with Connection(Endpoint("unix", control_socket), TlsFiles(), deadline) as connection:
        return str(connection.call(command, list(arguments)))


_COLUMNS = ["_uuid", "name", "model", "connected", "leader", "cid", "sid", "index"]
# Parameters of the method `transact`.
SERVER_QUERY: list[t.Any] = ["_Server", {"op": "select", "table": "Database", "where": [], "columns": _COLUMNS}]


@dataclasses.dataclass(frozen=True)
class ServerRow:
    """A row of `_Server.Database`: the view of one server, not the state of the cluster."""

    name: str
    model: str
    connected: bool
    leader: bool
    cluster_id: str | None
    server_id: str | None
    index: int | None
    certificate: dict[str, t.Any] | None = None
    other_names: tuple[str, ...] = ()
    process: str = ""  # the row's UUID: another one after each start of the server


def _optional(value: t.Any) -> t.Any:
    """Return the value of an optional column: `["set", []]` is None, `["uuid", X]` is X."""
    if isinstance(value, list) and len(value) == 2:
        return None if value[0] == "set" else value[1]
    return value


def query_databases(endpoint: Endpoint, tls: TlsFiles, deadline: Deadline) -> dict[str, ServerRow]:
    """Return the rows of all databases that the server hosts, by name, without `_Server` itself."""
    with Connection(endpoint, tls, deadline) as connection:
        return read_databases(connection)


def read_databases(connection: Connection) -> dict[str, ServerRow]:
    """Return the same as `query_databases`, over an open connection."""
    result = connection.call("transact", SERVER_QUERY)
    return databases_in(result, connection.name, connection.peer_certificate)


def databases_in(result: t.Any, endpoint: str, certificate: dict[str, t.Any] | None = None) -> dict[str, ServerRow]:
    """Return the rows in the result of `SERVER_QUERY`, by name. `endpoint` is named in errors: `Refused`, `BadAnswer`."""
    rows = result[0].get("rows") if isinstance(result, list) and result and isinstance(result[0], dict) else None
    if rows is None:
        raise Refused(
            f"{endpoint} answered a query of _Server with {str(result)[:200]}: ovsdb-server 2.9 or later is needed."
        )
    try:
        return _by_name([{column: _optional(value) for column, value in row.items()} for row in rows], certificate)
    except (AttributeError, KeyError, TypeError) as e:
        raise BadAnswer(
            f"{endpoint} answered a query of _Server with rows that make no sense: {str(rows)[:200]}."
        ) from e


def _by_name(rows: list[dict[str, t.Any]], certificate: dict[str, t.Any] | None) -> dict[str, ServerRow]:
    names = {row["name"] for row in rows} - {"_Server"}
    return {
        row["name"]: ServerRow(
            name=row["name"],
            model=row["model"],
            connected=row["connected"],
            leader=row["leader"],
            cluster_id=row["cid"],
            server_id=row["sid"],
            index=row["index"],
            certificate=certificate,
            other_names=tuple(sorted(names - {row["name"]})),
            process=row["_uuid"],
        )
        for row in rows
        if row["name"] in names
    }


def query_server(endpoint: Endpoint, database: str, tls: TlsFiles, deadline: Deadline) -> ServerRow | None:
    """Return the row of `database` (OVN_Northbound, OVN_Southbound, Open_vSwitch), None if this server does not host it."""
    return query_databases(endpoint, tls, deadline).get(database)
