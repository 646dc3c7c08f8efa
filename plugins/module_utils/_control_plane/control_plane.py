# SPDX-License-Identifier: GPL-3.0-or-later
"""A whole control plane in one Kubernetes cluster: objects, both databases, what lives inside them, northd, status; in the order that is safe."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import functools
import typing as t

from .._api.names import Object, database_name, labels, lease_name, northd_name, observer_name
from .._base.databases import DATABASES, Database
from .._base.deadline import Deadline
from .._base.errors import OvnError, Refused
from .._daemons.schema_update import schema_gap
from .._kubernetes.apply import ObjectChange, key_of, prune
from .._kubernetes.client import Cluster
from .._kubernetes.compare import is_applied
from .._kubernetes.lease import RunLease, check_lease, holder_identity
from .._kubernetes.timestamps import format_timestamp
from .._kubernetes.wait_tracker import Progress
from .checks import check_cluster
from .claim_templates import ClaimTemplates, refuse_bundles_without_authorities
from .database_rollout import DatabaseRollout, roll_out_databases
from .desired import DesiredCluster, check_unchanged, is_config, is_later, is_listeners, keep_claims, template_changes
from .endpoints import ControlPlaneAddress, Endpoints, find_endpoints
from .handover import SouthboundHandover
from .leader_proxy import await_leader_proxy
from .manifests import ClusterManifests
from .objects import ClusterObjects
from .observed_members import ObservedDatabase, RunContext
from .observed_state import ObservedCluster, read_state
from .ports import repair_ports
from .settings import converge_settings, relay_probe
from .status import StatusFacts, write_status
from .storage import grow_claims
from .witnesses import annotate_claims
from .workloads import await_workloads, observer_warning


class ControlPlane:
    """One run, in the order that is safe: it conducts what others decide and do. `resource` is the OVNCluster, with its status in the end."""

    def __init__(
        self, cluster: Cluster, desired: DesiredCluster, observed: ObservedCluster, *, check_mode: bool
    ) -> None:
        self.cluster, self.desired, self.check_mode = cluster, desired, check_mode
        self.progress = Progress()
        self.settings: dict[str, dict[str, t.Any]] = {"before": {}, "after": {}}
        self.databases: dict[Database, DatabaseRollout] = {}
        self.endpoints = Endpoints()
        self.resource: Object | None = None
        self.deadline = Deadline(desired.wait_timeout)
        now = datetime.datetime.now(datetime.timezone.utc)
        self.identity, self.time = holder_identity(now), format_timestamp(now)
        name, namespace = desired.name, desired.namespace
        self.lease = RunLease(
            cluster,
            lease_name(name),
            namespace,
            labels(name),
            self.identity,
            break_lock=desired.break_lock,
            patience=self.deadline
            if desired.lock_patience is None
            else Deadline(min(desired.lock_patience, desired.wait_timeout)),
        )
        self.context = RunContext(cluster, namespace, name, self.lease, check_mode, desired.wait)
        self._observed, self._manifests = observed, ClusterManifests(desired)

    @property
    def observed_databases(self) -> dict[Database, ObservedDatabase]:
        """Return the databases as this run has observed them last."""
        return {d: rollout.observed for d, rollout in self.databases.items()}

    def present(self) -> None:
        objects = self._check(self._observed)
        claims_before = self._observed.claim_uids
        try:
            if not self.check_mode and objects.has_differences():
                objects = self._acquire_lease(objects)
            objects.await_terminating_statefulsets()
            generation = self._apply_foundations(objects)
            self._apply_objects(objects)
            templates = ClaimTemplates(
                self.cluster, self.desired, objects, self.databases, self.lease, check_mode=self.check_mode
            )
            templates.recreate_pending_claims()
            roll_out_databases(
                self.databases,
                self.deadline,
                self.progress,
                server=str(self.cluster.server),
                check_mode=self.check_mode,
            )
            if self.check_mode:
                for database, rollout in self.databases.items():
                    objects.predict_scale(database, rollout.predicted_replicas)
            self.progress.steps += converge_settings(
                self.cluster, self.desired, self.databases, self.settings, self.deadline, check_mode=self.check_mode
            )
            self._set_relays(objects)
            templates.recreate_outdated_statefulsets()
            self._annotate_claims(objects, claims_before)
            self._publish(objects)
            if not self.check_mode:
                self._finish(objects, generation)
        finally:
            self.progress.warnings += self.lease.notes
            if not self.check_mode:
                self.lease.release()

    # --- objects ---------------------------------------------------------------------------------------------------------

    def _check(self, observed: ObservedCluster) -> ClusterObjects:
        """Refuse before anything is changed; return the objects to go on with."""
        refuse_bundles_without_authorities(self.cluster, self.desired, observed, check_mode=self.check_mode)
        checked = check_cluster(
            *(self.cluster, self.desired, observed, self._manifests),
            identity=self.identity,
            time=self.time,
            warn=self.progress.warn,
        )
        return ClusterObjects(
            self.cluster, self.desired, self._manifests, checked, self.progress, check_mode=self.check_mode
        )

    def _acquire_lease(self, objects: ClusterObjects) -> ClusterObjects:
        """Acquire it before the first change, then read the state again: another run may have ended a moment ago."""
        objects.apply_foundations()
        self.lease.acquire_or_renew("bring the objects to the declared state")
        observed = read_state(self.cluster, self.desired.name, self.desired.namespace)
        if not self.desired.declared:
            check_unchanged(self._observed.resource, observed.resource)
        return self._check(observed)

    def _apply_foundations(self, objects: ClusterObjects) -> int:
        """Apply what everything else refers to, and return the generation of the specification that this run rolls out."""
        objects.apply_foundations()
        objects.apply_resource()
        self.resource = objects.resource
        # Of the specification that `desired` is made of. Another client may write the next one meanwhile.
        known = objects.resource if self.desired.declared else self._observed.resource
        return int(((known or {}).get("metadata") or {}).get("generation", 0))

    def _apply_objects(self, objects: ClusterObjects) -> None:
        checked, observed, done = objects.checked, objects.observed, self.progress.done
        for d in DATABASES:
            done.append(checked.stores[d].ensure(check_mode=self.check_mode))
            done.append(checked.witness_stores[d].ensure(check_mode=self.check_mode))
        manifests = keep_claims(objects.manifests(), observed)
        grow_claims(self.cluster, self.desired, observed, check_mode=self.check_mode, on_change=done.append)
        repaired_ports = repair_ports(
            self.cluster, checked.port_clashes, check_mode=self.check_mode, on_change=done.append
        )
        observed.index.update({key_of(one.after): one.after for one in repaired_ports if one.after})
        if self.check_mode:  # a dry run would still see the ports that are in the way
            names = {one.name for one in repaired_ports}
            manifests = [m for m in manifests if m["kind"] != "Service" or m["metadata"]["name"] not in names]
        check_lease(self.lease)
        # Pods that end by themselves come back by the template, so it is applied when all is ready for it: policies and Services, the port, northd.
        southbound = database_name(self.desired.name, "southbound")
        last = [m for m in manifests if m["kind"] == "StatefulSet" and m["metadata"]["name"] == southbound]
        applied = objects.apply([m for m in manifests if objects.is_due(m) and not is_later(m) and m not in last])
        handover = SouthboundHandover(self.context, objects)
        if not self.check_mode:
            handover.prepare(last[0], self.deadline)
            check_lease(self.lease)
        applied += objects.apply(last)
        is_ours = functools.partial(is_listeners, name=self.desired.name)
        observed.index.update({key_of(one.after): one.after for one in applied if one.after and is_ours(one.after)})
        for d in DATABASES:
            changes = self.check_mode and template_changes(applied, f"{self.desired.name}-{d}")
            self.databases[d] = DatabaseRollout(
                self._observed_database(objects, d, template_changed=changes),
                functools.partial(objects.scale, d),
                election_timer=self.desired.spec.database(d).election_timer,
                witness=checked.witness_stores[d],
                handover=handover if d == "southbound" else None,
            )

    def _observed_database(
        self, objects: ClusterObjects, database: Database, *, template_changed: bool
    ) -> ObservedDatabase:
        checked = objects.checked
        return ObservedDatabase(
            self.context,
            checked.runs[database],
            checked.stores[database],
            objects.replicas[database],
            functools.partial(objects.observed.stateful_set, self.cluster, database),
            template_changed=template_changed,
        )

    def _set_relays(self, objects: ClusterObjects) -> None:
        """Write how relays listen: as declared, with longer probes for a large database. Their launchers follow, so no pod is restarted."""
        southbound = self.databases["southbound"].observed
        objects.relay_probe = relay_probe(self.desired, southbound.observations.values())
        manifests = [m for m in objects.manifests() if is_listeners(m, self.desired.name)]
        if all(is_applied(m, objects.observed.index.get(key_of(m), {})) for m in manifests):
            return
        if not self.check_mode:
            self.lease.acquire_or_renew("set how relays listen")
            check_lease(self.lease)
        objects.apply(manifests)
        for member in southbound.pods if not self.check_mode else ():  # else a kubelet takes up to a minute
            southbound.members.annotate_to_resync_one(member, f"relay.{self.time}")

    def _annotate_claims(self, objects: ClusterObjects, claims_before: t.Collection[str | None]) -> None:
        """Write the cluster id on each claim: a claim outlives its record, for example when a namespace is restored in part."""

        def on_change(one: ObjectChange) -> None:
            # Check mode cannot predict the claims that are created by this run, so they are not reported.
            if one.before is not None and one.before["metadata"].get("uid") in claims_before:
                self.progress.done.append(one)

        for d, store in objects.checked.stores.items():
            record = store.read()
            if record is not None and record.cid:
                annotate_claims(
                    *(self.cluster, self.desired, objects.observed, d, record.cid),
                    check_mode=self.check_mode,
                    on_change=on_change,
                )

    # --- the rest --------------------------------------------------------------------------------------------------------

    def _publish(self, objects: ClusterObjects) -> None:
        """Publish the endpoints, update northd and the observer, and delete what is not declared any more."""
        desired, observed, progress = self.desired, objects.observed, self.progress
        manifests = objects.manifests()
        services = (
            None if progress.has_changed("Service") else [m for key, m in observed.index.items() if key[1] == "Service"]
        )
        place = ControlPlaneAddress(desired.name, desired.namespace, desired.cluster_domain, desired.spec)
        self.endpoints = find_endpoints(
            self.cluster,
            place,
            warn=progress.warnings.append,
            before=self._endpoints_before,
            services=services,
            pods={name: pod for one in self.observed_databases.values() for name, pod in one.pods.items()},
            publish=True,
        )
        config = next(m for m in manifests if is_config(m))
        config["data"].update(OvnNorth=self.endpoints.northbound, OvnSouth=self.endpoints.southbound)
        # Before northd, whose pods have it in their environment.
        objects.apply([config, *(m for m in manifests if is_later(m))])
        unwanted = prune(self.cluster, manifests, observed.index, check_mode=True)
        if self.check_mode:
            progress.done += unwanted
        elif unwanted:
            self.lease.acquire_or_renew("delete what is not declared any more")
            check_lease(self.lease)
            prune(self.cluster, manifests, observed.index, check_mode=False, on_change=progress.done.append)

    def _finish(self, objects: ClusterObjects, generation: int) -> None:
        """Wait for northd and write the status; `Refused` if a member does not take part."""
        desired, warnings = self.desired, self.progress.warnings
        absent = [message for one in self.observed_databases.values() if (message := one.describe_missing_members())]
        if not desired.wait:
            warnings += absent
        warnings += [gap for d in DATABASES if (gap := schema_gap(d, self.observed_databases[d].schemas))]
        northd, observer = (
            objects.deployment(name) for name in (northd_name(desired.name), observer_name(desired.name))
        )
        if desired.wait:
            try:
                northd = await_workloads(self.cluster, desired, northd, self.deadline, self.context.now)
            except OvnError:
                with contextlib.suppress(OvnError):  # what stopped the run is more important
                    northd = self.cluster.get("apps/v1", "Deployment", northd_name(desired.name), desired.namespace)
                    self._write_status(northd, observer, generation)
                raise
            warnings += [message for message in [observer_warning(self.cluster, desired, observer)] if message]
            proxy, messages = await_leader_proxy(self.cluster, desired.spec, self._endpoints_before, self.deadline)
            self.endpoints = dataclasses.replace(self.endpoints, **proxy)
            warnings += messages
        self._write_status(northd, observer, generation)
        if desired.wait and absent:
            raise Refused(f"Not every member takes part. {' '.join(absent)} Everything else is as declared.")

    @property
    def _endpoints_before(self) -> dict[str, str]:
        return ((self.resource or {}).get("status") or {}).get("endpoints") or {}

    def _write_status(self, northd: Object | None, observer: Object | None, generation: int) -> None:
        self.resource = write_status(
            self.cluster,
            self.desired,
            self.resource,
            StatusFacts(self.observed_databases, self.endpoints, northd, observer),
            self.time,
            generation=generation,
            warn=self.progress.warnings.append,
        )
