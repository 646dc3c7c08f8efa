# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

A whole control plane in one Kubernetes cluster: objects, both databases, what lives inside them, northd, status; in the order that is safe.
"""

from __future__ import annotations

import concurrent.futures
import datetime
import functools
import typing as t

from .._deadline import Deadline
from .._errors import Refused
from .._k8s import Cluster
from .._kubernetes.compare import is_applied
from .._launcher import SCRIPT
from .._manifests.central import central_manifests
from .._manifests.names import (
    DATABASES,
    Database,
    Object,
    labels,
    lease_name,
    northd_name,
    observer_name,
)
from .._objects import Done, Key, converge, key_of, prune
from .._pods.archive import build_archive
from .._pods.schema import schema_gap
from .._raft.record import Record
from .._raft.standing import refuse_by_record
from .._raft.step import PODS
from .database import DatabaseRollout, raise_together
from .desired import Wanted, is_config, is_later, keep_claims, template_changes
from .endpoints import Endpoints, Place, find_endpoints
from .lease import RunLease, identity
from .live import Live, look, refuse_neighbors
from .members import first_replicas, run_of
from .observed import Context
from .ports import Clash, find_clashes, refuse_clashes, repair
from .record_store import RecordStore
from .settings import converge_settings
from .status import Seen, write_status
from .storage import claim_changes, grow_claims, refuse_fixed_size, unbound_claims
from .template import foreseen, is_stale, orphan
from .template import words as words_of_template
from .workloads import await_workloads, observer_trouble


class ControlPlane:
    """One run. `done`, `steps` and `warnings` grow as it goes, so that a failure can tell what was done before."""

    def __init__(self, cluster: Cluster, wanted: Wanted, live: Live, *, check_mode: bool) -> None:
        self.cluster, self.wanted, self.live, self.check_mode = cluster, wanted, live, check_mode
        self.deadline = Deadline(wanted.wait_timeout)
        self.done: list[Done] = []
        self.steps: list[str] = []
        self.warnings: list[str] = []
        self.settings: dict[str, dict[str, t.Any]] = {"before": {}, "after": {}}
        self.databases: dict[Database, DatabaseRollout] = {}
        self.stores: dict[Database, RecordStore] = {}
        self.records: dict[Database, Record | None] = {}
        self.replicas: dict[Database, int] = {}
        self.clashes: list[Clash] = []
        self.endpoints = Endpoints()
        self.archive = build_archive()
        self.owner: Object | None = None
        self.resource: Object | None = None
        now = datetime.datetime.now(datetime.timezone.utc)
        self.identity = identity(now)
        self.time = now.strftime("%Y-%m-%dT%H:%M:%SZ")
        name, namespace = wanted.name, wanted.namespace
        self.lease = RunLease(
            cluster, lease_name(name), namespace, labels(name), self.identity, take_over=wanted.break_lock
        )

    def present(self) -> None:
        self._check()
        try:
            if not self.check_mode and self._pending():
                self._take_lease()
            self._foundations(self.live)
            self._objects(self.live)
            self._rounds()
            self._settings()
            self._templates()
            self._finish()
        finally:
            if not self.check_mode:
                self.lease.release()

    def _check(self) -> None:
        """What is refused before anything is changed: by records, by volumes that would have to shrink or move, by neighbors."""
        live, wanted = self.live, self.wanted
        refuse_neighbors(live)
        self.stores = {d: RecordStore(self.cluster, wanted.record_skeleton(d), live.record(d)) for d in DATABASES}
        self.records = {d: self.stores[d].read() for d in DATABASES}
        self.replicas = {d: first_replicas(wanted, live, d, self.records[d]) for d in DATABASES}
        for d in DATABASES:
            refuse_by_record(run_of(wanted, d, self.identity, self.time), self.records[d])
            if not wanted.bootstrap and self.records[d] is None and not self.replicas[d]:
                raise Refused(f"{d} does not exist yet, and {PODS.bootstrap} Nothing was created.")
        refuse_fixed_size(self.cluster, claim_changes(wanted, live))
        self.clashes = find_clashes(self._manifests(self.replicas), live.index)
        if not wanted.force_conflicts:
            refuse_clashes(self.clashes)

    def _pending(self) -> bool:
        """Whether any object differs from what is declared."""
        if claim_changes(self.wanted, self.live):
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
        self.lease.take("bring the objects to the declared state")
        self.live = look(self.cluster, self.wanted.name, self.wanted.namespace)
        self._check()

    # --- objects ---------------------------------------------------------------------------------------------------------

    def _foundations(self, live: Live) -> None:
        """Namespace, kinds and the custom resource itself: everything else refers to them."""
        self._apply(self.wanted.foundations(live), live)
        self.resource = live.resource
        if self.wanted.declared:
            done = self._apply([self.wanted.resource()], live)[0]
            self.resource = live.resource if done.action == "unchanged" else done.after
        self.owner = self.resource if (self.resource or {}).get("metadata", {}).get("uid") else None

    def _apply(self, manifests: list[Object], live: Live) -> list[Done]:
        done = converge(
            self.cluster,
            manifests,
            live.index,
            check_mode=self.check_mode,
            force=self.wanted.force_conflicts,
        )
        self.done += done
        for one in done:
            if one.action != "unchanged" and not self.check_mode:
                live.forget(one.kind, one.name)
        return done

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

    def _objects(self, live: Live) -> None:
        self.done += [store.ensure(check_mode=self.check_mode) for store in self.stores.values()]
        manifests = keep_claims(self._manifests(self.replicas), live)
        grow_claims(self.cluster, self.wanted, live, check_mode=self.check_mode, note=self.done.append)
        repaired = repair(self.cluster, self.clashes, check_mode=self.check_mode)
        self.done += repaired
        live.index.update({key_of(one.after): one.after for one in repaired if one.after})
        if self.check_mode:  # a dry run would still see the ports that are in the way
            names = {one.name for one in repaired}
            manifests = [m for m in manifests if m["kind"] != "Service" or m["metadata"]["name"] not in names]
        done = self._apply([m for m in manifests if not is_config(m) and not is_later(m)], live)
        context = Context(
            self.cluster, self.wanted.namespace, self.wanted.name, self.lease, self.check_mode, self.wanted.wait
        )
        for d in DATABASES:
            self.databases[d] = DatabaseRollout(
                context,
                run_of(self.wanted, d, self.identity, self.time),
                self.stores[d],
                functools.partial(self._scale, d),
                self.replicas[d],
                election_timer=self.wanted.spec.database(d).election_timer,
                stateful_set=functools.partial(live.stateful_set, self.cluster, d),
                template_changed=self.check_mode and template_changes(done, f"{self.wanted.name}-{d}"),
            )

    def _scale(self, database: Database, count: int) -> None:
        self.replicas[database] = count
        kind, name = "StatefulSet", f"{self.wanted.name}-{database}"
        manifests = [
            m
            for m in keep_claims(self._manifests(self.replicas), self.live)
            if m["kind"] == kind and m["metadata"]["name"] == name
        ]
        self.live.forget(kind, name)
        fresh = self.live.stateful_set(self.cluster, database)
        index: dict[Key, Object] = {} if fresh is None else {key_of(fresh): fresh}
        self.done += converge(self.cluster, manifests, index, check_mode=False, force=self.wanted.force_conflicts)
        self.live.forget(kind, name)

    # --- databases -------------------------------------------------------------------------------------------------------

    def _rounds(self) -> None:
        """Both databases at the same time: neither waits for the other, and one of them at a time takes a member down."""
        with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
            if self.check_mode:
                running = [pool.submit(database.foresee) for database in self.databases.values()]
            else:
                running = [pool.submit(database.converge, self.deadline) for database in self.databases.values()]
            failures = [error for error in (one.exception() for one in running) if error is not None]
        for database in self.databases.values():
            self.steps += database.steps
            self.warnings += database.warnings
        raise_together(failures)

    def _settings(self) -> None:
        self.steps += converge_settings(
            self.cluster, self.wanted, self.databases, self.settings, self.deadline, check_mode=self.check_mode
        )

    def _templates(self) -> None:
        """When everything else is done: new claims get the declared size, too, and those that were made meanwhile have it."""
        for d, rollout in self.databases.items():
            size, name = self.wanted.spec.database(d).storage.size, rollout.set_name
            there = self.live.get("apps/v1", "StatefulSet", name)
            if there is None or not is_stale(there, size):
                continue
            if not self.check_mode and not rollout.is_whole:
                self.warnings.append(
                    f"StatefulSet {name} still makes claims of the old size: not all members take part. Run again."
                )
                continue
            self.steps.append(words_of_template(name, size))
            self.done.append(self._renew(d, there, self.steps[-1]))
        if self.steps and not self.check_mode:
            self.live.claims_again(self.cluster)
            grow_claims(self.cluster, self.wanted, self.live, check_mode=False, note=self.done.append)
        late = unbound_claims(self.wanted, self.live)
        if late:
            self.warnings.append(
                f"{', '.join(late)} has no volume yet, so it keeps its size for now. Run again when its pod runs."
            )

    def _renew(self, database: Database, there: Object, what: str) -> Done:
        name, namespace = there["metadata"]["name"], self.wanted.namespace
        if self.check_mode:
            return Done(
                "StatefulSet", name, namespace, "changed", there, foreseen(there, self._manifests(self.replicas))
            )
        self.lease.take(what)
        orphan(self.cluster, there)
        self.live.index.pop(key_of(there))
        self._scale(database, self.replicas[database])
        made = self.done.pop()
        self.live.stateful_set(self.cluster, database)
        return made._replace(action="changed", before=there)

    # --- the rest --------------------------------------------------------------------------------------------------------

    def _finish(self) -> None:
        wanted, live = self.wanted, self.live
        manifests = self._manifests(self.replicas)
        self._apply([m for m in manifests if is_later(m)], live)
        services = None if self._touched("Service") else [m for key, m in live.index.items() if key[1] == "Service"]
        place = Place(wanted.name, wanted.namespace, wanted.cluster_domain, wanted.spec)
        self.endpoints = find_endpoints(self.cluster, place, warn=self.warnings.append, services=services)
        config = next(m for m in manifests if is_config(m))
        config["data"].update(OvnNorth=self.endpoints.northbound, OvnSouth=self.endpoints.southbound)
        self._apply([config], live)
        unwanted = prune(self.cluster, manifests, live.index, check_mode=True)
        if unwanted and not self.check_mode:
            self.lease.take("remove what is not declared any more")
            unwanted = prune(self.cluster, manifests, live.index, check_mode=False)
        self.done += unwanted
        if self.check_mode:
            return
        self.warnings += [words for rollout in self.databases.values() if (words := rollout.absentees())]
        self.warnings += [gap for d in DATABASES if (gap := schema_gap(d, self.databases[d].schemas))]
        northd, observer = (self._deployment(name) for name in (northd_name(wanted.name), observer_name(wanted.name)))
        if wanted.wait:
            northd = await_workloads(self.cluster, wanted, northd, self.deadline, self.databases[DATABASES[0]].context.now)
            self.warnings += [words for words in [observer_trouble(self.cluster, wanted, observer)] if words]
        seen = Seen(self.databases, self.endpoints, northd, observer)
        self.resource = write_status(self.cluster, wanted, self.resource, seen, self.time)

    def _deployment(self, name: str) -> Object | None:
        """As it was last; None if it was changed, and nobody knows yet what became of it."""
        touched = any(d.kind == "Deployment" and d.name == name and d.action != "unchanged" for d in self.done)
        return None if touched else self.live.get("apps/v1", "Deployment", name)

    def _touched(self, kind: str) -> bool:
        return any(d.kind == kind and d.action != "unchanged" for d in self.done)

    @property
    def changed(self) -> bool:
        return bool(self.steps) or any(d.action != "unchanged" for d in self.done)
