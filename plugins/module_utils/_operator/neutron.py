# SPDX-License-Identifier: GPL-3.0-or-later
"""Neutron resources that refer to an OVNCluster get its endpoints."""

from __future__ import annotations

import base64
import contextlib
import dataclasses
import typing as t

from .._api.names import API_VERSION as OVN_API_VERSION
from .._api.names import CLUSTER_IPS_STATUS, PROXY_STATUS, UNRESTRICTED_STATUS, Object, labels
from .._base.databases import DATABASES
from .._base.errors import OvnError, Refused
from .._kubernetes.client import Cluster
from .._neutron.config_files import API_VERSION, CENTRAL_STATUS, KIND, connection_fields, pruned_fields
from .._neutron.settings import attempts
from .._ovsdb.endpoint import names_in


class Place(t.NamedTuple):
    """An object, by name and namespace."""

    name: str
    namespace: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


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


def referenced_clusters(neutron: Object, clusters: t.Mapping[Place, t.Collection[str]]) -> list[Place]:
    """Return the OVNClusters that the resource refers to in `clusterRef`. Pure.

    `clusters` are the names in `hypervisorClusters` by name and namespace of the OVNCluster. A reference is the name of an OVNCluster in its namespace, or
    else of a hypervisor cluster, whose namespace says nothing about that of the OVNCluster.
    """
    ovn = _ovn_of(neutron)
    if not ovn.get("enabled"):
        return []
    place = _place(neutron, ovn.get("clusterRef"))
    return [place] if place in clusters else [one for one, names in clusters.items() if place.name in names]


def takes_central(neutron: Object) -> Place | None:
    """Return the OVNCentral in `centralRef`, from whose status newer releases of c5c3 take the endpoints; None for a resource without it. Pure."""
    reference = _ovn_of(neutron).get("centralRef")
    return _place(neutron, reference) if reference else None


def _ovn_of(neutron: Object) -> Object:
    return (neutron.get("spec") or {}).get("ovn") or {}


def _place(neutron: Object, reference: Object | None) -> Place:
    reference = reference or {}
    return Place(reference.get("name") or "", reference.get("namespace") or neutron["metadata"].get("namespace") or "")


def neutron_patch(neutron: Object, fields: t.Mapping[str, str]) -> Object | None:
    """Return the merge patch that fills the fields in, but for those that are not known; None if the resource has them already. Pure."""
    ovn = neutron["spec"]["ovn"]
    changed = {key: value for key, value in fields.items() if value and ovn.get(key) != value}
    return {"spec": {"ovn": changed}} if changed else None


@dataclasses.dataclass
class NeutronClients:
    """The Neutron resources of the OVNCluster `place`. `endpoints` are those in its status, `namespaces` those that it names as clients."""

    cluster: Cluster
    place: Place
    hypervisor_clusters: t.Collection[str]
    endpoints: t.Mapping[str, str]
    namespaces: t.Collection[str]
    field_manager: str
    warn: t.Callable[[str], None]
    done: list[str] = dataclasses.field(default_factory=list)
    problems: list[str] = dataclasses.field(default_factory=list)

    def fill_in(self) -> list[str]:
        """Write the endpoints to all resources that refer to this OVNCluster, and return what was done.

        What cannot be written is a warning: OVN itself is as declared. `Refused`, after all of them, if the API server dropped a field.
        """
        try:
            found = self.cluster.list(API_VERSION, KIND)
        except OvnError as e:
            self.warn(f"The endpoints were not written to Neutron: {e}")
            return self.done
        clusters = self._clusters() if found else {}
        for one in found:
            owners = referenced_clusters(one, clusters)
            if takes_central(one) == self.place:
                self.warn(self._central_message(one))
            elif owners == [self.place]:
                self._write(one)
            elif self.place in owners:
                self.warn(
                    f"{_title(one)} got no endpoints: {' and '.join(sorted(map(str, owners)))} list a hypervisor cluster with the name in its clusterRef. Name "
                    "the OVNCluster and its namespace there."
                )
        if self.problems:
            raise Refused(" ".join(self.problems), steps=self.done)
        return self.done

    def _clusters(self) -> dict[Place, t.Collection[str]]:
        """Return the OVNClusters that this operator may list; it need not see other namespaces."""
        found: list[Object] = []
        with contextlib.suppress(OvnError):
            found = self.cluster.list(OVN_API_VERSION, "OVNCluster")
        others = {
            Place(one["metadata"]["name"], one["metadata"]["namespace"]): [
                place.get("name", "") for place in (one.get("spec") or {}).get("hypervisorClusters") or ()
            ]
            for one in found
        }
        return {**others, self.place: self.hypervisor_clusters}

    def _write(self, one: Object) -> None:
        metadata, title = one["metadata"], _title(one)
        fields = self._fields(one)
        if self.endpoints.get("southbound") and not fields["sbConnection"]:
            self.warn(
                f"{title} got no sbConnection: the Southbound is exposed for chassis alone, at a port where Neutron may not write. Name Neutron's networks in "
                "spec.neutronIntegration.sbConnection.allowedCidrs of the OVNCluster, or have spec.leaderProxy published."
            )
        patch = neutron_patch(one, fields)
        if patch is None:
            return
        written = patch["spec"]["ovn"]
        try:
            answer = self.cluster.patch(
                *(API_VERSION, KIND, metadata["name"], metadata["namespace"]), patch, field_manager=self.field_manager
            )
        except OvnError as e:
            self.warn(f"The endpoints were not written to {title}: {e}")
            return
        if pruned := pruned_fields(written, answer):
            self.problems.append(
                f"{title} did not get {' and '.join(pruned)}: the API server dropped what its definition of the resource does not have in spec.ovn. Install a "
                f"release of Neutron's operator that has clusterRef and these fields, or give Neutron {self._offer(one)} and remove clusterRef."
            )
            return
        self.done.append(f"write the endpoints to {title}")
        if names := names_in(written.values()):
            self.warn(
                f"{title} got names of members: {', '.join(names)}. The Python library of Open vSwitch finds no IPv4 address by a name. Switch on "
                "spec.leaderProxy of the OVNCluster."
            )

    def _fields(self, one: Object) -> dict[str, str]:
        return neutron_endpoints(self.endpoints, is_named=one["metadata"]["namespace"] in self.namespaces)

    def _central_message(self, one: Object) -> str:
        return (
            f"{_title(one)} gets no endpoints from OVNCluster {self.place}: with spec.ovn.centralRef it takes them from an OVNCentral ({CENTRAL_STATUS}). Give "
            f"Neutron {self._offer(one)}, or install a release of its operator with spec.ovn.clusterRef."
        )

    def _offer(self, one: Object) -> str:
        """Have the endpoints in a Secret beside the OVNCluster, and return its name in words."""
        name = f"{self.place.name}-neutron-{one['metadata']['namespace']}-{one['metadata']['name']}"
        fields = {key: value for key, value in self._fields(one).items() if value}
        data = {key: base64.b64encode(value.encode()).decode() for key, value in fields.items()}
        metadata = {"name": name, "namespace": self.place.namespace, "labels": labels(self.place.name)}
        manifest = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "Opaque", "data": data}
        title = f"Secret {self.place.namespace}/{name}"
        try:
            found = self.cluster.get("v1", "Secret", name, self.place.namespace)
            if found is None or found.get("data") != data:
                self.cluster.apply(manifest)
                self.done.append(f"write {title}")
        except OvnError as e:
            self.warn(f"The endpoints were not written to {title}: {e}")
        return f"the connections in {title} (keys {' and '.join(fields)})"


def _title(neutron: Object) -> str:
    return f"Neutron {neutron['metadata']['namespace']}/{neutron['metadata']['name']}"
