# SPDX-License-Identifier: GPL-3.0-or-later
"""One OVNCluster: its control plane, its hypervisor clusters, and what wakes them."""

from __future__ import annotations

import typing as t

from .._api.hypervisor_clusters import HypervisorCluster
from .._api.names import API_VERSION, Object, label_selector, labels
from .._api.spec import ClusterSpec, parse_spec
from .._api.status import rolled_out
from .._api.status_conditions import RECONCILED, TargetOutcome
from .._control_plane.leader_proxy import runs_on_all_nodes
from .._kubernetes.watcher import Watched, Watcher
from .._roles.authorities import AUTHORITIES
from .authorities import authority_name
from .control_plane import delete, is_kept, roll_out
from .hypervisor_target import Claims, HypervisorTarget, identity, version_of
from .status_writer import Events, StatusWriter
from .target import Shared, Target

CONTROL_PLANE = "control-plane"


class ObservedResource(t.NamedTuple):
    """What of an OVNCluster wakes whom. `conditions` are those of observers and runs."""

    uid: str
    generation: int
    is_deleted: bool
    rolled_out: int
    endpoints: t.Any
    conditions: t.Any
    answers: t.Any  # which chassis answer heartbeats


def observe_resource(resource: Object) -> ObservedResource:
    """Return the parts of the OVNCluster that matter to the operator. Pure."""
    metadata, status = resource["metadata"], resource.get("status") or {}
    conditions = {one["type"]: one["status"] for one in status.get("conditions") or () if one["type"] != RECONCILED}
    chassis = (one.get("message") for one in status.get("conditions") or () if one["type"] == "ControllersReady")
    return ObservedResource(
        metadata["uid"],
        metadata["generation"],
        bool(metadata.get("deletionTimestamp")),
        rolled_out(status),
        tuple(sorted((status.get("endpoints") or {}).items())),
        tuple(sorted(conditions.items())),
        next(chassis, None),
    )


def daemon_set_extract(one: Object) -> t.Any:
    """Return its identity, and of the leader proxy whether it runs on all its nodes, for then a run publishes its address. Pure."""
    is_proxy = (one["metadata"].get("labels") or {}).get("app.kubernetes.io/component") == "leader-proxy"
    return identity(one), is_proxy and runs_on_all_nodes(one)


def reported_generation(resource: Object) -> int:
    """Return the generation that the condition of the operator is about, 0 without one. Pure."""
    conditions = (resource.get("status") or {}).get("conditions") or ()
    return next((int(one.get("observedGeneration") or 0) for one in conditions if one["type"] == RECONCILED), 0)


class OperatedCluster(Target):
    """Its own worker is that of the control plane. Each hypervisor cluster has one more."""

    def __init__(self, shared: Shared, resource: Object) -> None:
        metadata = resource["metadata"]
        super().__init__(
            shared, f"{metadata['namespace']}/{metadata['name']}", CONTROL_PLANE, Events(shared.cluster, resource)
        )
        self.uid = metadata["uid"]
        self._name, self._namespace = metadata["name"], metadata["namespace"]
        self._status = StatusWriter(shared.cluster, resource)
        self._observed: ObservedResource | None = None
        self._generation = 0  # of the last run
        self._reported = reported_generation(resource)  # the newest generation that the condition is about
        self.places: dict[str, HypervisorTarget] = {}
        self._own_secrets: set[str] = set()
        self._secrets: dict[str, str] = {}  # by hypervisor cluster, the Secret with its kubeconfig
        self._watchers: list[Watcher] = []
        self._claims = Claims()

    def start(self) -> OperatedCluster:
        self.worker.start()
        selector = label_selector(labels(self._name))
        kinds: tuple[tuple[str, str, t.Callable[[Object], t.Any]], ...] = (
            ("apps/v1", "StatefulSet", identity),
            ("apps/v1", "Deployment", identity),
            ("apps/v1", "DaemonSet", daemon_set_extract),
            ("v1", "PersistentVolumeClaim", identity),
            ("v1", "Service", identity),
        )
        self._watchers = [
            Watcher(
                self.shared.cluster,
                Watched(api_version, kind, self._namespace, labels=selector),
                extract,
                lambda _name, _extract: self.worker.wake(),
                self.on_problem,
            ).start()
            for api_version, kind, extract in kinds
        ]
        secrets = Watched("v1", "Secret", self._namespace)
        self._watchers.append(
            Watcher(self.shared.cluster, secrets, version_of, self._on_secret, self.on_problem).start()
        )
        return self

    def stop(self) -> None:
        """Look after it no longer."""
        for watcher in self._watchers:
            watcher.stop()
        for place in self.places.values():
            place.stop()
        self.worker.stop()
        self.shared.metrics.remove(self.key, self.name)

    def targets(self) -> list[Target]:
        return [self, *self.places.values()]

    def on_change(self, observed: ObservedResource) -> None:
        """The OVNCluster has changed, or was observed for the first time."""
        before, self._observed = self._observed, observed
        edited = before is None or (before.generation, before.is_deleted) != (observed.generation, observed.is_deleted)
        if edited or (before is not None and before.conditions != observed.conditions):
            self.worker.wake(urgent=edited)
        if before is not None and (before.rolled_out, before.endpoints) != (observed.rolled_out, observed.endpoints):
            for place in list(self.places.values()):
                place.worker.wake(urgent=True)
        if before is not None and before.answers != observed.answers:
            for place in list(self.places.values()):  # a run writes Ready of the OVNChassis whose nodes cannot
                place.worker.wake()

    def _on_secret(self, name: str, _version: t.Any) -> None:
        secret = name.partition("/")[2]
        everybody = secret in self._own_secrets
        for target in self.targets():
            if everybody or self._secrets.get(target.name) == secret:
                target.worker.wake(urgent=True)

    # --- runs ------------------------------------------------------------------------------------------------------------

    def run(self) -> dict[str, t.Any] | None:
        cluster = self.shared.cluster
        resource = cluster.get(API_VERSION, "OVNCluster", self._name, self._namespace)
        if resource is None or resource["metadata"]["uid"] != self.uid:
            return None
        self._generation = resource["metadata"]["generation"]
        if resource["metadata"].get("deletionTimestamp"):
            if is_kept(resource):
                self.events.changed(self.name, delete(cluster, resource))
            return None
        spec = parse_spec(resource.get("spec") or {}, name=self._name, namespace=self._namespace)
        self._place_targets(resource, spec)
        if self._reported != self._generation:
            self.record(TargetOutcome(False, "RollingOut", f"Generation {self._generation} is rolled out."))
            self._reported = self._generation
        domain = self.shared.options.cluster_domain
        return roll_out(cluster, resource, spec, cluster_domain=domain, warn=self.warn)

    def record(self, outcome: TargetOutcome) -> None:
        self._status.record_control_plane(outcome, self._generation, list(self.places))

    def _place_targets(self, resource: Object, spec: ClusterSpec) -> None:
        """Begin to look after the hypervisor clusters that were added, and no longer after those that were taken out."""
        wanted: dict[str, HypervisorCluster] = {one.name: one for one in spec.hypervisor_clusters}
        self._secrets = {name: one.kubeconfig_secret_ref.name for name, one in wanted.items()}
        self._own_secrets = {spec.tls_secret, *(authority_name(self._name, which) for which in AUTHORITIES)}
        places = dict(self.places)
        for name in set(places) - set(wanted):
            places.pop(name).stop()
            self.warn(
                f"Hypervisor cluster {name} is not in hypervisorClusters any more. What runs there runs on; to remove it, run c5c3.ovn.hypervisors with "
                "ovn_hypervisor_state=absent."
            )
        for name, one in wanted.items():
            if name not in places:
                places[name] = HypervisorTarget(self.shared, resource, one, self.events, self._status, self._claims)
                places[name].worker.start()
                places[name].worker.wake(urgent=True)
            elif places[name].place != one:
                places[name].place = one
                places[name].worker.wake(urgent=True)
        self.places = places  # other threads read it
