# SPDX-License-Identifier: GPL-3.0-or-later
"""Where an OVSDB server listens on the network: passive connection methods (ovsdb(7)) `pssl:PORT[:HOST]` and `ptcp:PORT[:HOST]`."""

from __future__ import annotations

import re
import socket
import typing as t

from .._base.ip_addresses import canonical_host

_PASSIVE = re.compile(r"p(tcp|ssl):(\d{1,5})(?::(\[[^\]]*\]|[^:]*))?")
_LOOPBACK = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "[::]": "::1"}


class Listener(t.NamedTuple):
    """`host` is empty if the target names none, which means all IPv4 addresses."""

    scheme: str
    port: int
    host: str

    @property
    def is_wildcard(self) -> bool:
        return self.host in _LOOPBACK

    @property
    def own_host(self) -> str:
        """The address at which a client on the server's own host reaches it, IPv6 without brackets."""
        return _LOOPBACK.get(self.host, self.host.strip("[]"))


def parse_listener(target: str) -> Listener | None:
    """Return what a passive connection method on the network says, None for any other."""
    match = _PASSIVE.fullmatch(target)
    if match is None:
        return None
    host = canonical_host(match[3] or "")
    return Listener(match[1], int(match[2]), f"[{host}]" if ":" in host else host)


def is_listening(host: str, port: int, seconds: float) -> bool:
    """Return whether a TCP connection is accepted within `seconds`."""
    try:
        socket.create_connection((host, port), seconds).close()
    except OSError:
        return False
    return True
