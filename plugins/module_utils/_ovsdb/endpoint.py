# SPDX-License-Identifier: GPL-3.0-or-later
"""Endpoints of databases: how they are written, which have names instead of addresses, and the first one that can answer a question."""

from __future__ import annotations

import functools
import re
import socket
import typing as t

from .._base.errors import Conflict, InvalidInput, OvnError, Unreachable
from .._base.ip_addresses import canonical, canonical_host, literal

_ANSWER = t.TypeVar("_ANSWER")


def first_answer(questions: t.Iterable[t.Callable[[], _ANSWER]], database: str) -> _ANSWER:
    """Return the result of the first call that does not fail; each asks one member of `database`, a title for messages.

    A conflict is an answer, too, and so is `InvalidInput`. If all fail, raise the type of the first error with all messages.
    """
    errors: list[OvnError] = []
    for question in questions:
        try:
            return question()
        except (InvalidInput, Conflict):
            raise
        except OvnError as e:
            errors.append(e)
    if len(errors) == 1:
        raise errors[0]
    reasons = " ".join(map(str, errors)) or "No endpoint is given."
    raise (type(errors[0]) if errors else Unreachable)(f"No server of the {database} database can be used. {reasons}")


# Where an OVSDB server listens on the network: passive connection methods (ovsdb(7)) `pssl:PORT[:HOST]` and `ptcp:PORT[:HOST]`.

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


# OVSDB connection methods (ovsdb(7)): `ssl:HOST:PORT`, `tcp:HOST:PORT`, `unix:FILE`, and the passive `pssl:`/`ptcp:` forms.

_NETWORK = re.compile(
    r"(?P<scheme>tcp|ssl):(?:\[(?P<literal>[0-9A-Fa-f:.]+(?:%[^\]]+)?)\]|(?P<host>[\w.-]+)):(?P<port>\d{1,5})", re.ASCII
)
_NUMBERS = re.compile(r"[\d.]+", re.ASCII)


class Endpoint(t.NamedTuple):
    """One place where an OVSDB server listens. `host` is a file for `unix`, else a name or an address in its one spelling, without brackets."""

    scheme: t.Literal["tcp", "ssl", "unix"]
    host: str
    port: int = 0

    def __str__(self) -> str:
        if self.scheme == "unix":
            return f"unix:{self.host}"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}:{host}:{self.port}"


def parse_endpoint(text: str) -> Endpoint:
    """Return the endpoint of one active connection method; `InvalidInput` for anything else."""
    text = text.strip()
    if text.startswith("unix:") and len(text) > len("unix:"):
        return Endpoint("unix", text[len("unix:") :])
    match = _NETWORK.fullmatch(text)
    if match and 0 < int(match["port"]) < 65536 and (host := _host(match)):
        scheme = t.cast("t.Literal['tcp', 'ssl']", match["scheme"])
        return Endpoint(scheme, host, int(match["port"]))
    raise InvalidInput(
        f'"{text[:200]}" is not an OVSDB endpoint. Use ssl:HOST:PORT, tcp:HOST:PORT (IPv6 in brackets: ssl:[2001:db8::1]:6642) or unix:FILE.'
    )


def _host(match: re.Match[str]) -> str | None:
    """Return the host in its one spelling; None for what looks like an address and is none."""
    text: str = match["literal"] or match["host"]
    return canonical(text) if literal(text) or not (match["literal"] or _NUMBERS.fullmatch(text)) else None


@functools.lru_cache(maxsize=256)  # plans compare the same few texts again and again
def one_spelling(text: str) -> str:
    """Return an endpoint in its one spelling, or the text itself if it is none."""
    try:
        return str(parse_endpoint(text))
    except InvalidInput:
        return text


def parse_endpoints(values: t.Iterable[str]) -> list[Endpoint]:
    """Return the endpoints of a list whose items may be comma-separated lists themselves, in order, without duplicates."""
    texts = (part for value in values for part in value.split(",") if part.strip())
    return list(dict.fromkeys(parse_endpoint(text) for text in texts))


def names_in(endpoints: t.Iterable[str]) -> list[str]:
    """Return the names of hosts in the endpoints: the library of Neutron finds no IPv4 address by a name (ovs/socket_util.py: inet_create_socket_active)."""
    return sorted({one.host for one in parse_endpoints(endpoints) if not literal(one.host)})
