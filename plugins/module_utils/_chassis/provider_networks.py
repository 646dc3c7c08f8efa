# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

Bridges of bridge mappings through which nothing leaves the host: neither OVN nor Neutron says so, packets are dropped.
"""

from __future__ import annotations

import typing as t

from .._deadline import Deadline
from .._ovsdb.rows import as_list, as_optional, decode
from .bridges import OVN_PORT_KEYS, DesiredBridge
from .external_ids import SYSTEM_ID
from .heartbeats import parse_bridge_mappings

if t.TYPE_CHECKING:
    from .database import LocalDatabase

_MAPPINGS = "ovn-bridge-mappings"
_COLUMNS = ["_uuid", "type", "admin_state", "link_state", "error"]


class Interface(t.NamedTuple):
    """A network device of a port. A state is "up", "down", or empty if Open vSwitch does not know it."""

    kind: str = ""
    admin_state: str = ""
    link_state: str = ""
    error: str = ""

    @property
    def problem(self) -> str:
        """Return what is wrong with it and what to do, as the rest of a sentence; empty if it passes packets."""
        if self.kind == "internal":  # up or not is a matter of who uses it
            return ""
        if self.error:
            return f"cannot be used: {self.error}. Correct its name in the bridge mapping, or create the device."
        if self.admin_state == "down":
            return "is down (admin_state), so nothing passes through it. Let the network configuration of the host bring it up, without an address."
        if self.link_state == "down":
            return "has no link (link_state is down), so nothing passes through it. Check its cable and the port of the switch."
        return ""


Ports = t.Mapping[str, t.Sequence[Interface]]  # by name; only a bond has several network devices


def port_problem(interfaces: t.Sequence[Interface]) -> str:
    """Return what is wrong with a port, as `Interface.problem`: a bond passes packets as long as one of its devices does."""
    problems = [one.problem for one in interfaces]
    return problems[0] if problems and all(problems) else ""


def network_warnings(
    chassis: str,
    mappings: t.Iterable[t.Mapping[str, str]],
    bridges: t.Mapping[str, Ports],
    desired: t.Mapping[str, DesiredBridge],
) -> list[str]:
    """Return a message for each bridge of a mapping without a port, and for each port of one that passes nothing.

    `bridges` has the ports of each bridge that exists, without its own and those of ovn-controller. Check mode has not added those of `desired` yet.
    """
    networks: dict[str, list[str]] = {}
    for mapping in mappings:
        networks.setdefault(mapping["bridge"], []).append(mapping["physical_network"])
    found = []
    for bridge, names in networks.items():
        place = f"bridge {bridge} ({', '.join(names)})"
        ports = bridges.get(bridge)
        if ports is None and bridge not in desired:
            found.append(
                f"Chassis {chassis}: {place} does not exist, so nothing reaches that provider network. Create it, or correct {_MAPPINGS}."
            )
        elif not ports and not desired.get(bridge, DesiredBridge()).ports:
            found.append(
                f"Chassis {chassis}: {place} has no port but its own, so what is sent to that provider network stays on this host. "
                "Name its port under `ports` of the bridge mapping, or let the network configuration of the host add it."
            )
        for port, interfaces in (ports or {}).items():
            problem = port_problem(interfaces)
            if problem:
                found.append(f"Chassis {chassis}: port {port} of {place} {problem}")
    return found


def read_network_warnings(
    database: LocalDatabase, settings: t.Mapping[str, str | None], desired: t.Mapping[str, DesiredBridge]
) -> list[str]:
    """Return the messages about a chassis with these external_ids, as its database has its bridges now."""
    mappings = parse_bridge_mappings(settings.get(_MAPPINGS) or "")
    if not mappings:
        return []
    bridges = _read_ports(database, sorted({mapping["bridge"] for mapping in mappings}))
    return network_warnings(settings.get(SYSTEM_ID) or "(without a name)", mappings, bridges, desired)


def _read_ports(database: LocalDatabase, names: t.Sequence[str]) -> dict[str, dict[str, list[Interface]]]:
    """Return the ports of these bridges as far as they exist, with their devices. Bridges of mappings are short, that of guests is not read."""
    database.connection.deadline = Deadline(database.timeout)
    found = database.select(*(("Bridge", [["name", "==", name]]) for name in names), columns=["name", "ports"])
    bridges = {row["name"]: as_list(decode(row["ports"])) for rows in found for row in rows}
    ports = _by_uuid(
        database,
        "Port",
        [uuid for uuids in bridges.values() for uuid in uuids],
        ["_uuid", "name", "interfaces", "external_ids"],
    )
    outward = {
        uuid: row
        for uuid, row in ports.items()
        if row["name"] not in bridges and not any(key in row["external_ids"] for key in OVN_PORT_KEYS)
    }
    devices = _by_uuid(
        database, "Interface", [uuid for row in outward.values() for uuid in as_list(row["interfaces"])], _COLUMNS
    )
    return {
        bridge: {
            outward[uuid]["name"]: [
                _interface(devices[one]) for one in as_list(outward[uuid]["interfaces"]) if one in devices
            ]
            for uuid in uuids
            if uuid in outward
        }
        for bridge, uuids in bridges.items()
    }


def _by_uuid(
    database: LocalDatabase, table: str, uuids: t.Sequence[str], columns: t.Sequence[str]
) -> dict[str, dict[str, t.Any]]:
    """Return the decoded rows of these uuids; one that is gone meanwhile is left out."""
    answers = database.select(*((table, [["_uuid", "==", ["uuid", uuid]]]) for uuid in uuids), columns=columns)
    rows = ({column: decode(value) for column, value in row.items()} for rows in answers for row in rows)
    return {row["_uuid"]: row for row in rows}


def _interface(row: t.Mapping[str, t.Any]) -> Interface:
    states = (as_optional(row[column]) or "" for column in ("admin_state", "link_state", "error"))
    return Interface(row["type"], *states)
