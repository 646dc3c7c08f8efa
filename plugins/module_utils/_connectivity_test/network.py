# SPDX-License-Identifier: GPL-3.0-or-later
"""The test network in the Northbound database: one logical switch with a port per hypervisor. What has to be written, decided from rows; no database here.

Every row carries our mark. Rows without it are never touched, whatever their names are.
"""

from __future__ import annotations

import dataclasses
import typing as t

from .._base.errors import Refused

MARK = "c5c3-ovn-test-network"  # in external_ids, with the name of the test network
COMMENT = "c5c3.ovn.ovn_test_network"
SWITCH, PORT = "Logical_Switch", "Logical_Switch_Port"


@dataclasses.dataclass(frozen=True)
class SwitchPort:
    name: str
    addresses: str  # "MAC IP", as in Logical_Switch_Port.addresses


@dataclasses.dataclass(frozen=True)
class DesiredNetwork:
    """`ports` have to exist; other ports of the switch stay. Without `present` the switch and all of its ports go."""

    name: str
    ports: tuple[SwitchPort, ...] = ()
    present: bool = True


@dataclasses.dataclass(frozen=True)
class ObservedRow:
    """A switch or a port. `mark` is the test network that it belongs to, None if it is somebody else's."""

    uuid: str
    name: str
    mark: str | None
    addresses: tuple[str, ...] = ()  # of a port


@dataclasses.dataclass(frozen=True)
class Plan:
    """What to write in one transaction, and the same as `messages`: none if nothing is to be done."""

    create: bool = False  # the switch
    switch: str = ""  # UUID of the switch that is there
    add: tuple[SwitchPort, ...] = ()  # to the switch
    correct: tuple[tuple[str, str], ...] = ()  # UUID of a port, its new addresses
    delete: tuple[str, ...] = ()  # UUIDs of switches: their ports go with them, because nothing else holds them
    messages: tuple[str, ...] = ()


def make_plan(desired: DesiredNetwork, switches: t.Iterable[ObservedRow], ports: t.Iterable[ObservedRow]) -> Plan:
    """Return what to write. The rows are those with our mark or with a name of `desired`, or more."""
    switches, ports = list(switches), list(ports)
    own_switches = sorted(row.uuid for row in switches if row.mark == desired.name)
    own_ports = {row.name: row for row in ports if row.mark == desired.name}
    if not desired.present:
        names = [f"port {name}" for name in sorted(own_ports)]
        messages = (f"switch {desired.name}", *names) if own_switches else ()
        return Plan(delete=tuple(own_switches), messages=messages)
    _refuse_names_of_others(desired, switches, ports)
    if len(own_switches) > 1:
        raise Refused(
            f"There are {len(own_switches)} logical switches of the test network {desired.name}. "
            "Remove them with state: absent (ovn_ping_state=absent), then run again."
        )
    return _present(desired, own_switches, own_ports)


def _refuse_names_of_others(
    desired: DesiredNetwork, switches: t.Iterable[ObservedRow], ports: t.Iterable[ObservedRow]
) -> None:
    wanted = {port.name for port in desired.ports}
    foreign = {row.name for row in switches if row.name == desired.name and row.mark != desired.name}
    foreign |= {row.name for row in ports if row.name in wanted and row.mark != desired.name}
    if foreign:
        raise Refused(
            f"The Northbound database already has {', '.join(sorted(foreign))}, which is not part of a test network of ours. Choose another name."
        )


def _present(desired: DesiredNetwork, own_switches: t.Sequence[str], own_ports: t.Mapping[str, ObservedRow]) -> Plan:
    add = tuple(port for port in desired.ports if port.name not in own_ports)
    wrong = [
        port for port in desired.ports if port.name in own_ports and own_ports[port.name].addresses != (port.addresses,)
    ]
    return Plan(
        create=not own_switches,
        switch=next(iter(own_switches), ""),
        add=add,
        correct=tuple((own_ports[port.name].uuid, port.addresses) for port in wrong),
        messages=(
            *([] if own_switches else [f"switch {desired.name}"]),
            *(f"port {port.name} ({port.addresses})" for port in desired.ports if port in (*add, *wrong)),
        ),
    )
