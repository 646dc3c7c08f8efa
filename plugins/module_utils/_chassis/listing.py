# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

All chassis of a Southbound database as plain values: what the inventory plugin tells of each.
"""

from __future__ import annotations

import typing as t

from .cms_options import GATEWAY, ZONES
from .external_ids import items_of

TABLES = {
    "Chassis": ["name", "hostname", "other_config", "external_ids", "transport_zones"],
    "Chassis_Private": ["name", "nb_cfg", "nb_cfg_timestamp"],
    "Encap": ["chassis_name", "type", "ip"],
    "SB_Global": ["nb_cfg"],
}


class Row(t.Protocol):
    """A row of any of TABLES: attributes are its columns."""

    def __getattr__(self, column: str) -> t.Any: ...


def list_chassis(rows: t.Callable[[str], t.Iterable[Row]]) -> list[dict[str, t.Any]]:
    """One dictionary per chassis, by name; `rows(table)` gives the rows of a table."""
    encapsulations: dict[str, list[dict[str, str]]] = {}
    for row in rows("Encap"):
        encapsulations.setdefault(row.chassis_name, []).append({"type": row.type, "ip": row.ip})
    private = {row.name: row for row in rows("Chassis_Private")}
    wanted = next((row.nb_cfg for row in rows("SB_Global")), 0)
    chassis = []
    for row in sorted(rows("Chassis"), key=lambda row: str(row.name)):
        # Before OVN 22.09 the settings were copied to external_ids only.
        config = {**row.external_ids, **row.other_config}
        tokens = items_of(config.get("ovn-cms-options", ""))
        heartbeat = private.get(row.name)
        chassis.append(
            {
                "name": row.name,
                "hostname": row.hostname,
                "encapsulations": sorted(encapsulations.get(row.name, []), key=lambda e: (e["type"], e["ip"])),
                "bridge_mappings": _mappings(config.get("ovn-bridge-mappings", "")),
                "cms_options": tokens,
                "gateway": GATEWAY in tokens,
                "availability_zones": _zones(tokens),
                "transport_zones": sorted(row.transport_zones),
                "other_config": config,
                "nb_cfg": heartbeat.nb_cfg if heartbeat else None,
                "nb_cfg_timestamp": heartbeat.nb_cfg_timestamp if heartbeat else None,
                "current": heartbeat is not None and heartbeat.nb_cfg == wanted,
            }
        )
    return chassis


def _mappings(text: str) -> list[dict[str, str]]:
    """Pairs of ovn-bridge-mappings; an item without a colon is no mapping for OVN either."""
    pairs = (item.split(":", 1) for item in items_of(text) if ":" in item)
    return [{"physical_network": network, "bridge": bridge} for network, bridge in pairs]


def _zones(tokens: t.Iterable[str]) -> list[str]:
    """Neutron reads zones of all such tokens."""
    zones = (zone for token in tokens if token.startswith(ZONES) for zone in token[len(ZONES) :].split(":"))
    return sorted({zone.strip() for zone in zones} - {""})
