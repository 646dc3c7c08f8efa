# SPDX-License-Identifier: GPL-3.0-or-later
"""What the precheck reads of a Kubernetes cluster. What this user may not read is named, and not judged."""

from __future__ import annotations

import dataclasses
import typing as t

from .._api.crds import REVISION, custom_resource_definitions, revision_of
from .._api.names import API_VERSION, CA_KEY, POD_SECURITY, Object
from .._base.errors import Refused
from .._hypervisors.metadata_agents import secret_problem, secret_step
from .._kubernetes.rollout_progress import is_terminating
from .._kubernetes.secret_files import config_map_data
from .._kubernetes.version import oldest_version, version_problem
from .finding import TITLES, Finding, Kind

# Judges the API server, the namespace and the definitions. Pure.

if t.TYPE_CHECKING:
    from .._api.metadata_agent_spec import SharedSecret
    from .._api.tls_spec import ConfigMapReference, Tls

# Pods of hypervisors use the network and folders of their node; those of the control plane satisfy the strictest level.
_REFUSED_BY = {"cluster": (), "hypervisors": ("baseline", "restricted")}


def judge_version(version: str, server: str) -> list[Finding]:
    problem = version_problem(version)
    advice = f"Upgrade the cluster to Kubernetes {oldest_version()} or newer."
    return [Finding("api_version", f"API server {server}", problem, advice)] if problem else []


def judge_namespace(namespace: Object | None, kind: Kind) -> list[Finding]:
    """Judge a namespace that exists; a missing one is made by the run."""
    if namespace is None:
        return []
    name = namespace["metadata"]["name"]
    if is_terminating(namespace):
        return [
            Finding(
                "namespace_terminating",
                f"Namespace {name}",
                "It is being deleted, so nothing can be created in it.",
                "Wait until it is gone (kubectl get namespace), or look which finalizer keeps it, then run again.",
            )
        ]
    level = (namespace["metadata"].get("labels") or {}).get(POD_SECURITY, "")
    if level not in _REFUSED_BY[kind]:
        return []
    return [
        Finding(
            "namespace_pod_security",
            f"Namespace {name}",
            f"Its label {POD_SECURITY}={level} refuses the pods of {TITLES[kind]}, which use the network and folders of their node.",
            f"Set it to privileged (kubectl label --overwrite namespace {name} {POD_SECURITY}=privileged), or choose another namespace.",
        )
    ]


def judge_definitions(definitions: t.Mapping[str, Object] | None) -> list[Finding]:
    found = []
    for name, definition in (definitions or {}).items():
        if is_terminating(definition):
            found.append(
                Finding(
                    "definition_terminating",
                    f"CustomResourceDefinition {name}",
                    "It is being deleted, with all its objects.",
                    "Wait until it is gone (kubectl get crd), or look which finalizer keeps it, then run again.",
                )
            )
        elif (revision := revision_of(definition)) is None or revision > REVISION:
            found.append(
                Finding(
                    "definition_newer",
                    f"CustomResourceDefinition {name}",
                    f"A newer version of the collection has written it (schema revision {'unknown' if revision is None else revision}, "
                    f"this version knows {REVISION}).",
                    "Update the collection c5c3.ovn on this control node.",
                )
            )
    return found


def judge_secret(
    secret: Object | None, name: str, namespace: str, *, exists: bool, tls: Tls, kind: Kind
) -> list[Finding]:
    """Judge a Secret that another owner has to make; `exists` says whether the namespace is there."""
    client_ca_key = tls.southbound_client_ca_key if kind == "cluster" else None
    keys = ["tls.crt", "tls.key", *(() if tls.ca_config_map_ref else (CA_KEY,)), *filter(None, (client_ca_key,))]
    where = f"Secret {namespace}/{name}"
    if secret is None:
        return [
            Finding(
                "secret_missing",
                where,
                f"{_absence(namespace, exists)}; pods that mount it would not start.",
                f"Let its owner make it with {', '.join(keys)}, or leave tls.certSecretRef out: then ovn_pki makes one.",
            )
        ]
    missing = [key for key in keys if not (secret.get("data") or {}).get(key)]
    if not missing:
        return []
    authority = "" if tls.ca_config_map_ref else f"{CA_KEY}: of the CA that signed all certificates"
    bundle = f"{client_ca_key}: of all whose certificates the Southbound lets in" if client_ca_key else ""
    notes = "; ".join(filter(None, (authority, bundle)))
    return [
        Finding(
            "secret_incomplete",
            where,
            f"It has no {', '.join(missing)}.",
            f"Let its owner write all of {', '.join(keys)}{f' ({notes})' if notes else ''}.",
        )
    ]


def judge_shared_secret(
    secret: Object | None, reference: SharedSecret, namespace: str, *, exists: bool
) -> list[Finding]:
    """Judge the Secret that metadata agents share with Nova; `exists` says whether the namespace is there."""
    where, step = f"Secret {namespace}/{reference.name}", f"{secret_step(reference, namespace)}."
    if secret is None:
        return [Finding("secret_missing", where, f"{_absence(namespace, exists)}, and metadata agents need it.", step)]
    problem = secret_problem((secret.get("data") or {}).get(reference.key), is_there=True)
    return [Finding("secret_incomplete", where, f"It {problem}", step)] if problem else []


def judge_bundle(
    config_map: Object | None, reference: ConfigMapReference, field: str, namespace: str, *, exists: bool
) -> list[Finding]:
    """Judge a ConfigMap with CAs, which this field of `tls` names; `exists` says whether the namespace is there."""
    where = f"ConfigMap {namespace}/{reference.name}"
    if config_map is None:
        return [
            Finding(
                "bundle_missing",
                where,
                f"{_absence(namespace, exists)}; pods that mount it would not start.",
                f"Let its owner, trust-manager for example, write it with the key {reference.key}, or correct tls.{field}.",
            )
        ]
    if config_map_data(config_map).get(reference.key):
        return []
    return [
        Finding(
            "bundle_incomplete",
            where,
            f"It has no {reference.key}; pods that mount it would not start.",
            f"Let its owner write that key, with the PEM texts of the CAs, or correct tls.{field}.",
        )
    ]


def judge_accounts(
    missing: t.Container[str], given: t.Mapping[str, str], namespace: str, *, exists: bool
) -> list[Finding]:
    """Judge ServiceAccounts that another owner has to make. `given`: field of the specification to the name in it."""
    return [
        Finding(
            "account_missing",
            f"ServiceAccount {namespace}/{name}",
            f"{_absence(namespace, exists)}; the API server would refuse the pods of {field.split('.')[1]}.",
            f"Create it, or leave {field} out: then a run makes one.",
        )
        for field, name in given.items()
        if name in missing
    ]


def _absence(namespace: str, exists: bool) -> str:
    return "It does not exist" if exists else f"Namespace {namespace} does not exist, so neither does it"


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
