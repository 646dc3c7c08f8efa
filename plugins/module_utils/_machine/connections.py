# SPDX-License-Identifier: GPL-3.0-or-later
"""Connections that a filter would cut: who is connected to a port of this host without being one of its sources. Pure, from the texts of /proc/net."""

from __future__ import annotations

import ipaddress
import socket
import struct
import typing as t

from .ruleset import PortFilter

_ESTABLISHED = "01"  # the state of a TCP socket in /proc/net/tcp
Address = t.Union[ipaddress.IPv4Address, ipaddress.IPv6Address]


class EstablishedConnection(t.NamedTuple):
    """A TCP connection, seen from this host."""

    own: Address
    port: int
    peer: Address


def parse_connections(text: str) -> list[EstablishedConnection]:
    """Return the established connections in the text of /proc/net/tcp or tcp6 (proc(5))."""
    rows = (line.split() for line in text.splitlines()[1:])
    return [
        EstablishedConnection(_address(row[1]), int(row[1].partition(":")[2], 16), _address(row[2]))
        for row in rows
        if len(row) > 3 and row[3] == _ESTABLISHED
    ]


def find_strangers(
    filters: t.Iterable[PortFilter], connections: t.Iterable[EstablishedConnection]
) -> list[tuple[int, str]]:
    """Return port and address of each peer that is connected now and would be shut out."""
    of_port = {one.port: one.networks for one in filters if one.protocol == "tcp"}
    found = {
        (port, peer)
        for own, port, peer in connections
        if port in of_port
        and not (peer.is_loopback or peer == own)  # these come over lo
        and not any(peer in network for network in of_port[port])
    }
    return [(port, str(peer)) for port, peer in sorted(found, key=lambda one: (one[0], one[1].version, int(one[1])))]


def _address(text: str) -> Address:
    """Return the address of words of 32 bits, each in the byte order of the machine, and an IPv4 address mapped into IPv6 as that of IPv4."""
    digits = text.partition(":")[0]
    words = b"".join(struct.pack("=I", int(digits[index : index + 8], 16)) for index in range(0, len(digits), 8))
    address = ipaddress.ip_address(socket.inet_ntop(socket.AF_INET if len(words) == 4 else socket.AF_INET6, words))
    return getattr(address, "ipv4_mapped", None) or address
