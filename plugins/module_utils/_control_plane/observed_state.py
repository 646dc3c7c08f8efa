# SPDX-License-Identifier: GPL-3.0-or-later
"""The observed state of a control plane: one list for each kind, read once at the start of a run."""

from __future__ import annotations

import dataclasses
import re
import time

from .._api.crds import custom_resource_definitions
from .._api.names import API_VERSION, CONFIG_NAME, Object, record_name, witness_name
from .._base.databases import DATABASES, Database
from .._base.errors import Refused, TimedOut
from .._kubernetes.apply import Key, key_of, list_objects
from .._kubernetes.client import Cluster

KINDS: list[tuple[str, str]] = [
    ("v1", "ConfigMap"),
    ("v1", "Service"),
    ("v1", "ServiceAccount"),
    ("apps/v1", "DaemonSet"),
    ("apps/v1", "Deployment"),
    ("apps/v1", "StatefulSet"),
    ("networking.k8s.io/v1", "NetworkPolicy"),
    ("policy/v1", "PodDisruptionBudget"),
    ("rbac.authorization.k8s.io/v1", "Role"),
    ("rbac.authorization.k8s.io/v1", "RoleBinding"),
]
_OF_HYPERVISORS = "controller,ovs,image-pull,metadata-agent,chassis-observer"  # components
_CONTROLLER_SECONDS = 60  # to notice that a StatefulSet has changed


@dataclasses.dataclass
class ObservedCluster:
    """`index` holds everything of ours by its key, `neighbors` names the other control planes in the namespace.

    `hidden` are the names of the custom resource definitions that this user may not read: an administrator keeps them.
    """

    name: str
    namespace: str
    namespace_object: Object | None
    resource: Object | None
    index: dict[Key, Object]
    hidden: frozenset[str] = frozenset()
    neighbors: tuple[str, ...] = ()
    _invalidated: set[str] = dataclasses.field(default_factory=set)

    def get(self, api_version: str, kind: str, name: str) -> Object | None:
        return self.index.get((api_version, kind, self.namespace, name))

    def record(self, database: Database) -> Object | None:
        return self.get("v1", "ConfigMap", record_name(self.name, database))

    def witness(self, database: Database) -> Object | None:
        return self.get("v1", "ConfigMap", witness_name(self.name, database))

    def known_stateful_set(self, database: Database) -> Object | None:
        """Return the StatefulSet as it was read last."""
        return self.get("apps/v1", "StatefulSet", f"{self.name}-{database}")

    def replicas(self, database: Database) -> int:
        there = self.known_stateful_set(database)
        return int(there["spec"]["replicas"]) if there else 0

    def claims(self, database: Database) -> set[int]:
        """Return the indexes of members that have a claim."""
        prefix = f"data-{self.name}-{database}-"
        found = [
            name
            for _api, kind, _namespace, name in self.index
            if kind == "PersistentVolumeClaim" and name.startswith(prefix)
        ]
        return {int(name[len(prefix) :]) for name in found if name[len(prefix) :].isdigit()}

    @property
    def claim_uids(self) -> set[str | None]:
        """Return the uids of all claims."""
        return {item["metadata"].get("uid") for key, item in self.index.items() if key[1] == "PersistentVolumeClaim"}

    def reread_claims(self, cluster: Cluster) -> None:
        """Read the claims again: some may have been created since."""
        self.index = {key: item for key, item in self.index.items() if key[1] != "PersistentVolumeClaim"}
        self.index.update(_claims(cluster, self.name, self.namespace))

    def invalidate(self, kind: str, name: str) -> None:
        """Have the object read again before it is used, because this run has changed it."""
        self._invalidated.add(f"{kind}/{name}")

    def stateful_set(self, cluster: Cluster, database: Database) -> Object | None:
        """Return the StatefulSet in a version that its controller has observed; `TimedOut` if the controller does not do so within 60 s."""
        name = f"{self.name}-{database}"
        if f"StatefulSet/{name}" not in self._invalidated:
            return self.known_stateful_set(database)
        end = time.monotonic() + _CONTROLLER_SECONDS
        while True:
            there = cluster.get("apps/v1", "StatefulSet", name, self.namespace)
            observed_generation = ((there or {}).get("status") or {}).get("observedGeneration", 0)
            if there is None or observed_generation >= there["metadata"]["generation"]:
                break
            if time.monotonic() > end:
                raise TimedOut(
                    f"The controller of StatefulSets did not look at {name} within {_CONTROLLER_SECONDS} s. "
                    "See that kube-controller-manager runs, then run again."
                )
            time.sleep(0.1)
        self._invalidated.discard(f"StatefulSet/{name}")
        key = ("apps/v1", "StatefulSet", self.namespace, name)
        if there is None:
            self.index.pop(key, None)
        else:
            self.index[key] = there
        return there


def _visible(cluster: Cluster, api_version: str, kind: str, name: str) -> tuple[Object | None, bool]:
    """Return a cluster-scoped object, and whether this user may read it. A user who may not works with what an administrator has prepared."""
    try:
        return cluster.get(api_version, kind, name), True
    except Refused as e:
        if e.details.get("http_status") != 403:
            raise
        return None, False


def _claims(cluster: Cluster, name: str, namespace: str) -> dict[Key, Object]:
    """Return the claims by name, as the StatefulSet finds them: one that was restored or created by hand has no labels, and may hold a database.

    A copy with a longer name is not ours.
    """
    ours = re.compile(f"data-{re.escape(name)}-({'|'.join(DATABASES)})-[0-9]+")
    claims = list_objects(cluster, [("v1", "PersistentVolumeClaim")], namespace, "")
    return {key: claim for key, claim in claims.items() if ours.fullmatch(key[3])}


def read_state(cluster: Cluster, name: str, namespace: str) -> ObservedCluster:
    """Return the observed state, in one request for each kind."""
    namespace_object, visible = _visible(cluster, "v1", "Namespace", namespace)
    if not visible:
        namespace_object = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
    index: dict[Key, Object] = {}
    hidden = set()
    for manifest in custom_resource_definitions():
        there, visible = _visible(cluster, manifest["apiVersion"], manifest["kind"], manifest["metadata"]["name"])
        if there is not None:
            index[key_of(manifest)] = there
        elif not visible:
            hidden.add(manifest["metadata"]["name"])
    resource, neighbors = None, list[str]()
    if namespace_object is not None:
        resources = {r["metadata"]["name"]: r for r in cluster.list(API_VERSION, "OVNCluster", namespace)}
        resource = resources.pop(name, None)
        neighbors = sorted(resources)
        if resource is not None:
            index[(API_VERSION, "OVNCluster", namespace, name)] = resource
        # Hypervisors of the same cluster may be in the same namespace. ovn_hypervisors manages them.
        ours = f"app.kubernetes.io/instance={name},app.kubernetes.io/component notin ({_OF_HYPERVISORS})"
        index.update(list_objects(cluster, KINDS, namespace, ours))
        index.update(_claims(cluster, name, namespace))
    return ObservedCluster(name, namespace, namespace_object, resource, index, frozenset(hidden), tuple(neighbors))


def refuse_neighbors(observed: ObservedCluster) -> None:
    """Raise `Refused` if the namespace has another control plane."""
    if observed.neighbors:
        raise Refused(
            f"Namespace {observed.namespace} has the OVNCluster {', '.join(observed.neighbors)} already. Client Services and {CONFIG_NAME} are "
            f"the namespace's, so put {observed.name} into one of its own. Nothing was changed."
        )


def claim_templates(stateful_set: Object) -> list[Object]:
    """Return the claim templates of a StatefulSet; `Refused` without any: then it has another origin, and its members would lose their files."""
    templates: list[Object] = stateful_set["spec"].get("volumeClaimTemplates") or []
    if not templates:
        metadata = stateful_set["metadata"]
        raise Refused(
            f"StatefulSet {metadata['name']} in namespace {metadata['namespace']} has no volumeClaimTemplates: this collection did not create it. "
            "Give the control plane another name, or delete the StatefulSet."
        )
    return templates
