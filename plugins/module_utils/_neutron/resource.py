# SPDX-License-Identifier: GPL-3.0-or-later
"""The Neutron resource, whose endpoints the operator and the role ovn_neutron fill in. Pure."""

from __future__ import annotations

import typing as t

API_VERSION = "neutron.openstack.c5c3.io/v1alpha1"
KIND = "Neutron"
# What newer releases of c5c3 read of the OVNCentral in `spec.ovn.centralRef`.
CENTRAL_STATUS = "in its status: internalDbAddress or dbAddress of both databases, and clientSecretName"


def connection_fields(northbound: str, southbound: str) -> dict[str, str]:
    """Return the fields of `spec.ovn` that say where the databases are, endpoints with commas between them.

    Neutron writes tables that the role of chassis keeps from it, so the Southbound is meant at its port without a role.
    """
    return {"nbConnection": northbound, "sbConnection": southbound}


def pruned_fields(written: t.Mapping[str, str], answer: t.Mapping[str, t.Any]) -> list[str]:
    """Return the fields of `spec.ovn` that the API server dropped: its definition of the resource does not have them. `answer` is the resource afterwards."""
    found = (answer.get("spec") or {}).get("ovn") or {}
    return [key for key in written if key not in found]
