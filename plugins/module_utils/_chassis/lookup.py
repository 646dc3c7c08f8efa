# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

The edge: one look at the rows of the Southbound database that concern one chassis, with the standard library alone (pods lack the library ovs).
"""

from __future__ import annotations

import typing as t
import zlib

from .._databases import DATABASE_NAMES
from .._deadline import Deadline
from .._errors import InvalidInput, OvnError, Unreachable
from .._ovsdb.endpoint import Endpoint
from .._ovsdb.rows import decode, transact
from .._ovsdb.tls_files import TlsFiles
from .._ovsdb.wire import Connection
from .cms_options import owner_in
from .external_ids import CMS_OPTIONS
from .registration import Me, Registered

_ANSWER = t.TypeVar("_ANSWER")


def look_up(me: Me, endpoints: t.Sequence[Endpoint], tls: TlsFiles, deadline: Deadline) -> list[Registered]:
    """Our chassis if it is there, and the owners of our addresses (their host names are not asked for)."""
    selects = [_select("Chassis", ["name", "hostname", "other_config"], ["name", "==", me.name])]
    conditions = [["chassis_name", "==", me.name], *(["ip", "==", ip] for ip in sorted(me.addresses))]
    selects += [_select("Encap", ["chassis_name", "type", "ip"], condition) for condition in conditions]

    def ask(connection: Connection) -> list[Registered]:
        chassis, *encapsulations = transact(connection, DATABASE_NAMES["southbound"], selects)
        return _registered(me, chassis["rows"], [row for answer in encapsulations for row in answer["rows"]])

    # Hundreds of nodes that start at once must not all ask the first member.
    start = zlib.crc32(me.name.encode()) % max(1, len(endpoints))
    return ask_any([*endpoints[start:], *endpoints[:start]], tls, deadline, ask)


def ask_any(
    endpoints: t.Sequence[Endpoint], tls: TlsFiles, deadline: Deadline, ask: t.Callable[[Connection], _ANSWER]
) -> _ANSWER:
    """What the first member answers that answers at all."""
    errors: list[OvnError] = []
    for endpoint in endpoints:
        try:
            with Connection(endpoint, tls, deadline.within(max(2.0, deadline.seconds / len(endpoints)))) as connection:
                return ask(connection)
        except InvalidInput:
            raise
        except OvnError as e:
            errors.append(e)
    if len(errors) == 1:
        raise errors[0]
    reasons = " ".join(map(str, errors)) or "No endpoint is given."
    raise (type(errors[0]) if errors else Unreachable)(f"No server of the Southbound database can be used. {reasons}")


def _select(table: str, columns: list[str], condition: list[t.Any]) -> dict[str, t.Any]:
    return {"op": "select", "table": table, "where": [condition], "columns": columns}


def _registered(me: Me, chassis: list[dict[str, t.Any]], encapsulations: list[dict[str, t.Any]]) -> list[Registered]:
    found: dict[str, set[tuple[str, str]]] = {}
    for row in encapsulations:
        found.setdefault(row["chassis_name"], set()).add((decode(row["type"]), row["ip"]))
    hostnames = {row["name"]: row["hostname"] for row in chassis}
    owners = {row["name"]: owner_in(decode(row["other_config"]).get(CMS_OPTIONS, "")) for row in chassis}
    names = {*hostnames, *(found.keys() - {me.name})}
    return [
        Registered(name, hostnames.get(name, ""), frozenset(found.get(name, ())), owners.get(name, ""))
        for name in sorted(names)
    ]
