# SPDX-License-Identifier: GPL-3.0-or-later
"""Names and addresses that two owners use, and names that another owner would take for its own. Pure."""

from __future__ import annotations

import collections
import contextlib
import ipaddress
import typing as t

from .census_rows import Census, CensusWarning, OwnedRow, owners_of
from .owner_marks import UNKNOWN, family, owner_by_mark, owner_by_name

# Which ports of routers share a switch, and which can reach one another through switches and routers. Pure.


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


# The schema has no index for these names; clients find a row by its name all the same.
_NOT_UNIQUE = ("Logical_Switch", "Logical_Router", "Load_Balancer")


def clash_warnings(census: Census) -> list[CensusWarning]:
    return [
        *_same_names(census),
        *_shared_switches(census),
        *_ports_of_both_kinds(census),
        *_implicit_sets(census),
        *_schemes(census),
        *_same_addresses(census),
    ]


def _apart(rows: t.Iterable[OwnedRow]) -> bool:
    """Return whether the rows may have different owners; of two unknown rows nobody knows."""
    rows = list(rows)
    families = {row.family for row in rows}
    return len(rows) > 1 and (len(families) > 1 or UNKNOWN in families)


def _told(rows: t.Iterable[OwnedRow]) -> str:
    return ", ".join(f"{row.table} {row.name} of {row.owner} ({row.uuid})" for row in rows)


def _same_names(census: Census) -> t.Iterator[CensusWarning]:
    for table in _NOT_UNIQUE:
        named = collections.defaultdict(list)
        for row in census.of(table):
            named[row.name].append(row)
        for name, rows in named.items():
            if _apart(rows):
                yield CensusWarning(
                    f"{table} {name}",
                    f"{len(rows)} rows have this name: {_told(rows)}. Who looks for it by name may change or delete the other one.",
                    "Rename one of them in the system that owns it.",
                )


def _shared_switches(census: Census) -> t.Iterator[CensusWarning]:
    """kube-ovn takes a switch that has the name of one of its subnets, whoever made it."""
    ports = collections.defaultdict(list)
    for port in census.of("Logical_Switch_Port"):
        for holder in port.holders:
            ports[holder].append(port)
    for switch in census.of("Logical_Switch"):
        if len({port.family for port in ports[switch.uuid]} - {UNKNOWN}) > 1:
            yield CensusWarning(
                f"Logical_Switch {switch.name}",
                f"It has ports of several owners: {owners_of(ports[switch.uuid])}. Who deletes the switch deletes the ports of the others.",
                "Give the network of one of them another name in the system that owns it.",
            )


def _of_one_name(rows: t.Iterable[OwnedRow], others: t.Mapping[str, OwnedRow]) -> t.Iterator[tuple[OwnedRow, OwnedRow]]:
    """Return each row with the one of `others` (by name) that has its name, if they may have different owners."""
    for row in rows:
        other = others.get(row.name)
        if other and _apart([row, other]):
            yield row, other


def _ports_of_both_kinds(census: Census) -> t.Iterator[CensusWarning]:
    routers = {row.name: row for row in census.of("Logical_Router_Port")}
    for row, other in _of_one_name(census.of("Logical_Switch_Port"), routers):
        yield CensusWarning(
            f"port {row.name}",
            f"A switch and a router have a port of this name: {_told([row, other])}. northd gives one of them no Port_Binding.",
            "Rename one of them in the system that owns it.",
        )


def _implicit_sets(census: Census) -> t.Iterator[CensusWarning]:
    groups = {f"{row.name}_ip{version}": row for row in census.of("Port_Group") for version in (4, 6)}
    for row, group in _of_one_name(census.of("Address_Set"), groups):
        yield CensusWarning(
            f"Address_Set {row.name}",
            f"northd makes a set of the same name of a port group: {_told([row, group])}. Rules of one owner match addresses of the other.",
            "Rename one of them in the system that owns it.",
        )


def _schemes(census: Census) -> t.Iterator[CensusWarning]:
    for row in census.rows:
        scheme = owner_by_name(row.table, row.name)
        marked = owner_by_mark(row.table, row.row)
        if UNKNOWN not in (scheme, marked) and family(scheme) != family(marked):
            yield CensusWarning(
                f"{row.table} {row.name}",
                f"It is marked as {marked}'s, and {scheme} makes such names ({row.uuid}). Tools of {scheme} that go by names take it for theirs.",
                f"Rename it in {marked}.",
            )


def _interfaces(texts: t.Iterable[str]) -> t.Iterator[ipaddress.IPv4Interface | ipaddress.IPv6Interface]:
    """Return what is an address; OVN's schema takes any text, and what is none clashes with nothing."""
    for text in texts:
        with contextlib.suppress(ValueError):
            yield ipaddress.ip_interface(text)


def _same_addresses(census: Census) -> t.Iterator[CensusWarning]:
    """Only of ports whose networks are connected: two tenants may have the same addresses apart from each other."""
    segments = Segments(census)
    by_mac, by_address, by_network = (collections.defaultdict[t.Any, list[OwnedRow]](list) for _number in range(3))
    for row in census.of("Logical_Router_Port"):
        segment, component = segments.segment(row), segments.component(row)
        by_mac[segment, row.row["mac"].lower()].append(row)
        for interface in _interfaces(row.row["networks"]):
            if not interface.ip.is_link_local:
                by_address[component, interface.ip].append(row)
                by_network[component, interface.network].append(row)
    for kind, found in (("MAC address", by_mac), ("address", by_address)):
        for (_where, value), rows in found.items():
            if _apart(rows):
                yield CensusWarning(
                    f"{kind} {value}",
                    f"{_told(rows)} have it, and their networks are connected.",
                    f"Give one of them another {kind} in the system that owns it.",
                )
    for (_component, network), rows in by_network.items():
        if _apart(rows) and len({segments.segment(row) for row in rows}) > 1:
            yield CensusWarning(
                f"network {network}",
                f"{_told(rows)} are in it on different switches, and their routers are connected.",
                "Give one of them another network in the system that owns it.",
            )
