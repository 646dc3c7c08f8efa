# SPDX-License-Identifier: GPL-3.0-or-later
"""Bridges of bridge mappings through which nothing leaves the host: neither OVN nor Neutron says so, packets are dropped."""

from __future__ import annotations

import typing as t

from .._base.deadline import Deadline
from .._ovsdb.rows import as_list, as_optional, decode
from .bridges import OVN_PORT_KEYS, DesiredBridge
from .external_ids import BRIDGE_MAPPINGS, SYSTEM_ID, settings_in_use
from .heartbeats import bridge_mappings_in
from .text import mappings_with_blanks

if t.TYPE_CHECKING:
    from .database import LocalDatabase
    from .plan import ChassisPlan, DesiredChassis, ObservedChassis

_NAME_IT = "Name its port under `ports` of the bridge mapping, or let the network configuration of the host add it."
_LET_THEM = "Let whoever manages that bridge add its port."
PORT_COLUMNS = ["_uuid", "name", "interfaces", "external_ids"]
INTERFACE_COLUMNS = ["_uuid", "type", "admin_state", "link_state", "error"]


class PortProblem(t.NamedTuple):
    """What is wrong with a port, as the rest of a sentence, and what to do about one that the options name."""

    fault: str
    step: str


class Interface(t.NamedTuple):
    """A network device of a port. A state is "up", "down", or empty if Open vSwitch does not know it."""

    kind: str = ""
    admin_state: str = ""
    link_state: str = ""
    error: str = ""

    def problem(self, *, is_new: bool = False, may_be_missing: bool = False) -> PortProblem | None:
        """Return what is wrong with it; None if it passes packets, or if it `may_be_missing` and waits for its device."""
        if self.kind == "internal":  # up or not is a matter of who uses it
            return None
        if self.error:
            step = "Correct its name in the bridge mapping, or create the device."
            return None if may_be_missing else PortProblem(f"cannot be used: {self.error.rstrip('.')}", step)
        if self.admin_state == "down":
            step = "Let the network configuration of the host bring it up, without an address."
            return PortProblem("is down (admin_state)", step)
        if self.link_state == "down" and not is_new and self.kind != "dpdk":  # these may still negotiate
            step = "Check its cable and the port of the switch."
            return PortProblem("has no link (link_state is down)", step)
        return None


Ports = t.Mapping[str, t.Sequence[Interface]]  # by name; only a bond has several network devices
Rows = t.Mapping[str, t.Mapping[str, t.Any]]  # decoded, by uuid


class Circumstances(t.NamedTuple):
    """What a message depends on beside the bridges. `foreign`: bridges to which the options may not add a port."""

    foreign: t.Container[str] = ()
    new_ports: t.Container[str] = ()
    allow_missing_ports: bool = False


_ORDINARY = Circumstances()


def port_problem(interfaces: t.Iterable[Interface], **circumstances: bool) -> PortProblem | None:
    """Return what is wrong with a port, as `Interface.problem`: a bond passes packets as long as one of its devices does."""
    problems = [one.problem(**circumstances) for one in interfaces]
    return problems[0] if problems and all(problems) else None


def outward_problems(ports: Ports) -> dict[str, PortProblem]:
    """Return what is wrong with each port that leads out; nothing if one of them passes packets, or if none leads out."""
    outward = [port for port, devices in ports.items() if any(one.kind != "internal" for one in devices)]
    problems = {port: problem for port in outward if (problem := port_problem(ports[port]))}
    return problems if len(problems) == len(outward) else {}


def bridge_ports(
    bridges: t.Mapping[str, t.Sequence[str]], ports: Rows, interfaces: Rows
) -> dict[str, dict[str, list[Interface]]]:
    """Return the ports of these bridges with their devices, without those of bridges and of ovn-controller. `bridges` has the uuids of ports."""
    others = {
        uuid: row
        for uuid, row in ports.items()
        if row["name"] not in bridges and not any(key in row["external_ids"] for key in OVN_PORT_KEYS)
    }
    return {
        bridge: {
            others[uuid]["name"]: [
                _interface(interfaces[one]) for one in as_list(others[uuid]["interfaces"]) if one in interfaces
            ]
            for uuid in uuids
            if uuid in others
        }
        for bridge, uuids in bridges.items()
    }


def network_warnings(
    chassis: str,
    mappings: t.Sequence[t.Mapping[str, str]],
    bridges: t.Mapping[str, Ports],
    desired: t.Mapping[str, DesiredBridge],
    circumstances: Circumstances = _ORDINARY,
) -> list[str]:
    """Return a message for each bridge of a mapping without a way out, and for each port of one that passes nothing.

    `bridges` has the ports of each bridge that exists, without its own and those of ovn-controller. Check mode has not added those of `desired` yet.
    """
    networks: dict[str, list[str]] = {}
    for mapping in mappings:
        networks.setdefault(mapping["bridge"], []).append(mapping["physical_network"])
    found = [
        f'Chassis {chassis}: the bridge mapping "{one}" has a blank that ovn-controller reads as part of a name. Correct ovn-bridge-mappings.'
        for one in mappings_with_blanks(mappings)
    ]
    for bridge, names in networks.items():
        place = f"bridge {bridge} ({', '.join(names)})"
        ports = bridges.get(bridge)
        declared = desired.get(bridge, DesiredBridge()).ports
        if ports is None and bridge not in desired:
            problems = [
                f"{place} does not exist, so nothing reaches that provider network. Create it, or correct {BRIDGE_MAPPINGS}."
            ]
        elif not _has_way_out(ports or {}, declared):
            is_foreign = bridge not in desired or bridge in circumstances.foreign
            problems = [
                f"{place} has no port that leads out, so what is sent to that provider network stays on this host. "
                f"{_LET_THEM if is_foreign else _NAME_IT}"
            ]
        else:
            problems = _port_problems(place, ports or {}, declared, circumstances)
        found += [f"Chassis {chassis}: {problem}" for problem in problems]
    return found


def _has_way_out(ports: Ports, declared: t.Iterable[str]) -> bool:
    """Whether there is, or will be, a port that is more than a leg of the host: a device, a bond, a tunnel or a patch to another bridge."""
    return any(port not in ports for port in declared) or any(
        one.kind != "internal" for interfaces in ports.values() for one in interfaces
    )


def _port_problems(place: str, ports: Ports, declared: t.Sequence[str], circumstances: Circumstances) -> list[str]:
    """Return the problems of the declared ports. Those of others, such as a stopped guest's, matter only where no other port leads out."""
    if declared:
        problems = {
            port: port_problem(
                ports[port],
                is_new=port in circumstances.new_ports,
                may_be_missing=circumstances.allow_missing_ports,
            )
            for port in declared
            if port in ports
        }
        return [
            f"port {port} of {place} {one.fault}, so nothing passes through it. {one.step}"
            for port, one in problems.items()
            if one
        ]
    return [
        f"port {port} of {place} {one.fault}, and no other port leads out. Let whoever manages that port correct it."
        for port, one in outward_problems(ports).items()
    ]


def read_network_warnings(
    database: LocalDatabase,
    desired: DesiredChassis | None,
    plan: ChassisPlan,
    actual: ObservedChassis,
    allow_missing_ports: bool,
) -> list[str]:
    """Return the messages about a chassis after this plan, as its database has its bridges now; none if it is to be absent. `actual`: before the plan."""
    if not desired:
        return []
    settings = settings_in_use(plan.settings_after(actual))
    mappings = bridge_mappings_in(settings)
    if not mappings:
        return []
    bridges = _read_ports(database, sorted({mapping["bridge"] for mapping in mappings}))
    foreign = {name for name, bridge in actual.bridges.items() if desired.preserve_foreign and not bridge.ours}
    circumstances = Circumstances(foreign, plan.bridges.new_ports, allow_missing_ports)
    return network_warnings(
        settings.get(SYSTEM_ID) or "(without a name)", mappings, bridges, desired.bridges, circumstances
    )


def _read_ports(database: LocalDatabase, names: t.Sequence[str]) -> dict[str, dict[str, list[Interface]]]:
    """Return the ports of these bridges as far as they exist, with their devices. Bridges of mappings are short, that of guests is not read."""
    database.connection.deadline = Deadline(database.timeout)
    found = database.select(*(("Bridge", [["name", "==", name]]) for name in names), columns=["name", "ports"])
    bridges = {row["name"]: as_list(decode(row["ports"])) for rows in found for row in rows}
    ports = _by_uuid(database, "Port", [uuid for uuids in bridges.values() for uuid in uuids], PORT_COLUMNS)
    devices = [uuid for row in ports.values() for uuid in as_list(row["interfaces"])]
    return bridge_ports(bridges, ports, _by_uuid(database, "Interface", devices, INTERFACE_COLUMNS))


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
