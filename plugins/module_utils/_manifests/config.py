# SPDX-License-Identifier: GPL-3.0-or-later
"""ConfigMaps: what pods run, and what other components read."""

from __future__ import annotations

import base64
import dataclasses
import typing as t

from .._api.endpoints import ClientListener, inside_endpoints
from .._api.names import CONFIG_NAME, Component, Object, labels, owner_reference, scripts_name
from .._api.spec import ClusterSpec
from .._base.databases import Database
from .._daemons.relay_command import SCRIPT
from . import pods

# The control plane that the builders of manifests work for.


@dataclasses.dataclass(frozen=True)
class ManifestContext:
    """`owner` is the OVNCluster with its uid, `replicas` the number of pods of each database at this moment."""

    spec: ClusterSpec
    name: str
    namespace: str
    cluster_domain: str
    owner: Object | None
    replicas: t.Mapping[str, int]

    def members(self, database: Database) -> int:
        """Return the number of members that clients have to know: those to come, and those not removed yet. One that does not exist costs nothing."""
        return max(self.spec.database(database).replicas, self.replicas[database])

    def endpoints(self, database: Database, listener: ClientListener) -> list[str]:
        return self.first_endpoints(database, self.members(database), listener)

    def first_endpoints(self, database: Database, members: int, listener: ClientListener) -> list[str]:
        return inside_endpoints(
            database,
            members,
            name=self.name,
            namespace=self.namespace,
            cluster_domain=self.cluster_domain,
            tls=self.spec.tls.enabled,
            listener=listener,
        )

    def manifest(
        self, api_version: str, kind: str, name: str, component: Component | None = None, **fields: t.Any
    ) -> Object:
        """Return a namespaced object of this control plane; it is deleted with its OVNCluster."""
        metadata: Object = {"name": name, "namespace": self.namespace, "labels": labels(self.name, component)}
        metadata.update(fields.pop("metadata", {}))
        if self.owner is not None:
            metadata["ownerReferences"] = [owner_reference(self.owner)]
        return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **fields}


if t.TYPE_CHECKING:
    from .._api.spec import ClusterSpec


# Keys of `ovn-config`, and variables of the daemons that have them in their environment. None of them begins as those do that our launchers,
# agents and OVN itself read (OVN_, OVS_), so no value there changes what a daemon does.
CONFIG_KEYS = ("OvnNorth", "OvnSouth", "OvnSouthUnrestricted", "k8s_apiserver", "net_cidr", "svc_cidr")


def config_environment() -> list[Object]:
    """Return a variable for each key of `ovn-config`, and for nothing else that may be in it; it is not set where the key is absent.

    Values are those of the moment when the container starts: the pod itself does not change with them. For northd and ovn-controller alone. Members of
    databases know each other by their record, and nothing that is published may tell them of another one; Open vSwitch knows nothing of OVN.
    """
    return [
        {"name": key, "valueFrom": {"configMapKeyRef": {"name": CONFIG_NAME, "key": key, "optional": True}}}
        for key in CONFIG_KEYS
    ]


def scripts(context: ManifestContext, launcher: str, archive: bytes) -> Object:
    """Return what pods run; `launcher` is that of members."""
    return context.manifest(
        "v1",
        "ConfigMap",
        scripts_name(context.name),
        data={pods.LAUNCHER: launcher, pods.RELAY_LAUNCHER: SCRIPT},
        binaryData={pods.ARCHIVE: base64.b64encode(archive).decode()},
    )


def config(context: ManifestContext) -> Object:
    """Return `ovn-config`, with the names that components of other OVN set-ups read.

    Endpoints are those inside of this Kubernetes cluster, as nothing else is known before the Services are there. The run replaces them at its
    end: by the outside ones of a database whose members are exposed. Those without a role are for pods here, and stay.
    """
    return context.manifest(
        "v1",
        "ConfigMap",
        CONFIG_NAME,
        data=config_data(
            context.spec,
            northbound=context.endpoints("northbound", "client"),
            southbound=context.endpoints("southbound", "client"),
            southbound_unrestricted=context.endpoints("southbound", "unrestricted"),
            api_server=f"https://kubernetes.default.svc.{context.cluster_domain}",
        ),
    )


def config_data(
    spec: ClusterSpec,
    *,
    northbound: t.Iterable[str],
    southbound: t.Iterable[str],
    southbound_unrestricted: t.Iterable[str] = (),
    api_server: str,
) -> dict[str, str]:
    """Return the content of `ovn-config`. What is not given is left out.

    Chassis connect to `southbound`, clients like Neutron to `southbound_unrestricted`.
    """
    values = (
        ",".join(northbound),
        ",".join(southbound),
        ",".join(southbound_unrestricted),
        api_server,
        spec.network.net_cidr,
        spec.network.svc_cidr,
    )
    return {key: value for key, value in zip(CONFIG_KEYS, values) if value}
