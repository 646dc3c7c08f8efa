# SPDX-License-Identifier: GPL-3.0-or-later
"""Which of Neutron's maintenance tasks touch rows of other owners. Pure.

Source: neutron/plugins/ml2/drivers/ovn/mech_driver/ovsdb/maintenance.py, commands.py (SetLRouterMacAgeLimitCommand), read in the releases 24.0 (2024.1)
to 29.0.0.0b1 (2026.2). The tasks run at each start of Neutron, whatever neutron_sync_mode is. All others look for Neutron's keys or names first.
"""

from __future__ import annotations

import typing as t

from .census_rows import Census, CensusWarning, OwnedRow, named
from .neutron_sync import others_than_neutron
from .owner_marks import external_ids

_SHARED_OPTIONS = (
    "bfd-min-rx",
    "bfd-min-tx",
    "bfd-mult",
    "fdb_removal_limit",
    "ignore_lsp_down",
    "mac_binding_removal_limit",
)
_AGE, _LEARN = "mac_binding_age_threshold", "localnet_learn_fdb"


def maintenance_warnings(census: Census) -> list[CensusWarning]:
    """Return a warning for each kind of rows of others that a task of Neutron writes, or stumbles over."""
    others = others_than_neutron(census)
    return [
        warning
        for warning in (
            _routers([row for row in others if row.table == "Logical_Router"]),
            _localnet_ports(
                [row for row in others if row.table == "Logical_Switch_Port" and row.row["type"] == "localnet"]
            ),
            _switches([row for row in others if row.table == "Logical_Switch"]),
            _dhcp_options([row for row in others if row.table == "DHCP_Options"]),
            _dns([row for row in others if row.table == "DNS" and "ls_name" in external_ids(row.row)]),
            _whole_ovn(census, others),
        )
        if warning
    ]


def _now(rows: t.Sequence[OwnedRow], column: str, key: str) -> str:
    values = sorted({(row.row[column] or {}).get(key, "unset") for row in rows})
    return f"now {', '.join(values)}"


def _routers(rows: t.Sequence[OwnedRow]) -> CensusWarning | None:
    if not rows:
        return None
    return CensusWarning(
        f"{named(rows)}",
        f"Neutron's task update_mac_aging_settings writes options:{_AGE} of every router ({_now(rows, 'options', _AGE)}), whoever owns it, at each start.",
        f"Set [ovn] {_AGE} of Neutron to the value that the other owner has.",
    )


def _localnet_ports(rows: t.Sequence[OwnedRow]) -> CensusWarning | None:
    if not rows:
        return None
    return CensusWarning(
        f"{named(rows)} with type localnet",
        f"Neutron's task check_localnet_port_has_learn_fdb writes options:{_LEARN} of every such port ({_now(rows, 'options', _LEARN)}) at each start.\n"
        "Releases before 26.0.0 also write options:mcast_flood and options:mcast_flood_reports.",
        f"Set [ovn] {_LEARN} of Neutron to the value that the other owner has.",
    )


def _switches(rows: t.Sequence[OwnedRow]) -> CensusWarning | None:
    if not rows:
        return None
    return CensusWarning(
        f"{named(rows)}",
        "Neutron's task check_for_igmp_snoop_support in releases before 25.2.3, 26.0.3, 27.0.2 and 28.0.0 writes other_config:mcast_snoop and "
        "other_config:mcast_flood_unregistered of every switch at each start.",
        "Update Neutron.",
    )


def _dhcp_options(rows: t.Sequence[OwnedRow]) -> CensusWarning | None:
    if not rows:
        return None
    blocking = [row for row in rows if "subnet_id" in external_ids(row.row)]
    if blocking:
        return CensusWarning(
            f"{named(blocking)}",
            "They have the key subnet_id, which Neutron takes for its own: its task check_dhcp_options_consistency (since 28.0.0) fails for all rows.",
            "Have the other owner write another key.",
        )
    return CensusWarning(
        f"{named(rows)}",
        "Neutron's task check_dhcp_options_consistency (since 28.0.0) writes an error into Neutron's log for each of them, and changes nothing.",
        "Leave these errors out of alerts.",
    )


def _dns(rows: t.Sequence[OwnedRow]) -> CensusWarning | None:
    if not rows:
        return None
    return CensusWarning(
        f"{named(rows)}",
        "They have the key ls_name, which Neutron takes for its own: its task set_ovn_owned_dns_option (since 26.0.0) writes options:ovn-owned at each start.",
        "Have the other owner write another key.",
    )


def _whole_ovn(census: Census, others: t.Sequence[OwnedRow]) -> CensusWarning | None:
    if not others:
        return None
    now = {
        key: value
        for row in census.of("NB_Global")
        for key, value in (row.row["options"] or {}).items()
        if key in _SHARED_OPTIONS
    }
    shown = ", ".join(f"{key}={now[key]}" for key in sorted(now)) or "all unset"
    return CensusWarning(
        f"NB_Global options {', '.join(_SHARED_OPTIONS)}",
        f"They hold for every owner of this OVN, and Neutron's maintenance writes them at each start, the first three since 28.0.0 (now {shown}).",
        "Set them in Neutron's configuration ([ovn], [ovn_nb_global]) alone.",
    )
