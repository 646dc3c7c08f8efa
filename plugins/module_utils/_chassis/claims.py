# SPDX-License-Identifier: GPL-3.0-or-later
"""What any chassis can claim in the Southbound database although it is another one's: the role ovn-controller does not prevent it, so it is reported. Pure,
and part of the archive for pods.
"""

from __future__ import annotations

import typing as t

from .._base.ip_addresses import canonical
from .._ovsdb.rows import as_list
from .lists import read_items
from .southbound_rows import Columns, Tables, value_of

# Beside the columns of southbound_rows.py. A chassis may name any row of Encap as one of its own.
CLAIMS: Columns = {
    "Chassis": ["name", "hostname", "encaps"],
    "Encap": ["chassis_name", "type", "ip"],
    "Port_Binding": ["logical_port", "type", "options", "chassis", "additional_chassis"],
}
_REQUESTED = "requested-chassis"


class MisplacedPort(t.NamedTuple):
    """A port that chassis have bound which options:requested-chassis does not name. All are names of chassis, `requested` as it was requested."""

    port: str
    requested: tuple[str, ...]
    chassis: tuple[str, ...]


def misplaced_ports(tables: Tables) -> list[MisplacedPort]:
    """Return the ports that are bound elsewhere than requested, sorted. Ports of other availability zones are not bound by chassis."""
    names: dict[t.Any, str] = {}
    by_hostname: dict[str, set[str]] = {}
    for row in tables("Chassis"):
        names[_uuid(row)] = name = value_of(row, "name", "")
        by_hostname.setdefault(value_of(row, "hostname", ""), set()).add(name)
    known = set(names.values())
    found = []
    for row in tables("Port_Binding"):
        requested = tuple(read_items(value_of(row, "options", {}).get(_REQUESTED, "")))
        if not requested or value_of(row, "type", "") == "remote":
            continue
        # northd looks for a name first, then for a host name.
        allowed = {name for one in requested for name in ({one} if one in known else by_hostname.get(one, set()))}
        bound = [*as_list(value_of(row, "chassis", [])), *as_list(value_of(row, "additional_chassis", []))]
        elsewhere = {names.get(_uuid(one), "") for one in bound} - allowed - {""}
        if elsewhere:
            found.append(MisplacedPort(value_of(row, "logical_port", ""), requested, tuple(sorted(elsewhere))))
    return sorted(found)


def borrowed_encapsulations(tables: Tables) -> dict[str, list[tuple[str, str]]]:
    """Return the (type, ip) of Encap rows that a chassis names as its own although they are another one's, by the name of the former."""
    encapsulations = {_uuid(row): row for row in tables("Encap")}
    found: dict[str, list[tuple[str, str]]] = {}
    for row in tables("Chassis"):
        name = value_of(row, "name", "")
        for one in as_list(value_of(row, "encaps", [])):
            encapsulation = encapsulations.get(_uuid(one))
            if encapsulation is not None and value_of(encapsulation, "chassis_name", "") != name:
                pair = (value_of(encapsulation, "type", ""), canonical(value_of(encapsulation, "ip", "")))
                found.setdefault(name, []).append(pair)
    return {name: sorted(pairs) for name, pairs in found.items()}


def conflicting_claims(tables: Tables) -> list[str]:
    """Return a message for each tunnel address and host name of several chassis, and for each port that is bound elsewhere than requested."""
    addresses = [(value_of(row, "chassis_name", ""), value_of(row, "ip", "")) for row in tables("Encap")]
    addresses += [(name, ip) for name, pairs in borrowed_encapsulations(tables).items() for _kind, ip in pairs]
    hostnames = ((value_of(row, "name", ""), value_of(row, "hostname", "")) for row in tables("Chassis"))
    return [
        *(
            f"Chassis {', '.join(names)} have the tunnel address {ip}."
            for ip, names in shared_values(addresses).items()
        ),
        *(f"Chassis {', '.join(names)} have the host name {name}." for name, names in shared_values(hostnames).items()),
        *(
            f"Port {one.port} is requested on {', '.join(one.requested)}, but bound by {', '.join(one.chassis)}."
            for one in misplaced_ports(tables)
        ),
    ]


def shared_values(pairs: t.Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Return each value that several chassis have, with their names; `pairs` of (name, value). An address counts in any of its spellings."""
    holders: dict[str, set[str]] = {}
    for name, value in pairs:
        if value:
            holders.setdefault(canonical(value).lower(), set()).add(name)
    return {value: sorted(names) for value, names in sorted(holders.items()) if len(names) > 1}


def _uuid(row: t.Any) -> t.Any:
    """Return the UUID of a dictionary, of a row of ovs.db.idl, or of a reference, which is a UUID already."""
    return row["_uuid"] if isinstance(row, dict) else getattr(row, "uuid", row)
