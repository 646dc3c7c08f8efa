# SPDX-License-Identifier: GPL-3.0-or-later
"""The control plane that the builders of manifests work for."""

from __future__ import annotations

import dataclasses
import typing as t

from .._api.endpoints import ClientListener, inside_endpoints
from .._api.names import Component, Object, labels, owner_reference
from .._api.spec import ClusterSpec
from .._base.databases import Database


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
