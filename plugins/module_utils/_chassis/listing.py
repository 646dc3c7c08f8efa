# SPDX-License-Identifier: GPL-3.0-or-later
"""All chassis of a Southbound database as plain values: what the inventory plugin returns of each."""

from __future__ import annotations

import typing as t

from .heartbeats import describe_chassis
from .lists import read_zones
from .southbound_rows import Tables, chassis_rows, last_heartbeat, private_rows

# What ovn_sync returns of a chassis under the same names.
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


def list_chassis(tables: Tables) -> list[dict[str, t.Any]]:
    """Return one dictionary per chassis, sorted by name."""
    chassis, latest = chassis_rows(tables), last_heartbeat(tables)
    return [
        {
            **{key: entry[key] for key in _SHARED},
            "availability_zones": read_zones(entry["cms_options"]),
            "other_config": chassis[entry["name"]].settings,
            "current": entry["alive"],
        }
        for entry in describe_chassis(chassis.values(), private_rows(tables).values(), latest, latest)
        if entry["registered"]
    ]
