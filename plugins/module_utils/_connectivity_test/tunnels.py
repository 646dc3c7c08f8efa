# SPDX-License-Identifier: GPL-3.0-or-later
"""The tunnels of this chassis, as Open vSwitch's database has them. Requests and their meaning; no socket here."""

from __future__ import annotations

import dataclasses
import typing as t

from .._ovsdb.rows import decode

TYPES = ("geneve", "vxlan")

Operation = dict[str, t.Any]


@dataclasses.dataclass(frozen=True)
class Tunnel:
    type: str
    interface: str
    remote_ip: str

    def as_result(self) -> dict[str, str]:
        return dataclasses.asdict(self)


def interface_queries() -> list[Operation]:
    return [
        {"op": "select", "table": "Interface", "where": [["type", "==", kind]], "columns": ["name", "type", "options"]}
        for kind in TYPES
    ]


def parse_interfaces(answers: t.Sequence[t.Mapping[str, t.Any]]) -> list[Tunnel]:
    rows = [{k: decode(v) for k, v in row.items()} for answer in answers for row in answer["rows"]]
    return [Tunnel(row["type"], row["name"], row["options"].get("remote_ip", "")) for row in rows]


def port_queries(interfaces: t.Sequence[Tunnel]) -> list[Operation]:
    return [
        {"op": "select", "table": "Port", "where": [["name", "==", i.interface]], "columns": ["name", "external_ids"]}
        for i in interfaces
    ]


def by_chassis(
    chassis: t.Sequence[str], interfaces: t.Sequence[Tunnel], answers: t.Sequence[t.Mapping[str, t.Any]]
) -> dict[str, Tunnel]:
    """The best tunnel to each of `chassis`. ovn-controller writes CHASSIS@REMOTE_IP, newer ones %LOCAL_IP behind it, into the port."""
    known = {tunnel.interface: tunnel for tunnel in interfaces}
    found: dict[str, Tunnel] = {}
    for answer in answers:
        for row in answer["rows"]:
            name = decode(row["external_ids"]).get("ovn-chassis-id", "").rpartition("@")[0]
            tunnel = known[row["name"]]
            if name in chassis and (name not in found or TYPES.index(tunnel.type) < TYPES.index(found[name].type)):
                found[name] = tunnel
    return found
