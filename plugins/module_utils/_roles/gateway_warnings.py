# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

Gateways that take traffic and cannot pass it on: neither OVN nor Neutron says so. Pure.
"""

from __future__ import annotations

import typing as t

Entry = t.Mapping[str, t.Any]


def gateway_warnings(host: str, mappings: t.Sequence[Entry] | None, bridges: t.Sequence[Entry]) -> list[str]:
    """Return what a gateway lacks. `mappings` and `bridges` are options of the role; None leaves the mappings to somebody else."""
    if not mappings:
        return [
            f"{host} is a gateway (group ovn_gateways, or ovn_hypervisor_gateway) without a bridge mapping: routers that are scheduled there reach no provider "
            "network. Declare ovn_hypervisor_bridge_mappings, unless somebody else sets ovn-bridge-mappings there, or let it be no gateway."
        ]
    with_ports = {str(entry.get("name")) for entry in bridges if entry.get("ports")}
    bare = [
        f"{mapping.get('bridge')} ({mapping.get('physical_network')})"
        for mapping in mappings
        if not mapping.get("ports") and str(mapping.get("bridge")) not in with_ports
    ]
    if not bare:
        return []
    return [
        f"{host} is a gateway (group ovn_gateways, or ovn_hypervisor_gateway) whose bridges have no port: {', '.join(bare)}. What is sent to these "
        "provider networks goes nowhere. Give `ports` in ovn_hypervisor_bridge_mappings, unless somebody else adds the port."
    ]
