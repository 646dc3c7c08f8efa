# SPDX-License-Identifier: GPL-3.0-or-later
"""Sockets of a Linux host from /proc/net: who listens at a port. Read only."""

from __future__ import annotations

import pathlib
import socket
import struct
import typing as t

from .._base.ip_addresses import canonical
from .._machine.proc import holders_of

_LISTENS = "0A"  # the state of a TCP socket in /proc/net/tcp


class Socket(t.NamedTuple):
    """A socket that is bound; `inode` is 0 for one of the kernel."""

    address: str
    port: int
    inode: int


def parse_sockets(text: str, state: str = "") -> list[Socket]:
    """Return the sockets in the text of /proc/net/tcp, udp, tcp6 or udp6 (proc(5)), only those in this state if one is given."""
    sockets = []
    for line in text.splitlines()[1:]:
        fields = line.split()
        if len(fields) < 10 or (state and fields[3] != state):
            continue
        address, _colon, port = fields[1].partition(":")
        sockets.append(Socket(_address(address), int(port, 16), int(fields[9])))
    return sockets


def _address(text: str) -> str:
    """Return the address of words of 32 bits, each in the byte order of the machine."""
    words = [struct.pack("=I", int(text[index : index + 8], 16)) for index in range(0, len(text), 8)]
    return canonical(socket.inet_ntop(socket.AF_INET if len(words) == 1 else socket.AF_INET6, b"".join(words)))


def read_listeners(
    tcp_ports: t.Collection[int], udp_ports: t.Collection[int], likely: t.Iterable[int]
) -> list[dict[str, t.Any]]:
    """Return who listens at these ports, on any address, with the process as far as it can be found, most likely one of `likely`."""
    found = []
    for protocol, ports, state in (("tcp", tcp_ports, _LISTENS), ("udp", udp_ports, "")):
        for name in (protocol, f"{protocol}6"):
            try:
                text = pathlib.Path("/proc/net", name).read_text(encoding="ascii")
            except OSError:
                continue
            found += [(protocol, one) for one in parse_sockets(text, state) if one.port in ports]
    inodes = {one.inode for _protocol, one in found if one.inode}
    holders = holders_of(inodes, likely)
    return [
        {
            "protocol": protocol,
            "address": one.address,
            "port": one.port,
            "holder": holders[one.inode].as_dict() if one.inode in holders else None,
        }
        for protocol, one in found
    ]
