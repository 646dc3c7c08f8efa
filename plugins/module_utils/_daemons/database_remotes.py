# SPDX-License-Identifier: GPL-3.0-or-later
"""Which listeners a database server has, beside its sockets on the host: those of the table Connection, and those that it was given itself. Pure."""

from __future__ import annotations

import typing as t

from .._ovsdb.listener import parse_listener
from .database_settings import Layout


class RemotesPlan(t.NamedTuple):
    """Commands `ovsdb-server/add-remote` and `remove-remote`, in that order: a target that is in both sets stays open."""

    add: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()

    @property
    def actions(self) -> list[str]:
        return [f"listen on {remote}" for remote in self.add] + [f"do not listen on {remote}" for remote in self.remove]


def table_remote(layout: Layout) -> str:
    """Return the remote that stands for all rows of the table Connection (ovsdb-server(1), "--remote")."""
    return f"db:{layout.name},{layout.global_table},connections"


def port_of(target: str) -> int | None:
    """Return the port of a passive connection method on the network, None for any other."""
    listener = parse_listener(target)
    return listener.port if listener else None


def plan_table(remotes: t.Collection[str], rows: t.Collection[str], layout: Layout) -> RemotesPlan:
    """Return what makes a server listen as the table says, after a run that has taken a port from it. `rows` are the targets in the table.

    A remote of its own keeps the port of a row from the table, also one with another address.
    """
    table, ports = table_remote(layout), {port_of(row) for row in rows} - {None}
    own = tuple(remote for remote in sorted(remotes) if remote in rows or port_of(remote) in ports)
    return RemotesPlan(() if table in remotes else (table,), own)


def plan_release(
    remotes: t.Collection[str], rows: t.Mapping[str, t.Mapping[str, t.Any]], port: int, layout: Layout
) -> RemotesPlan:
    """Return what makes a server give up a port, and keep the others; nothing if it does not listen there. `rows` of the table by their target.

    The row that has the port stays, since other members still use it, so the server gets its other rows as remotes of its own. Such a remote has no role and
    is not read-only: ports whose rows are, stay closed until the server listens as the table says again.
    """
    own = tuple(remote for remote in sorted(remotes) if port_of(remote) == port)
    table = table_remote(layout)
    if table not in remotes or all(port_of(row) != port for row in rows):
        return RemotesPlan((), own)
    others = tuple(
        target
        for target, row in sorted(rows.items())
        if port_of(target) != port and target not in remotes and not (row.get("role") or row.get("read_only"))
    )
    return RemotesPlan(others, (table, *own))
