# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

The databases of an inventory's central hosts as connection strings. Pure.
"""

from __future__ import annotations

import dataclasses
import typing as t

from .._databases import PORTS, Database
from .._errors import InvalidInput
from .._inventory import address_of
from .variables import Hostvars

Listener = t.Literal["unrestricted", "client", "raft"]


def member_endpoints(addresses: t.Iterable[str], database: Database, listener: str, *, tls: bool) -> list[str]:
    """Return one endpoint for each address, like `ssl:192.0.2.11:6642`; IPv6 literals get brackets. `listener` is a field of `Ports`."""
    ports = dataclasses.asdict(PORTS[database]) if database in PORTS else {}
    if listener not in ports:
        raise InvalidInput(
            f'"{database}" and "{listener}" are no port of a database. Use {" or ".join(PORTS)}, and unrestricted, client or raft.'
        )
    scheme = "ssl" if tls else "tcp"
    return [f"{scheme}:{f'[{ip}]' if ':' in ip else ip}:{ports[listener]}" for ip in addresses]


def endpoints_of(
    hosts: t.Iterable[str], hostvars: Hostvars, database: Database, listener: Listener = "unrestricted", *, tls: bool
) -> list[str]:
    """Return one endpoint for each host, in their order."""
    return member_endpoints((address_of(host, hostvars[host]) for host in hosts), database, listener, tls=tls)


def split_endpoints(text: str | None) -> list[str]:
    """Return the endpoints of a connection string, which separates them by commas."""
    return [endpoint for endpoint in (text or "").split(",") if endpoint]
