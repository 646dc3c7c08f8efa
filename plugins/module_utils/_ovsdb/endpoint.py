# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

OVSDB connection methods (ovsdb(7)): `ssl:HOST:PORT`, `tcp:HOST:PORT`, `unix:FILE`, and the passive `pssl:`/`ptcp:` forms.
"""

from __future__ import annotations

import re
import typing as t

from .._errors import InvalidInput

_NETWORK = re.compile(
    r"(?P<scheme>tcp|ssl):(?:\[(?P<v6>[0-9A-Fa-f:.]+(?:%[^\]]+)?)\]|(?P<host>[^\[\]:\s,]+)):(?P<port>\d{1,5})"
)


class Endpoint(t.NamedTuple):
    """One place where an OVSDB server listens. `host` is a file for `unix`, and has no brackets for IPv6."""

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
    if match and 0 < int(match["port"]) < 65536:
        scheme = t.cast("t.Literal['tcp', 'ssl']", match["scheme"])
        return Endpoint(scheme, match["v6"] or match["host"], int(match["port"]))
    raise InvalidInput(
        f'"{text[:200]}" is not an OVSDB endpoint. Use ssl:HOST:PORT, tcp:HOST:PORT (IPv6 in brackets: ssl:[2001:db8::1]:6642) or unix:FILE.'
    )


def parse_endpoints(values: t.Iterable[str]) -> list[Endpoint]:
    """Return the endpoints of a list whose items may be comma-separated lists themselves, in order, without duplicates."""
    texts = (part for value in values for part in value.split(",") if part.strip())
    return list(dict.fromkeys(parse_endpoint(text) for text in texts))
