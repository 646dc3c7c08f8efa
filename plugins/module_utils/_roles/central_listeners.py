# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the clients of a control plane on machines find its databases: rows of the table Connection, and the port that the relay serves instead. Pure.

Rows are replicated, so a target has a wildcard address: each member listens on its own addresses.
"""

from __future__ import annotations

import dataclasses
import typing as t

from .._base.databases import PORTS, Database
from .._daemons.relay_command import ROLE

_WILDCARDS = ("[::]", "0.0.0.0")
Row = dict[str, t.Any]


@dataclasses.dataclass(frozen=True)
class CentralListeners:
    """The options of the role that say where a database listens. The probe in milliseconds; `extra` are rows that somebody else has declared."""

    database: Database
    tls: bool
    address: str
    inactivity_probe: int
    has_relay: bool
    extra: t.Sequence[Row] = ()

    def rows(self) -> list[Row]:
        """Return where clients connect, on the member or its relay. The first one of the Southbound is that of chassis."""
        rows: list[Row] = [
            {"target": self._target(port, self.address), "inactivity_probe": self.inactivity_probe}
            for port in self._ports()
        ]
        if self.database == "southbound":
            rows[0]["role"] = ROLE if self.has_relay else ""
        return [*rows, *self.extra]

    def connections(self) -> list[Row]:
        """Return the rows of the table, in the form of `ovn_database`.

        Absent are those of the port that the relay serves, and those of the other wildcard address, which a former run may have written: they would keep it.
        """
        released = self.released()
        present = self.rows()[1 if released else 0 :]
        kept = {*released, *(row["target"] for row in present)}
        former = [target for port in self._ports() for target in self._former(port) if target not in kept]
        return [*present, *({"target": target, "state": "absent"} for target in (*released, *former))]

    def released(self) -> list[str]:
        """Return the targets of rows by which members have the port of the relay, also with the address of an earlier run."""
        relayed = self._relayed_port()
        return [] if relayed is None else [self._target(relayed, self.address), *self._former(relayed)]

    def _ports(self) -> list[int]:
        ports = PORTS[self.database]
        return list(dict.fromkeys((ports.client, ports.unrestricted)))

    def _relayed_port(self) -> int | None:
        return PORTS[self.database].client if self.has_relay and self.database == "southbound" else None

    def _former(self, port: int) -> list[str]:
        return [self._target(port, wildcard) for wildcard in _WILDCARDS if wildcard != self.address]

    def _target(self, port: int, address: str) -> str:
        return f"{'pssl' if self.tls else 'ptcp'}:{port}:{address}"
