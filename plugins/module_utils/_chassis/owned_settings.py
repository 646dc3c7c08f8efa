# SPDX-License-Identifier: GPL-3.0-or-later
"""The edge of `state: absent`: finds our bridges and ports by their mark, and the integration bridge by its name."""

from __future__ import annotations

import typing as t

from .._base.deadline import Deadline
from .._ovsdb.endpoint import Endpoint
from .._ovsdb.rows import as_list, decode
from .._ovsdb.tls_files import TlsFiles
from . import ownership
from .bridges import OVN_PORT_KEYS, BridgePort
from .database import COLUMNS, LocalDatabase
from .external_ids import integration_bridge
from .operations import ROOT, Rows
from .plan import ObservedChassis

_MARKED: list[t.Any] = [["external_ids", "includes", ["map", [list(item) for item in ownership.MARK.items()]]]]


class OwnedSettings(LocalDatabase):
    """Reads everything with our mark, the integration bridge, and every port of these bridges."""

    def __init__(self, endpoint: Endpoint, tls: TlsFiles, timeout: float) -> None:
        """`timeout` seconds count for each step."""
        super().__init__(endpoint, tls, timeout, {})

    def read(self) -> tuple[ObservedChassis, Rows]:
        self.connection.deadline = Deadline(self.timeout)
        roots, ssls, marked_ports = self.select((ROOT, []), ("SSL", []), ("Port", _MARKED))
        columns = [*COLUMNS["Bridge"], "ports"]
        places = [("Bridge", [["ports", "includes", row["_uuid"]]]) for row in marked_ports]
        keys = decode(roots[0]["external_ids"]) if roots else {}
        integration = ("Bridge", [["name", "==", integration_bridge(keys)]])
        ours, integration_rows, *holders = self.select(("Bridge", _MARKED), integration, *places, columns=columns)
        bridges = {row["name"]: row for rows in (ours, integration_rows, *holders) for row in rows}
        uuids = [uuid for row in (*ours, *integration_rows) for uuid in as_list(decode(row["ports"]))]
        others = self.select(*(("Port", [["_uuid", "==", ["uuid", uuid]]]) for uuid in uuids))
        rows = {decode(row["_uuid"]): row for found in (marked_ports, *others) for row in found}
        ports = {row["name"]: row for row in rows.values()}
        names = {
            name: frozenset(rows[uuid]["name"] for uuid in as_list(decode(row["ports"])) if uuid in rows)
            for name, row in bridges.items()
        }
        actual_ports = {}
        for bridge, members in names.items():
            for port in members:
                keys = decode(ports[port]["external_ids"])
                actual_ports[port] = BridgePort(
                    bridge, ownership.KEY in keys, any(key in keys for key in OVN_PORT_KEYS)
                )
        return self.state(
            roots, ssls, bridges, ports, actual_ports, names, {name: row["ports"] for name, row in bridges.items()}
        )
