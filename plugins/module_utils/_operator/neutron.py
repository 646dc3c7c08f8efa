# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

Neutron resources that refer to an OVNCluster get its endpoints.
"""

from __future__ import annotations

import typing as t

from .._api.names import Object
from .._errors import OvnError
from .._kubernetes.client import Cluster
from .._neutron.resource import API_VERSION, KIND, connection_fields


def neutron_patch(neutron: Object, name: str, namespace: str, endpoints: t.Mapping[str, str]) -> Object | None:
    """Return the merge patch that fills the endpoints in; None if the resource is about something else, or has them already. Pure.

    Neutron writes tables that the role of chassis keeps from it, so it gets the port of the Southbound without a role where clients outside can reach it.
    """
    ovn = (neutron.get("spec") or {}).get("ovn") or {}
    reference = ovn.get("clusterRef") or {}
    if not ovn.get("enabled") or reference.get("name") != name:
        return None
    if (reference.get("namespace") or neutron["metadata"].get("namespace")) != namespace:
        return None
    wanted = connection_fields(
        endpoints.get("northbound") or "",
        endpoints.get("southboundUnrestricted") or endpoints.get("southbound") or "",
    )
    wanted = {key: value for key, value in wanted.items() if value and ovn.get(key) != value}
    return {"spec": {"ovn": wanted}} if wanted else None


def fill_in_endpoints(
    cluster: Cluster,
    name: str,
    namespace: str,
    endpoints: t.Mapping[str, str],
    *,
    field_manager: str,
    warn: t.Callable[[str], None],
) -> list[str]:
    """Write the endpoints to all Neutron resources of this OVNCluster, and return what was done.

    One that cannot be written is a warning: OVN itself is as declared.
    """
    done: list[str] = []
    try:
        found = cluster.list(API_VERSION, KIND)
    except OvnError as e:
        warn(f"The endpoints were not written to Neutron: {e}")
        return done
    for one in found:
        patch = neutron_patch(one, name, namespace, endpoints)
        if patch is None:
            continue
        metadata = one["metadata"]
        place = f"Neutron {metadata['namespace']}/{metadata['name']}"
        try:
            cluster.patch(
                *(API_VERSION, KIND, metadata["name"], metadata["namespace"]), patch, field_manager=field_manager
            )
            done.append(f"write the endpoints to {place}")
        except OvnError as e:
            warn(f"The endpoints were not written to {place}: {e}")
    return done
