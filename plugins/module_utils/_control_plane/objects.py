# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

The objects of a control plane as a run applies them: what is refused before anything is changed, the Lease, and the desired objects.
"""

from __future__ import annotations

import datetime
import typing as t

from .._agent.archive import build_archive
from .._api.names import Object, labels, lease_name
from .._databases import DATABASES, Database
from .._deadline import Deadline
from .._errors import Changed, Conflict, Refused
from .._kubernetes.apply import Key, ObjectChange, converge, key_of
from .._kubernetes.client import Cluster
from .._kubernetes.compare import is_applied
from .._kubernetes.lease import RunLease, holder_identity
from .._kubernetes.rollout_progress import is_terminating
from .._kubernetes.timestamps import format_timestamp
from .._launchers.raft import SCRIPT
from .._manifests.central import central_manifests
from .._raft.gates import gate_reason
from .._raft.observation import Observation
from .._raft.plan import plan_round
from .._raft.record import Record
from .._raft.record_checks import refuse_by_record
from .._raft.step import Run
from .._raft_pods.backend import DatabaseRollout
from .._raft_pods.observed import RunContext
from .._raft_pods.record_store import RecordStore
from .._raft_pods.witness_store import WitnessStore
from .desired import DesiredCluster, is_config, keep_claims
from .endpoints import Endpoints
from .members import first_replicas, run_for_database
from .observed_state import ObservedCluster, read_state, refuse_neighbors
from .ports import PortClash, find_port_clashes, refuse_port_clashes
from .recreate_claims import find_claims_to_recreate
from .recreate_statefulset import await_gone, outdated_claim_template
from .storage import check_claims, claim_changes
from .witnesses import find_witnesses


class ClusterObjects:
    """One run. `done`, `steps` and `warnings` grow as it goes on, so that a failure can report what was done before."""

    def __init__(
        self, cluster: Cluster, desired: DesiredCluster, observed: ObservedCluster, *, check_mode: bool
    ) -> None:
        self.cluster, self.desired, self.observed, self.check_mode = cluster, desired, observed, check_mode
        self.deadline = Deadline(desired.wait_timeout)
        self.done: list[ObjectChange] = []
        self.steps: list[str] = []
        self.warnings: list[str] = []
        self.settings: dict[str, dict[str, t.Any]] = {"before": {}, "after": {}}
        self.databases: dict[Database, DatabaseRollout] = {}
        self.stores: dict[Database, RecordStore] = {}
        self.witness_stores: dict[Database, WitnessStore] = {}
        self.records: dict[Database, Record | None] = {}
        self.replicas: dict[Database, int] = {}
        self.witnesses: dict[Database, tuple[str, ...]] = {}
        self.port_clashes: list[PortClash] = []
        self.claims_to_recreate: dict[Database, list[Object]] = {}  # claims that have to be recreated
        self.claims_before: set[str | None] = set()  # uids of the claims that this run found
        self.kept_statefulsets: set[Database] = set()  # whose StatefulSet is not recreated; a warning says why
        self.endpoints = Endpoints()
        self.archive = build_archive()
        self.owner: Object | None = None
        self.resource: Object | None = None
        # Of the specification that `desired` is made of. Another client may write the next one meanwhile.
        self.generation = 0 if observed.resource is None else observed.resource["metadata"]["generation"]
        now = datetime.datetime.now(datetime.timezone.utc)
        self.identity = holder_identity(now)
        self.time = format_timestamp(now)
        name, namespace = desired.name, desired.namespace
        self.lease = RunLease(
            cluster,
            lease_name(name),
            namespace,
            labels(name),
            self.identity,
            break_lock=desired.break_lock,
            patience=self.deadline,
        )
        self.context = RunContext(cluster, namespace, name, self.lease, check_mode, desired.wait)

    def _check(self) -> None:
        """Refuse before anything is changed: because of records, of volumes that would have to shrink or move, or of neighbors."""
        observed, desired = self.observed, self.desired
        refuse_neighbors(observed)
        self.stores = {d: RecordStore(self.cluster, desired.record_skeleton(d), observed.record(d)) for d in DATABASES}
        self.witness_stores = {
            d: WitnessStore(self.cluster, desired.witness_skeleton(d), observed.witness(d)) for d in DATABASES
        }
        self.records = {d: self.stores[d].read() for d in DATABASES}
        self.replicas = {d: first_replicas(desired, observed, d, self.records[d]) for d in DATABASES}
        new: list[Database] = [d for d in DATABASES if self.records[d] is None]
        self.witnesses = find_witnesses(self.cluster, desired, observed, new, warn=self._warn_once)
        for d in DATABASES:
            run = self._run(d)
            refuse_by_record(run, self.records[d])
            if d in new and not self.replicas[d]:  # with claims, their launchers are asked first
                plan_round(run, {name: Observation(name, installed=False) for name in run.declared}, gate_reason)
        check_claims(self.cluster, desired, observed)
        self.claims_to_recreate = find_claims_to_recreate(self.cluster, desired, observed)
        self.port_clashes = find_port_clashes(self._manifests(self.replicas), observed.index)
        if not desired.force_conflicts:
            refuse_port_clashes(self.port_clashes)

    def _run(self, database: Database) -> Run:
        return run_for_database(self.desired, database, self.identity, self.time, self.witnesses.get(database, ()))

    def _warn_once(self, message: str) -> None:
        if message not in self.warnings:
            self.warnings.append(message)

    def _has_differences(self) -> bool:
        """Return whether any object differs from the desired one."""
        if claim_changes(self.desired, self.observed) or any(self.claims_to_recreate.values()):
            return True
        for d in DATABASES:
            there = self._stateful_set(d)
            if is_terminating(there) or outdated_claim_template(there, self.desired.spec.database(d).storage):
                return True
        self.owner = self.observed.resource
        manifests = [*self.desired.foundations(self.observed), *self._manifests(self.replicas)]
        manifests += [self.desired.resource()] if self.desired.declared else []
        return any(
            (there := self.observed.index.get(key_of(m))) is None or not is_applied(m, there)
            for m in keep_claims([m for m in manifests if not is_config(m)], self.observed)
        )

    def _acquire_lease(self) -> None:
        """Acquire it before the first change, then read the state again: another run may have ended a moment ago."""
        self._apply(self.desired.foundations(self.observed), self.observed)
        self.lease.acquire_or_renew("bring the objects to the declared state")
        self.observed = read_state(self.cluster, self.desired.name, self.desired.namespace)
        self._check()

    def _stateful_set(self, database: Database) -> Object | None:
        return self.observed.get("apps/v1", "StatefulSet", f"{self.desired.name}-{database}")

    def _await_terminating_statefulsets(self) -> None:
        """Wait for StatefulSets that a killed run has deleted. They are created again with as many replicas as they had."""
        for there in (one for d in DATABASES if (one := self._stateful_set(d)) and is_terminating(one)):
            if not self.check_mode:
                await_gone(self.cluster, there)
            self.observed.index.pop(key_of(there))

    def _apply_foundations(self, observed: ObservedCluster) -> None:
        """Apply the namespace, the definitions and the OVNCluster: everything else refers to them."""
        self._apply(self.desired.foundations(observed), observed)
        self.resource = observed.resource
        if self.desired.declared:
            done = self._apply([self.desired.resource()], observed)[0]
            self.resource = observed.resource if done.action == "unchanged" else done.after
            self.generation = ((self.resource or {}).get("metadata") or {}).get("generation", 0)
        self.owner = self.resource if (self.resource or {}).get("metadata", {}).get("uid") else None

    def _apply(self, manifests: list[Object], observed: ObservedCluster) -> list[ObjectChange]:
        def on_change(one: ObjectChange) -> None:
            self.done.append(one)
            if one.action != "unchanged" and not self.check_mode:
                observed.invalidate(one.kind, one.name)

        force = self.desired.force_conflicts
        return converge(
            self.cluster, manifests, observed.index, check_mode=self.check_mode, force=force, on_change=on_change
        )

    def _manifests(self, replicas: t.Mapping[Database, int]) -> list[Object]:
        return central_manifests(
            self.desired.spec,
            name=self.desired.name,
            namespace=self.desired.namespace,
            cluster_domain=self.desired.cluster_domain,
            owner=self.owner,
            launcher=SCRIPT,
            archive=self.archive,
            replicas={str(d): count for d, count in replicas.items()},
        )

    def _scale(self, database: Database, count: int, known: t.Mapping[str, t.Any] | None) -> None:
        """Scale up to `count` pods, never down: pods would end without leaving their cluster. `Changed` if the StatefulSet is no longer the `known` one."""
        kind, name = "StatefulSet", f"{self.desired.name}-{database}"
        self.observed.invalidate(kind, name)
        fresh = self.observed.stateful_set(self.cluster, database)
        if fresh is not None and fresh["spec"]["replicas"] > count:
            raise Refused(
                f"StatefulSet {name} has {fresh['spec']['replicas']} replicas, this run would set {count}: another run has made it larger meanwhile. "
                "Fewer would end members that have not left their cluster. Run again."
            )
        if known is not None and (fresh is None or fresh["metadata"]["uid"] != known["metadata"]["uid"]):
            raise Changed(f"StatefulSet {name} is another one than the one that was observed.")
        before, self.replicas[database] = self.replicas[database], count
        manifests = [
            m
            for m in keep_claims(self._manifests(self.replicas), self.observed)
            if m["kind"] == kind and m["metadata"]["name"] == name
        ]
        index: dict[Key, Object] = {} if fresh is None else {key_of(fresh): fresh}
        force = self.desired.force_conflicts
        try:
            converge(self.cluster, manifests, index, check_mode=False, force=force, on_change=self.done.append)
        except Conflict as e:
            self.replicas[database] = before
            if e.details.get("managers"):
                raise
            raise Changed(f"StatefulSet {name} was changed by another client at this moment.") from e
        finally:
            self.observed.invalidate(kind, name)

    def _deployment(self, name: str) -> Object | None:
        """Return the Deployment as it was read; None if this run has changed it since."""
        touched = any(d.kind == "Deployment" and d.name == name and d.action != "unchanged" for d in self.done)
        return None if touched else self.observed.get("apps/v1", "Deployment", name)

    def _has_changed(self, kind: str) -> bool:
        return any(d.kind == kind and d.action != "unchanged" for d in self.done)

    @property
    def changed(self) -> bool:
        return bool(self.steps) or any(d.action != "unchanged" for d in self.done)
