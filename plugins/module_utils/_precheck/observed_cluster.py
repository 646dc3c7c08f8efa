# SPDX-License-Identifier: GPL-3.0-or-later
"""What the precheck reads of a Kubernetes cluster. What this user may not read is named, and not judged."""

from __future__ import annotations

import dataclasses
import typing as t

from .._api.crds import custom_resource_definitions
from .._api.names import API_VERSION, Object
from .._base.errors import Refused
from .finding import Kind

if t.TYPE_CHECKING:
    from .._kubernetes.client import Cluster

_T = t.TypeVar("_T")
_CRD = "apiextensions.k8s.io/v1"


@dataclasses.dataclass
class ObservedKubernetes:
    """None is what could not be read; `unreadable` says why, by what it would have been. `quotas` and all below it are of the namespace."""

    version: str = ""
    namespace: Object | None = None  # None as well if it does not exist
    definitions: dict[str, Object] | None = None
    nodes: list[Object] | None = None
    storage_classes: list[Object] | None = None
    volumes: list[Object] | None = None
    resource: Object | None = None  # the OVNCluster
    chassis: list[Object] | None = None  # every OVNChassis
    claims: list[Object] | None = None
    pods: list[Object] | None = None
    quotas: list[Object] | None = None
    limit_ranges: list[Object] | None = None
    objects: list[Object] | None = None  # of ours; read only where a quota counts them
    secret: Object | None = None
    shared_secret: Object | None = None
    config_maps: dict[str, Object] = dataclasses.field(default_factory=dict)  # those with CAs that are there
    unreadable: dict[str, str] = dataclasses.field(default_factory=dict)

    def is_readable(self, what: str) -> bool:
        return what not in self.unreadable


class Reader:
    """Reads one part after the other."""

    def __init__(self, cluster: Cluster, name: str, namespace: str) -> None:
        self.cluster, self.name, self.namespace = cluster, name, namespace
        self.found = ObservedKubernetes()

    def _read(self, what: str, read: t.Callable[[], _T]) -> _T | None:
        try:
            return read()
        except Refused as e:
            if e.details.get("http_status") != 403:
                raise
            self.found.unreadable[what] = str(e)
            return None

    def _list(self, what: str, api_version: str, kind: str, namespace: str | None = None) -> list[Object] | None:
        return self._read(what, lambda: self.cluster.list(api_version, kind, namespace))

    def read(self, kind: Kind) -> ObservedKubernetes:
        """Return what both kinds of clusters need; `read_secret`, `read_config_map` and `read_objects` add what depends on the specification."""
        found, namespace = self.found, self.namespace
        found.namespace = self._read("namespace", lambda: self.cluster.get("v1", "Namespace", namespace))
        found.definitions = self._read("definitions", lambda: self._definitions(kind))
        found.nodes = self._list("nodes", "v1", "Node")
        if kind == "cluster":
            found.storage_classes = self._list("storage classes", "storage.k8s.io/v1", "StorageClass")
            found.volumes = self._list("volumes", "v1", "PersistentVolume")
        elif found.definitions:
            found.chassis = self._list("chassis", API_VERSION, "OVNChassis")
        if not self._namespace_exists():
            return found
        if kind == "cluster":
            found.resource = self._read(
                "OVNCluster", lambda: self.cluster.get(API_VERSION, "OVNCluster", self.name, namespace)
            )
            found.claims = self._list("claims", "v1", "PersistentVolumeClaim", namespace)
        found.pods = self._list("pods", "v1", "Pod", namespace)
        found.quotas = self._list("quotas", "v1", "ResourceQuota", namespace)
        if found.quotas:
            found.limit_ranges = self._list("limit ranges", "v1", "LimitRange", namespace)
        return found

    def _namespace_exists(self) -> bool:
        return self.found.namespace is not None or not self.found.is_readable("namespace")

    def _definitions(self, kind: Kind) -> dict[str, Object]:
        """Return those that the kind uses, by name, read as its module reads them."""
        found: dict[str, Object] = {}
        for name in (manifest["metadata"]["name"] for manifest in used_definitions(kind)):
            if kind == "cluster":
                there = self.cluster.get(_CRD, "CustomResourceDefinition", name)
            else:
                listed = self.cluster.list(_CRD, "CustomResourceDefinition", fields=f"metadata.name={name}")
                there = listed[0] if listed else None
            if there is not None:
                found[name] = there
        return found

    def read_secret(self, name: str) -> None:
        if self._namespace_exists():
            self.found.secret = self._read("secret", lambda: self.cluster.get("v1", "Secret", name, self.namespace))

    def read_shared_secret(self, name: str) -> None:
        """Read the Secret that metadata agents share with Nova."""
        if self._namespace_exists():
            read = self._read("shared secret", lambda: self.cluster.get("v1", "Secret", name, self.namespace))
            self.found.shared_secret = read

    def read_config_map(self, name: str) -> None:
        """Listed, for who rolls out hypervisors may not get ConfigMaps."""
        if self._namespace_exists():
            what, fields = f"ConfigMap {name}", f"metadata.name={name}"
            listed = self._read(what, lambda: self.cluster.list("v1", "ConfigMap", self.namespace, fields=fields))
            if listed:
                self.found.config_maps[name] = listed[0]

    def read_objects(self, kinds: t.Iterable[tuple[str, str]]) -> None:
        """Read which objects of these (apiVersion, kind) pairs exist, for quotas that count objects."""
        found: list[Object] = []
        for api_version, kind in sorted(set(kinds)):
            found += self._list(f"{kind} objects", api_version, kind, self.namespace) or []
        self.found.objects = found


def used_definitions(kind: Kind) -> list[Object]:
    """Return the definitions that a run applies: a hypervisor cluster has no OVNCluster."""
    definitions = custom_resource_definitions()
    return (
        definitions
        if kind == "cluster"
        else [one for one in definitions if one["spec"]["names"]["kind"] == "OVNChassis"]
    )
