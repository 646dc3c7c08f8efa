# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

What is in the cluster already: one list for each kind, read once at the start of a run.
"""

from __future__ import annotations

import dataclasses
import re
import time

from .._api.crds import custom_resource_definitions
from .._api.names import API_VERSION, CONFIG_NAME, Object, record_name, witness_name
from .._databases import DATABASES, Database
from .._errors import Refused, TimedOut
from .._kubernetes.apply import Key, key_of, live_index
from .._kubernetes.client import Cluster

KINDS: list[tuple[str, str]] = [
    ("v1", "ConfigMap"),
    ("v1", "Service"),
    ("v1", "ServiceAccount"),
    ("apps/v1", "Deployment"),
    ("apps/v1", "StatefulSet"),
    ("networking.k8s.io/v1", "NetworkPolicy"),
    ("policy/v1", "PodDisruptionBudget"),
    ("rbac.authorization.k8s.io/v1", "Role"),
    ("rbac.authorization.k8s.io/v1", "RoleBinding"),
]
_CONTROLLER_SECONDS = 60  # to notice that a StatefulSet has changed


@dataclasses.dataclass
class ObservedCluster:
    """`index` holds everything of ours by its key, `neighbors` names the other control planes in the namespace.

    `hidden` are the definitions that this user may not look at: somebody else keeps them.
    """

    name: str
    place: str
    namespace: Object | None
    resource: Object | None
    index: dict[Key, Object]
    hidden: frozenset[str] = frozenset()
    neighbors: tuple[str, ...] = ()
    _forgotten: set[str] = dataclasses.field(default_factory=set)

    def get(self, api_version: str, kind: str, name: str) -> Object | None:
        return self.index.get((api_version, kind, self.place, name))

    def record(self, database: Database) -> Object | None:
        return self.get("v1", "ConfigMap", record_name(self.name, database))

    def witness(self, database: Database) -> Object | None:
        return self.get("v1", "ConfigMap", witness_name(self.name, database))

    def replicas(self, database: Database) -> int:
        there = self.get("apps/v1", "StatefulSet", f"{self.name}-{database}")
        return int(there["spec"]["replicas"]) if there else 0

    def claims(self, database: Database) -> set[int]:
        """The indexes of members that have a claim."""
        prefix = f"data-{self.name}-{database}-"
        found = [
            name
            for _api, kind, _place, name in self.index
            if kind == "PersistentVolumeClaim" and name.startswith(prefix)
        ]
        return {int(name[len(prefix) :]) for name in found if name[len(prefix) :].isdigit()}

    def claims_again(self, cluster: Cluster) -> None:
        """Claims may have been made since."""
        self.index = {key: item for key, item in self.index.items() if key[1] != "PersistentVolumeClaim"}
        self.index.update(_claims(cluster, self.name, self.place))

    def forget(self, kind: str, name: str) -> None:
        """It was changed: look again before it is used."""
        self._forgotten.add(f"{kind}/{name}")

    def stateful_set(self, cluster: Cluster, database: Database) -> Object | None:
        """The StatefulSet as its controller has seen it."""
        name = f"{self.name}-{database}"
        if f"StatefulSet/{name}" not in self._forgotten:
            return self.get("apps/v1", "StatefulSet", name)
        end = time.monotonic() + _CONTROLLER_SECONDS
        while True:
            there = cluster.get("apps/v1", "StatefulSet", name, self.place)
            seen = ((there or {}).get("status") or {}).get("observedGeneration", 0)
            if there is None or seen >= there["metadata"]["generation"]:
                break
            if time.monotonic() > end:
                raise TimedOut(
                    f"The controller of StatefulSets did not look at {name} within {_CONTROLLER_SECONDS} s. "
                    "See that kube-controller-manager runs, then run again."
                )
            time.sleep(0.1)
        self._forgotten.discard(f"StatefulSet/{name}")
        key = ("apps/v1", "StatefulSet", self.place, name)
        if there is None:
            self.index.pop(key, None)
        else:
            self.index[key] = there
        return there


def _visible(cluster: Cluster, api_version: str, kind: str, name: str) -> tuple[Object | None, bool]:
    """A cluster-scoped object, and whether this user may look at it. Who may not works with what an administrator has prepared."""
    try:
        return cluster.get(api_version, kind, name), True
    except Refused as e:
        if e.details.get("http_status") != 403:
            raise
        return None, False


def _claims(cluster: Cluster, name: str, namespace: str) -> dict[Key, Object]:
    """By name, as the StatefulSet takes them: one that was restored or made by hand has no labels, and may hold a database.

    A copy with a longer name, for example, is its owner's.
    """
    ours = re.compile(f"data-{re.escape(name)}-({'|'.join(DATABASES)})-[0-9]+")
    claims = live_index(cluster, [("v1", "PersistentVolumeClaim")], namespace, "")
    return {key: claim for key, claim in claims.items() if ours.fullmatch(key[3])}


def read_state(cluster: Cluster, name: str, namespace: str) -> ObservedCluster:
    """Everything in as many requests as there are kinds."""
    place, visible = _visible(cluster, "v1", "Namespace", namespace)
    if not visible:
        place = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
    index: dict[Key, Object] = {}
    hidden = set()
    for manifest in custom_resource_definitions():
        there, visible = _visible(cluster, manifest["apiVersion"], manifest["kind"], manifest["metadata"]["name"])
        if there is not None:
            index[key_of(manifest)] = there
        elif not visible:
            hidden.add(manifest["metadata"]["name"])
    resource, neighbors = None, list[str]()
    if place is not None:
        resources = {r["metadata"]["name"]: r for r in cluster.list(API_VERSION, "OVNCluster", namespace)}
        resource = resources.pop(name, None)
        neighbors = sorted(resources)
        if resource is not None:
            index[(API_VERSION, "OVNCluster", namespace, name)] = resource
        # Hypervisors of the same cluster may be in the same namespace: they are none of our business.
        ours = f"app.kubernetes.io/instance={name},app.kubernetes.io/component notin (controller,ovs)"
        index.update(live_index(cluster, KINDS, namespace, ours))
        index.update(_claims(cluster, name, namespace))
    return ObservedCluster(name, namespace, place, resource, index, frozenset(hidden), tuple(neighbors))


def refuse_neighbors(live: ObservedCluster) -> None:
    """`Refused` if there is another control plane."""
    if live.neighbors:
        raise Refused(
            f"Namespace {live.place} has the OVNCluster {', '.join(live.neighbors)} already. Client Services and {CONFIG_NAME} are "
            f"the namespace's, so put {live.name} into one of its own. Nothing was changed."
        )
