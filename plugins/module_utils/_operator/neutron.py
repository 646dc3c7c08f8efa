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


def neutron_endpoints(endpoints: t.Mapping[str, str], *, is_named: bool = False) -> dict[str, str]:
    """Return the fields for a Neutron in the cluster of the control plane, from the endpoints in the status of the OVNCluster. Pure.

    The leader proxy if it is published. Else the published endpoints, or the addresses of Services in place of names, which Neutron cannot resolve. A Neutron
    whose namespace the specification names (`is_named`) is let in as a pod, which it is at these addresses alone. It never gets the Southbound's port of
    chassis: their role keeps Neutron's tables from it.
    """
    proxy = [endpoints.get(PROXY_STATUS[database]) for database in DATABASES]
    if all(proxy):
        return connection_fields(*(",".join(attempts(str(one))) for one in proxy))
    published = {
        "northbound": endpoints.get("northbound") or "",
        "southbound": endpoints.get(UNRESTRICTED_STATUS) or "",
    }
    found = [
        (endpoints.get(CLUSTER_IPS_STATUS[database]) if is_named or names_in([published[database]]) else "")
        or published[database]
        for database in DATABASES
    ]
    return connection_fields(*found)


def refers_to(neutron: Object, name: str, namespace: str) -> bool:
    """Return whether the resource is about the OVNCluster of this name and namespace. Pure."""
    ovn = (neutron.get("spec") or {}).get("ovn") or {}
    reference = ovn.get("clusterRef") or {}
    place = reference.get("namespace") or neutron["metadata"].get("namespace")
    return bool(ovn.get("enabled")) and (reference.get("name"), place) == (name, namespace)


def neutron_patch(neutron: Object, fields: t.Mapping[str, str]) -> Object | None:
    """Return the merge patch that fills the fields in, but for those that are not known; None if the resource has them already. Pure."""
    ovn = neutron["spec"]["ovn"]
    changed = {key: value for key, value in fields.items() if value and ovn.get(key) != value}
    return {"spec": {"ovn": changed}} if changed else None


def fill_in_endpoints(
    cluster: Cluster,
    name: str,
    namespace: str,
    endpoints: t.Mapping[str, str],
    *,
    namespaces: t.Collection[str],
    field_manager: str,
    warn: t.Callable[[str], None],
) -> list[str]:
    """Write the endpoints to all Neutron resources of this OVNCluster, and return what was done. `namespaces` are those that it names as clients.

    One that cannot be written is a warning: OVN itself is as declared.
    """
    done: list[str] = []
    try:
        found = cluster.list(API_VERSION, KIND)
    except OvnError as e:
        warn(f"The endpoints were not written to Neutron: {e}")
        return done
    for one in found:
        if not refers_to(one, name, namespace):
            continue
        metadata = one["metadata"]
        place = f"Neutron {metadata['namespace']}/{metadata['name']}"
        fields = neutron_endpoints(endpoints, is_named=metadata["namespace"] in namespaces)
        if endpoints.get("southbound") and not fields["sbConnection"]:
            warn(
                f"{place} got no sbConnection: the Southbound is exposed for chassis alone, at a port where Neutron may not write. Name Neutron's networks in "
                "spec.neutronIntegration.sbConnection.allowedCidrs of the OVNCluster, or have spec.leaderProxy published."
            )
        patch = neutron_patch(one, fields)
        if patch is None:
            continue
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
