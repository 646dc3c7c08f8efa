# SPDX-License-Identifier: GPL-3.0-or-later
"""Gateways that take traffic and cannot pass it on: neither OVN nor Neutron says so. Pure."""

from __future__ import annotations

import typing as t


def gateway_warnings(host: str, mappings: t.Sequence[t.Mapping[str, t.Any]] | None) -> list[str]:
    """Return what a gateway lacks. `mappings` is an option of the role; None leaves them to somebody else. Of ports of their bridges `ovn_chassis` warns."""
    if mappings:
        return []
    return [
        f"{host} is a gateway (group ovn_gateways, or ovn_hypervisor_gateway) without a bridge mapping: routers that are scheduled there reach no provider "
        "network. Declare ovn_hypervisor_bridge_mappings, unless somebody else sets ovn-bridge-mappings there, or let it be no gateway."
    ]
