# SPDX-License-Identifier: GPL-3.0-or-later
"""Who connects to which port of whom, on machines: the one table that firewall rules, precheck and docs/first-hosts.md follow. Pure."""

from __future__ import annotations

import dataclasses
import typing as t

from .databases import DATABASES, PORTS, TITLES

# `client`: what reads and writes the databases without being a central host, such as Neutron.
Party = t.Literal["central", "client", "chassis"]
Protocol = t.Literal["tcp", "udp"]

TUNNEL_PORTS = {"geneve": 6081, "vxlan": 4789}


@dataclasses.dataclass(frozen=True)
class MachineFlow:
    """Packets from any of `sources` to one port of every host of `target`."""

    sources: tuple[Party, ...]
    target: Party
    protocol: Protocol
    port: int
    purpose: str


def _flows_to_central() -> t.Iterator[MachineFlow]:
    for database in DATABASES:
        ports, title = PORTS[database], TITLES[database]
        yield MachineFlow(("central",), "central", "tcp", ports.raft, f"Raft of the {title} database")
        yield MachineFlow(("client", "central"), "central", "tcp", ports.unrestricted, f"{title} database")
        if ports.client != ports.unrestricted:
            yield MachineFlow(("chassis", "central"), "central", "tcp", ports.client, f"{title} database, for chassis")


FLOWS: tuple[MachineFlow, ...] = (
    *_flows_to_central(),
    *(MachineFlow(("chassis",), "chassis", "udp", port, f"tunnels: {kind}") for kind, port in TUNNEL_PORTS.items()),
)


def ports_between(source: Party, target: Party) -> list[int]:
    """Return the ports of a party to which another one connects, in order."""
    return sorted({flow.port for flow in FLOWS if flow.target == target and source in flow.sources})
