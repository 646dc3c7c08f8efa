# SPDX-License-Identifier: GPL-3.0-or-later
"""Which endpoints have names instead of addresses: not every client resolves them. Pure."""

from __future__ import annotations

import typing as t

from .._base.ip_addresses import literal
from .endpoint import parse_endpoints


def names_in(endpoints: t.Iterable[str]) -> list[str]:
    """Return the names of hosts in the endpoints: the library of Neutron finds no IPv4 address by a name (ovs/socket_util.py: inet_create_socket_active)."""
    return sorted({one.host for one in parse_endpoints(endpoints) if not literal(one.host)})
