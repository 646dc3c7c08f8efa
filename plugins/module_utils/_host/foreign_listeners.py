# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether clients still find their listeners once a server has only those of the Connection table. Pure."""

from __future__ import annotations

import typing as t

from .._ovsdb.endpoint import Listener, parse_listener

_CLIENTS = {"northbound": "ovn-nbctl", "southbound": "ovn-sbctl"}


def listener_problems(
    database: str,
    desired: t.Sequence[t.Mapping[str, t.Any]],
    rows: t.Sequence[t.Mapping[str, t.Any]],
    command_line: t.Sequence[str],
) -> list[str]:
    """Return why clients would lose a listener, one sentence each.

    `desired` are the connections of the declared state, `rows` those of the Connection table (`_uuid`, `target`, for the Southbound `role`),
    `command_line` the remotes that the server was started with, which end with it.
    """
    by_port = {
        listener.port: (listener, item) for item in desired if (listener := parse_listener(item["target"])) is not None
    }
    problems = [
        problem
        for row in rows
        if (listener := parse_listener(row["target"])) is not None and listener.port in by_port
        for problem in _row_problem(database, row, listener, *by_port[listener.port])
    ]
    kept = {listener.port for row in rows if (listener := parse_listener(row["target"])) is not None}
    for target in command_line:
        listener = parse_listener(target)
        if listener is not None:
            wanted = by_port.get(listener.port)
            problems += _command_line_problem(database, target, listener, wanted, kept)
    return problems


def _row_problem(
    database: str, row: t.Mapping[str, t.Any], listener: Listener, desired: Listener, item: t.Mapping[str, t.Any]
) -> t.Iterator[str]:
    target = item["target"]
    if row["target"] == target:
        role = item.get("role")
        if role is not None and row.get("role", "") != role:
            yield (
                f'the listener {target} of {database} has the role "{row.get("role", "")}" and would get "{role}", which can lock chassis out. '
                "Set ovn_southbound_rbac=false, and change it when every chassis has a certificate with its own name"
            )
    elif listener.scheme != desired.scheme:
        yield f"clients of {database} use {row['target']}, and {target} is declared for that port. {_set_tls(listener)}"
    elif desired.is_wildcard and listener.host in ("0.0.0.0", "[::]"):
        yield (
            f"{database} has the listener {row['target']}, and {target} is declared, which cannot have the same port. "
            f'Set ovn_central_listen_address="{listener.host}"'
        )
    else:
        yield (
            f"{database} has the listener {row['target']}, and {target} is declared, which cannot have the same port. Rename it, its clients connect "
            f"again at once: {_CLIENTS[database]} set Connection {row['_uuid']} 'target=\"{target}\"'"
        )


def _command_line_problem(
    database: str,
    target: str,
    listener: Listener,
    wanted: tuple[Listener, t.Mapping[str, t.Any]] | None,
    kept: t.Container[int],
) -> t.Iterator[str]:
    if wanted is None:
        if listener.port not in kept:
            yield (
                f"{database} listens on {target} by its command line, which ends with the old server. "
                "Declare it in ovn_central_extra_connections, or see that no client uses it and start the server without it"
            )
        return
    desired, item = wanted
    if listener.port not in kept and item.get("role"):
        yield (
            f'the listener {target} of {database} has no role and would get "{item["role"]}", which can lock chassis out. '
            "Set ovn_southbound_rbac=false, and change it when every chassis has a certificate with its own name"
        )
    elif listener.scheme != desired.scheme:
        yield f"clients of {database} use {target}, and p{desired.scheme}:{desired.port} is declared. {_set_tls(listener)}"
    elif listener.host.startswith("[") and desired.host != "[::]":
        yield f'clients of {database} use IPv6 ({target}). Set ovn_central_listen_address="[::]"'


def _set_tls(listener: Listener) -> str:
    return f"Set ovn_tls={'true' if listener.scheme == 'ssl' else 'false'}"
