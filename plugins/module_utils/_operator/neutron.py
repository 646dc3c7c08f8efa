# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

Neutron resources that refer to an OVNCluster get its endpoints.
"""

from __future__ import annotations

import typing as t

from .._api.names import CLUSTER_IPS_STATUS, PROXY_STATUS, UNRESTRICTED_STATUS, Object
from .._databases import DATABASES
from .._errors import OvnError
from .._kubernetes.client import Cluster
from .._neutron.resource import API_VERSION, KIND, connection_fields
from .._neutron.settings import attempts
from .._ovsdb.host_names import names_in


def neutron_endpoints(endpoints: t.Mapping[str, str]) -> dict[str, str]:
    """Return the fields for a Neutron in the cluster of the control plane, from the endpoints in the status of the OVNCluster. Pure.

    The leader proxy if it is published. Else the published endpoints, or the addresses of Services in place of names, which Neutron cannot resolve.
    """
    proxy = [endpoints.get(PROXY_STATUS[database]) for database in DATABASES]
    if all(proxy):
        return connection_fields(*(",".join(attempts(str(one))) for one in proxy))
    published = {
        "northbound": endpoints.get("northbound") or "",
        "southbound": endpoints.get(UNRESTRICTED_STATUS) or endpoints.get("southbound") or "",
    }
    found = [
        (endpoints.get(CLUSTER_IPS_STATUS[database]) if names_in([published[database]]) else "") or published[database]
        for database in DATABASES
    ]
    return connection_fields(*found)


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
    wanted = {key: value for key, value in neutron_endpoints(endpoints).items() if value and ovn.get(key) != value}
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
            if names := names_in(patch["spec"]["ovn"].values()):
                warn(
                    f"{place} got names of members: {', '.join(names)}. The Python library of Open vSwitch finds no IPv4 address by a name. Switch on "
                    "spec.leaderProxy of the OVNCluster."
                )
        except OvnError as e:
            warn(f"The endpoints were not written to {place}: {e}")
    return done
