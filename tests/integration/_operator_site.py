"""One OVNCluster whose certificates the operator issues into a real API server, without the rest of the operator."""

from __future__ import annotations

import base64
import datetime
import typing as t

from _apiserver import ApiServer

from ansible_collections.c5c3.ovn.plugins.module_utils._api.hypervisor_clusters import (
    HypervisorCluster,
    KubeconfigSecret,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._api.spec import parse_spec
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.client import Cluster
from ansible_collections.c5c3.ovn.plugins.module_utils._operator.authorities import Context
from ansible_collections.c5c3.ovn.plugins.module_utils._operator.certificates import (
    ensure_central,
    ensure_hypervisors,
)

NOW = datetime.datetime.now(datetime.timezone.utc)
SPEC: dict[str, t.Any] = {"tls": {"certificates": "operator", "southboundClientCaKey": "client-ca.crt"}}


class Site:
    """One OVNCluster in a namespace, and a namespace for its hypervisors."""

    def __init__(self, server: ApiServer, namespace: str) -> None:
        self.cluster, self.namespace = Cluster({"kubeconfig": server.kubeconfig}), namespace
        self.remote = f"{namespace}-remote"
        self.changes: list[str] = []
        self.warnings: list[str] = []

    def context(
        self, spec: t.Mapping[str, t.Any] | None = None, status: t.Mapping[str, t.Any] | None = None
    ) -> Context:
        spec = SPEC if spec is None else spec
        metadata = {"name": "ovn", "namespace": self.namespace, "generation": 1}
        resource = {"metadata": metadata, "spec": dict(spec), "status": dict(status or {})}
        parsed = parse_spec(dict(spec), name="ovn", namespace=self.namespace)
        return Context(
            resource,
            parsed,
            "cluster.local",
            lambda one: self.changes.append(f"{one.kind} {one.name} {one.action}"),
            self.warnings.append,
        )

    def central(self, now: datetime.datetime = NOW, **more: t.Any) -> list[str]:
        """What a call changes."""
        self.changes.clear()
        ensure_central(self.cluster, self.context(**more), now)
        return list(self.changes)

    def hypervisors(self, now: datetime.datetime = NOW, **more: t.Any) -> list[str]:
        self.changes.clear()
        place = HypervisorCluster("rack1", KubeconfigSecret("rack1", "kubeconfig"), self.remote)
        ensure_hypervisors(self.cluster, self.cluster, self.context(**more), place, now)
        return list(self.changes)

    def texts(self, name: str = "ovn-tls", namespace: str = "") -> dict[str, str]:
        found = self.cluster.get("v1", "Secret", name, namespace or self.namespace)
        return {key: base64.b64decode(data).decode() for key, data in ((found or {}).get("data") or {}).items()}
