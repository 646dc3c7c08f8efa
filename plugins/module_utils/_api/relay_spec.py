# SPDX-License-Identifier: GPL-3.0-or-later
"""What `OVNCluster.spec` says of the relays of the Southbound database."""

from __future__ import annotations

from dataclasses import dataclass, field

from . import pod_fields
from .declaration import declare
from .pod_fields import Resources, StringMap


@dataclass(frozen=True)
class RelayResources(Resources):
    requests: StringMap = field(metadata=pod_fields.requests("20m", "64Mi"))


@dataclass(frozen=True)
class RelaySpec:
    """`rbac`: clients have the role ovn-controller."""

    rbac: bool = field(
        metadata=declare(
            {
                "type": "boolean",
                "description": "Whether clients have the role ovn-controller: each chassis writes only what OVN's rules allow for the name in its certificate, "
                "which has to be its system id. Keep it off while the nodes of a hypervisor cluster share a certificate: they could register no chassis.",
                "default": False,
            }
        )
    )
    resources: RelayResources = field(metadata=pod_fields.resources(RelayResources, "a relay"))
