# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

All chassis of a Southbound database as plain values: what the inventory plugin tells of each.
"""

from __future__ import annotations

import typing as t

from .cms_options import ZONES
from .heartbeats import ChassisRow, PrivateRow, describe_chassis

TABLES = {
    "Chassis": ["name", "hostname", "other_config", "external_ids", "transport_zones"],
    "Chassis_Private": ["name", "nb_cfg", "nb_cfg_timestamp"],
    "Encap": ["chassis_name", "type", "ip"],
    "SB_Global": ["nb_cfg"],
}

# What ovn_sync tells of a chassis by the same names.
_SHARED = (
    "name",
    "hostname",
    "encapsulations",
    "bridge_mappings",
    "cms_options",
    "gateway",
    "transport_zones",
    "nb_cfg",
    "nb_cfg_timestamp",
)


class Row(t.Protocol):
    """A row of any of TABLES: attributes are its columns."""

    def __getattr__(self, column: str) -> t.Any: ...


def list_chassis(rows: t.Callable[[str], t.Iterable[Row]]) -> list[dict[str, t.Any]]:
    """One dictionary per chassis, by name; `rows(table)` gives the rows of a table."""
    encapsulations: dict[str, list[tuple[str, str]]] = {}
    for row in rows("Encap"):
        encapsulations.setdefault(row.chassis_name, []).append((row.type, row.ip))
    chassis = {
        row.name: ChassisRow(
            name=row.name,
            hostname=row.hostname,
            encapsulations=tuple(encapsulations.get(row.name, ())),
            # Before OVN 22.09 the settings were copied to external_ids only.
            settings={**row.external_ids, **row.other_config},
            transport_zones=tuple(row.transport_zones),
        )
        for row in rows("Chassis")
    }
    private = [PrivateRow(row.name, row.nb_cfg, row.nb_cfg_timestamp) for row in rows("Chassis_Private")]
    wanted = next((row.nb_cfg for row in rows("SB_Global")), 0)
    return [
        {
            **{key: entry[key] for key in _SHARED},
            "availability_zones": _zones(entry["cms_options"]),
            "other_config": chassis[entry["name"]].settings,
            "current": entry["alive"],
        }
        for entry in describe_chassis(chassis.values(), private, wanted)
        if entry["registered"]
    ]


def _zones(tokens: t.Iterable[str]) -> list[str]:
    """Neutron reads zones of all such tokens."""
    zones = (zone for token in tokens if token.startswith(ZONES) for zone in token[len(ZONES) :].split(":"))
    return sorted({zone.strip() for zone in zones} - {""})
