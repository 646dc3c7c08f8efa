# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

The objects of a control plane, as a run declares them: what is refused before anything is changed, the Lease, and each object as it shall be.
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
from .._kubernetes.lease import RunLease, identity
from .._kubernetes.moment import format_moment
from .._kubernetes.rollout_progress import is_terminating
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
from .members import first_replicas, run_of
from .observed_state import ObservedCluster, read_state, refuse_neighbors
from .ports import Clash, find_clashes, refuse_clashes
from .recreate_claims import find_claims
from .recreate_statefulset import await_gone, stale
from .storage import check_claims, claim_changes
from .witnesses import find_witnesses


class ClusterObjects:
    """One run. `done`, `steps` and `warnings` grow as it goes, so that a failure can tell what was done before."""

    def __init__(self, cluster: Cluster, wanted: DesiredCluster, live: ObservedCluster, *, check_mode: bool) -> None:
        self.cluster, self.wanted, self.live, self.check_mode = cluster, wanted, live, check_mode
        self.deadline = Deadline(wanted.wait_timeout)
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
        self.clashes: list[Clash] = []
        self.empty: dict[Database, list[Object]] = {}  # claims that have to be recreated
        self.claims_before: set[str | None] = set()  # uids of the claims that this run found
        self.kept: set[Database] = set()  # whose StatefulSet stays as it is, which was told
        self.endpoints = Endpoints()
        self.archive = build_archive()
        self.owner: Object | None = None
        self.resource: Object | None = None
        # Of the specification that `wanted` is made of. Somebody may write the next one meanwhile.
        self.generation = 0 if live.resource is None else live.resource["metadata"]["generation"]
        now = datetime.datetime.now(datetime.timezone.utc)
        self.identity = identity(now)
        self.time = format_moment(now)
        name, namespace = wanted.name, wanted.namespace
        self.lease = RunLease(
            cluster,
            lease_name(name),
            namespace,
            labels(name),
            self.identity,
            take_over=wanted.break_lock,
            patience=self.deadline,
        )
        self.context = RunContext(cluster, namespace, name, self.lease, check_mode, wanted.wait)

    def _check(self) -> None:
        """What is refused before anything is changed: by records, by volumes that would have to shrink or move, by neighbors."""
        live, wanted = self.live, self.wanted
        refuse_neighbors(live)
        self.stores = {d: RecordStore(self.cluster, wanted.record_skeleton(d), live.record(d)) for d in DATABASES}
        self.witness_stores = {
            d: WitnessStore(self.cluster, wanted.witness_skeleton(d), live.witness(d)) for d in DATABASES
        }
        self.records = {d: self.stores[d].read() for d in DATABASES}
        self.replicas = {d: first_replicas(wanted, live, d, self.records[d]) for d in DATABASES}
        new: list[Database] = [d for d in DATABASES if self.records[d] is None]
        self.witnesses = find_witnesses(self.cluster, wanted, live, new, warn=self._warn_once)
        for d in DATABASES:
            run = self._run(d)
            refuse_by_record(run, self.records[d])
            if d in new and not self.replicas[d]:  # with claims, their launchers are asked first
                plan_round(run, {name: Observation(name, installed=False) for name in run.declared}, gate_reason)
        check_claims(self.cluster, wanted, live)
        self.empty = find_claims(self.cluster, wanted, live)
        self.clashes = find_clashes(self._manifests(self.replicas), live.index)
        if not wanted.force_conflicts:
            refuse_clashes(self.clashes)

    def _run(self, database: Database) -> Run:
        return run_of(self.wanted, database, self.identity, self.time, self.witnesses.get(database, ()))

    def _warn_once(self, words: str) -> None:
        if words not in self.warnings:
            self.warnings.append(words)

    def _pending(self) -> bool:
        """Whether any object differs from what is declared."""
        if claim_changes(self.wanted, self.live) or any(self.empty.values()):
            return True
        for d in DATABASES:
            there = self._stateful_set(d)
            if is_terminating(there) or stale(there, self.wanted.spec.database(d).storage):
                return True
        self.owner = self.live.resource
        manifests = [*self.wanted.foundations(self.live), *self._manifests(self.replicas)]
        manifests += [self.wanted.resource()] if self.wanted.declared else []
        return any(
            (there := self.live.index.get(key_of(m))) is None or not is_applied(m, there)
            for m in keep_claims([m for m in manifests if not is_config(m)], self.live)
        )

    def _take_lease(self) -> None:
        """Before the first change, and then everything is looked at again: another run may have ended a moment ago."""
        self._apply(self.wanted.foundations(self.live), self.live)
        self.lease.acquire_or_renew("bring the objects to the declared state")
        self.live = read_state(self.cluster, self.wanted.name, self.wanted.namespace)
        self._check()

    def _stateful_set(self, database: Database) -> Object | None:
        return self.live.get("apps/v1", "StatefulSet", f"{self.wanted.name}-{database}")

    def _await_terminating_statefulsets(self) -> None:
        """What a run that was killed has deleted is made when it is gone, with as many replicas as it had."""
        for there in (one for d in DATABASES if (one := self._stateful_set(d)) and is_terminating(one)):
            if not self.check_mode:
                await_gone(self.cluster, there)
            self.live.index.pop(key_of(there))

    def _foundations(self, live: ObservedCluster) -> None:
        """Namespace, kinds and the custom resource itself: everything else refers to them."""
        self._apply(self.wanted.foundations(live), live)
        self.resource = live.resource
        if self.wanted.declared:
            done = self._apply([self.wanted.resource()], live)[0]
            self.resource = live.resource if done.action == "unchanged" else done.after
            self.generation = ((self.resource or {}).get("metadata") or {}).get("generation", 0)
        self.owner = self.resource if (self.resource or {}).get("metadata", {}).get("uid") else None

    def _apply(self, manifests: list[Object], live: ObservedCluster) -> list[ObjectChange]:
        def note(one: ObjectChange) -> None:
            self.done.append(one)
            if one.action != "unchanged" and not self.check_mode:
                live.forget(one.kind, one.name)

        force = self.wanted.force_conflicts
        return converge(self.cluster, manifests, live.index, check_mode=self.check_mode, force=force, note=note)

    def _manifests(self, replicas: t.Mapping[Database, int]) -> list[Object]:
        return central_manifests(
            self.wanted.spec,
            name=self.wanted.name,
            namespace=self.wanted.namespace,
            cluster_domain=self.wanted.cluster_domain,
            owner=self.owner,
            launcher=SCRIPT,
            archive=self.archive,
            replicas={str(d): count for d, count in replicas.items()},
        )

    def _scale(self, database: Database, count: int, seen: t.Mapping[str, t.Any] | None) -> None:
        """To so many pods, and never to fewer: those would end without leaving their cluster. `Changed` if it is not as it was `seen`."""
        kind, name = "StatefulSet", f"{self.wanted.name}-{database}"
        self.live.forget(kind, name)
        fresh = self.live.stateful_set(self.cluster, database)
        if fresh is not None and fresh["spec"]["replicas"] > count:
            raise Refused(
                f"StatefulSet {name} has {fresh['spec']['replicas']} replicas, this run would set {count}: another run has made it larger meanwhile. "
                "Fewer would end members that nobody has told to leave. Run again."
            )
        if seen is not None and (fresh is None or fresh["metadata"]["uid"] != seen["metadata"]["uid"]):
            raise Changed(f"StatefulSet {name} is another one than the one that was observed.")
        before, self.replicas[database] = self.replicas[database], count
        manifests = [
            m
            for m in keep_claims(self._manifests(self.replicas), self.live)
            if m["kind"] == kind and m["metadata"]["name"] == name
        ]
        index: dict[Key, Object] = {} if fresh is None else {key_of(fresh): fresh}
        force = self.wanted.force_conflicts
        try:
            converge(self.cluster, manifests, index, check_mode=False, force=force, note=self.done.append)
        except Conflict as e:
            self.replicas[database] = before
            if e.details.get("managers"):
                raise
            raise Changed(f"StatefulSet {name} was changed by somebody else at this moment.") from e
        finally:
            self.live.forget(kind, name)

    def _deployment(self, name: str) -> Object | None:
        """As it was last; None if it was changed, and nobody knows yet what became of it."""
        touched = any(d.kind == "Deployment" and d.name == name and d.action != "unchanged" for d in self.done)
        return None if touched else self.live.get("apps/v1", "Deployment", name)

    def _touched(self, kind: str) -> bool:
        return any(d.kind == kind and d.action != "unchanged" for d in self.done)

    @property
    def changed(self) -> bool:
        return bool(self.steps) or any(d.action != "unchanged" for d in self.done)
