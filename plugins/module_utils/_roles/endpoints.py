# SPDX-License-Identifier: GPL-3.0-or-later
"""The databases of an inventory's central hosts as connection strings. Pure."""

from __future__ import annotations

import dataclasses
import typing as t

from .._base.databases import PORTS, Database
from .._base.errors import InvalidInput
from .._base.inventory import address_of, as_list
from .._ovsdb.endpoint import Endpoint, parse_endpoints
from .variables import Hostvars, Variables, first_value

Listener = t.Literal["unrestricted", "client", "raft"]


def declared_endpoints(variables: Variables, *options: str) -> list[Endpoint]:
    """Return the endpoints in the first of these options that is set, none without one; `InvalidInput` names the option."""
    option = next((name for name in options if first_value(variables, name)), "")
    try:
        return parse_endpoints(as_list(first_value(variables, option))) if option else []
    except InvalidInput as e:
        raise InvalidInput(f"{option}: {e} Nothing was changed.") from None


def endpoints_of(
    hosts: t.Iterable[str], hostvars: Hostvars, database: Database, listener: Listener = "unrestricted", *, tls: bool
) -> list[str]:
    """Return one endpoint for each host, in their order, like `ssl:192.0.2.11:6642`; IPv6 literals get brackets. `listener` is a field of `Ports`.

    A database or listener that does not exist is `InvalidInput`: playbooks give them as text.
    """
    ports: dict[str, int] = dataclasses.asdict(PORTS[database]) if database in PORTS else {}
    if listener not in ports:
        raise InvalidInput(
            f'"{database}" and "{listener}" are no port of a database. Use {" or ".join(PORTS)}, and unrestricted, client or raft.'
        )
    scheme: t.Literal["ssl", "tcp"] = "ssl" if tls else "tcp"
    return [str(Endpoint(scheme, address_of(host, hostvars[host]), ports[listener])) for host in hosts]
