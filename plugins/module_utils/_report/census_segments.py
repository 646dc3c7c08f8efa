# SPDX-License-Identifier: GPL-3.0-or-later
"""Which ports of routers share a switch, and which can reach one another through switches and routers. Pure."""

from __future__ import annotations

import typing as t

from .census_rows import Census, OwnedRow


class _Union:
    """Sets of keys that grow together."""

    def __init__(self) -> None:
        self._parent: dict[t.Hashable, t.Hashable] = {}

    def find(self, key: t.Hashable) -> t.Hashable:
        path = []
        while (parent := self._parent.get(key, key)) != key:
            path.append(key)
            key = parent
        self._parent.update(dict.fromkeys(path, key))
        return key

    def join(self, one: t.Hashable, other: t.Hashable) -> None:
        self._parent[self.find(one)] = self.find(other)


class Segments:
    """Switches whose localnet ports name the same physical network and VLAN are one segment, because packets pass between them."""

    def __init__(self, census: Census) -> None:
        self._segments, self._components = _Union(), _Union()
        for port in census.of("Logical_Switch_Port"):
            options: t.Mapping[str, str] = port.row["options"] or {}
            for switch in port.holders:
                if port.row["type"] == "localnet":
                    self._connect(switch, ("physical network", options.get("network_name"), port.row["tag"]))
                elif port.row["type"] == "router" and "router-port" in options:
                    self._connect(switch, ("port", options["router-port"]))
        for port in census.of("Logical_Router_Port"):
            if port.row["peer"]:
                self._connect(("port", port.name), ("port", port.row["peer"]))
            for router in port.holders:
                self._components.join(("port", port.name), router)

    def _connect(self, one: t.Hashable, other: t.Hashable) -> None:
        self._segments.join(one, other)
        self._components.join(one, other)

    def segment(self, port: OwnedRow) -> t.Hashable:
        """Return a key that is equal for ports on one segment."""
        return self._segments.find(("port", port.name))

    def component(self, port: OwnedRow) -> t.Hashable:
        """Return a key that is equal for ports that can reach one another."""
        return self._components.find(("port", port.name))
