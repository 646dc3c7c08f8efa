# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

A whole control plane in one Kubernetes cluster: objects, both databases, what lives inside them, northd, status; in the order that is safe.
"""

from __future__ import annotations

import contextlib
import functools
import typing as t

from .._api.names import Object, northd_name, observer_name
from .._database.schema_update import schema_gap
from .._databases import DATABASES, Database
from .._errors import OvnError, Refused, TimedOut, Unreachable
from .._kubernetes.apply import ObjectChange, key_of, prune
from .._kubernetes.lease import check_lease
from .._kubernetes.rollout_progress import is_terminating
from .._raft_pods.backend import DatabaseRollout, raise_combined
from .desired import is_config, is_later, keep_claims, template_changes
from .endpoints import ControlPlaneAddress, find_endpoints
from .objects import ClusterObjects
from .observed_state import ObservedCluster
from .ports import repair_ports
from .recreate_claims import claims_message, delete_pending_claims, find_claims_to_recreate, member_of
from .recreate_statefulset import (
    delete_statefulset_orphan,
    dry_run_create,
    kept_message,
    outdated_claim_template,
    predict_statefulset,
    recreation_message,
)
from .settings import converge_settings
from .status import StatusFacts, write_status
from .storage import claim_changes, grow_claims, unbound_claims
from .witnesses import annotate_claims
from .workloads import await_workloads, observer_warning

# What the first database leaves of the time to the second one.
_RESERVED, _RESERVED_SECONDS = 0.3, 30.0


class ControlPlane(ClusterObjects):
    """One run, in the order that is safe."""

    def present(self) -> None:
        self._check()
        self.claims_before = {
            item["metadata"].get("uid")
            for key, item in self.observed.index.items()
            if key[1] == "PersistentVolumeClaim"
        }
        try:
            if not self.check_mode and self._has_differences():
                self._acquire_lease()
            self._await_terminating_statefulsets()
            self._apply_foundations(self.observed)
            self._apply_objects(self.observed)
            self._recreate_empty_claims()
            self._roll_out_databases()
            self._converge_settings()
            self._recreate_outdated_statefulsets()
            self._annotate_claims()
            self._finish()
        finally:
            self.warnings += self.lease.notes
            if not self.check_mode:
                self.lease.release()

    # --- objects ---------------------------------------------------------------------------------------------------------

    def _apply_objects(self, observed: ObservedCluster) -> None:
        for d in DATABASES:
            self.done.append(self.stores[d].ensure(check_mode=self.check_mode))
            self.done.append(self.witness_stores[d].ensure(check_mode=self.check_mode))
        manifests = keep_claims(self._manifests(self.replicas), observed)
        grow_claims(self.cluster, self.desired, observed, check_mode=self.check_mode, on_change=self.done.append)
        repaired_ports = repair_ports(
            self.cluster, self.port_clashes, check_mode=self.check_mode, on_change=self.done.append
        )
        observed.index.update({key_of(one.after): one.after for one in repaired_ports if one.after})
        if self.check_mode:  # a dry run would still see the ports that are in the way
            names = {one.name for one in repaired_ports}
            manifests = [m for m in manifests if m["kind"] != "Service" or m["metadata"]["name"] not in names]
        check_lease(self.lease)
        done = self._apply([m for m in manifests if not is_config(m) and not is_later(m)], observed)
        for d in DATABASES:
            self.databases[d] = DatabaseRollout(
                self.context,
                self._run(d),
                self.stores[d],
                functools.partial(self._scale, d),
                self.replicas[d],
                election_timer=self.desired.spec.database(d).election_timer,
                stateful_set=functools.partial(observed.stateful_set, self.cluster, d),
                template_changed=self.check_mode and template_changes(done, f"{self.desired.name}-{d}"),
                witness=self.witness_stores[d],
            )

    def _recreate_empty_claims(self) -> None:
        """Recreate pending claims that ask for another storage class than the declared one: they may wait forever. Running pods are not touched."""
        for d, rollout in self.databases.items():
            claims, name, there = self.claims_to_recreate.get(d, []), rollout.set_name, self._stateful_set(d)
            differs = outdated_claim_template(there, self.desired.spec.database(d).storage)
            # Claims grow later, but they never change their class: members to come have to get the declared one.
            more = "storage class" in differs and self.replicas[d] < len(rollout.run.declared)
            if there is None or not differs:
                self._delete_pending_claims(d, claims)
            elif (claims or more) and (
                why := self._recreate_statefulset(d, there, recreation_message(name, differs), claims)
            ):
                self._keep_statefulset(d, kept_message(name, differs, why), more=more)
        if any(self.claims_to_recreate.values()) and not self.check_mode:
            self.observed.reread_claims(self.cluster)
            claim_changes(self.desired, self.observed)  # refuses one that got its volume at the last moment
            left = [
                c
                for claims in find_claims_to_recreate(self.cluster, self.desired, self.observed).values()
                for c in claims
            ]
            if names := ", ".join(c["metadata"]["name"] for c in left if not is_terminating(c)):
                self.warnings.append(f"{names} could not be recreated with the declared storage class. Run again.")

    def _keep_statefulset(self, database: Database, message: str, *, more: bool) -> None:
        if more:
            raise Refused(f"{message} No member was added, because its claim would be one of them.")
        self.kept_statefulsets.add(database)
        self.warnings.append(message)

    def _delete_pending_claims(self, database: Database, claims: t.Sequence[Object]) -> None:
        if not claims:
            return
        if not self.check_mode:
            self.lease.acquire_or_renew(claims_message(claims))
        gone = delete_pending_claims(
            self.cluster, self.desired, database, claims, check_mode=self.check_mode, on_change=self.done.append
        )
        if fresh := [claim for claim in gone if not is_terminating(claim)]:
            self.steps.append(claims_message(fresh))
        for claim in gone:
            self.observed.index.pop(key_of({"apiVersion": "v1", "kind": "PersistentVolumeClaim", **claim}), None)
        if self.check_mode:
            self.databases[database].deleted |= {member_of(claim) for claim in gone}

    # --- databases -------------------------------------------------------------------------------------------------------

    def _roll_out_databases(self) -> None:
        """Roll out one database after the other. A failure of the first does not keep the second from its rounds."""
        failures: list[BaseException] = []
        for left, database in zip(reversed(range(len(self.databases))), self.databases.values()):
            try:
                if self.check_mode:
                    database.simulate()
                else:
                    rest = self.deadline.left()
                    share = self.deadline.within(rest - left * min(_RESERVED_SECONDS, rest * _RESERVED))
                    database.roll_out(share, self.desired.wait_timeout)
            except (Unreachable, TimedOut) as e:
                failures.append(e)
                if str(self.cluster.server) in str(e):
                    break  # without the API server the second one cannot be observed either
            except OvnError as e:
                failures.append(e)
        for database in self.databases.values():
            self.steps += database.steps
            self.warnings += database.warnings
        raise_combined(failures)

    def _converge_settings(self) -> None:
        self.steps += converge_settings(
            self.cluster, self.desired, self.databases, self.settings, self.deadline, check_mode=self.check_mode
        )

    def _recreate_outdated_statefulsets(self) -> None:
        """Recreate StatefulSets so that new claims get the declared size. Last, so that claims which were created meanwhile are grown as well."""
        for d, rollout in self.databases.items():
            name, there = rollout.set_name, self._stateful_set(d)
            differs = outdated_claim_template(there, self.desired.spec.database(d).storage)
            if there is None or not differs or d in self.kept_statefulsets:
                continue
            whole = rollout.is_predicted_complete if self.check_mode else rollout.is_complete
            what = f"{recreation_message(name, differs)}: pods and claims stay"
            if why := self._recreate_statefulset(d, there, what) if whole else "not all members take part":
                self.warnings.append(kept_message(name, differs, why))
        if self.steps and not self.check_mode:
            self.observed.reread_claims(self.cluster)
            grow_claims(self.cluster, self.desired, self.observed, check_mode=False, on_change=self.done.append)
        late = unbound_claims(self.desired, self.observed)
        if late:
            self.warnings.append(
                f"{', '.join(late)} has no volume yet, so it keeps its size for now. Run again when its pod runs."
            )

    def _annotate_claims(self) -> None:
        """Write the cluster id on each claim: a claim outlives its record, for example when a namespace is restored in part."""
        for d, store in self.stores.items():
            record = store.read()
            if record is not None and record.cid:
                annotate_claims(
                    *(self.cluster, self.desired, self.observed, d, record.cid),
                    check_mode=self.check_mode,
                    on_change=self._add_claim_change,
                )

    def _add_claim_change(self, one: ObjectChange) -> None:
        """Report the annotation of a claim only if the claim is older than this run: check mode cannot predict the others."""
        if one.before is not None and one.before["metadata"].get("uid") in self.claims_before:
            self.done.append(one)

    def _recreate_statefulset(
        self, database: Database, there: Object, what: str, claims: t.Sequence[Object] = ()
    ) -> str:
        """Recreate it and return an empty text, or return why not. `claims` are deleted in between, when no controller recreates them as they were."""
        name, namespace = there["metadata"]["name"], self.desired.namespace
        manifests = self._manifests(self.replicas)
        manifest = next(m for m in manifests if m["kind"] == "StatefulSet" and m["metadata"]["name"] == name)
        if why := dry_run_create(self.cluster, manifest):
            return why
        if self.check_mode:
            last = next((d.after for d in reversed(self.done) if (d.kind, d.name) == ("StatefulSet", name)), None)
            after = predict_statefulset(last or there, manifest)
            self.steps.append(what)
            self.done.append(ObjectChange("StatefulSet", name, namespace, "changed", there, after))
            self.observed.index[key_of(there)] = after
            self._delete_pending_claims(database, claims)
            return ""
        if self.lease.acquire_or_renew(what):  # it was not held while the objects were read
            return "another run may have acted meanwhile"
        check_lease(self.lease)
        self.steps.append(what)
        if why := delete_statefulset_orphan(self.cluster, there, self.replicas[database]):
            self.steps.remove(what)
            return why
        self.observed.index.pop(key_of(there))
        try:
            self._delete_pending_claims(database, claims)
        finally:
            self._scale(database, self.replicas[database], None)
            made = self.done.pop()
            self.done.append(made._replace(action="changed", before=there))
        self.observed.stateful_set(self.cluster, database)
        return ""

    # --- the rest --------------------------------------------------------------------------------------------------------

    def _finish(self) -> None:
        desired, observed = self.desired, self.observed
        manifests = self._manifests(self.replicas)
        self._apply([m for m in manifests if is_later(m)], observed)
        services = (
            None if self._has_changed("Service") else [m for key, m in observed.index.items() if key[1] == "Service"]
        )
        place = ControlPlaneAddress(desired.name, desired.namespace, desired.cluster_domain, desired.spec)
        self.endpoints = find_endpoints(
            self.cluster,
            place,
            warn=self.warnings.append,
            before=((self.resource or {}).get("status") or {}).get("endpoints") or {},
            services=services,
            pods={name: pod for rollout in self.databases.values() for name, pod in rollout.pods.items()},
        )
        config = next(m for m in manifests if is_config(m))
        config["data"].update(OvnNorth=self.endpoints.northbound, OvnSouth=self.endpoints.southbound)
        self._apply([config], observed)
        unwanted = prune(self.cluster, manifests, observed.index, check_mode=True)
        if self.check_mode:
            self.done += unwanted
            return
        if unwanted:
            self.lease.acquire_or_renew("delete what is not declared any more")
            check_lease(self.lease)
            prune(self.cluster, manifests, observed.index, check_mode=False, on_change=self.done.append)
        absent = [message for rollout in self.databases.values() if (message := rollout.describe_missing_members())]
        if not desired.wait:
            self.warnings += absent
        self.warnings += [gap for d in DATABASES if (gap := schema_gap(d, self.databases[d].schemas))]
        northd, observer = (self._deployment(name) for name in (northd_name(desired.name), observer_name(desired.name)))
        if desired.wait:
            try:
                northd = await_workloads(self.cluster, desired, northd, self.deadline, self.context.now)
            except OvnError:
                with contextlib.suppress(OvnError):  # what stopped the run is more important
                    northd = self.cluster.get("apps/v1", "Deployment", northd_name(desired.name), desired.namespace)
                    self._write_status(northd, observer)
                raise
            self.warnings += [message for message in [observer_warning(self.cluster, desired, observer)] if message]
        self._write_status(northd, observer)
        if desired.wait and absent:
            raise Refused(f"Not every member takes part. {' '.join(absent)} Everything else is as declared.")

    def _write_status(self, northd: Object | None, observer: Object | None) -> None:
        self.resource = write_status(
            self.cluster,
            self.desired,
            self.resource,
            StatusFacts(self.databases, self.endpoints, northd, observer),
            self.time,
            generation=self.generation,
            warn=self.warnings.append,
        )
