# SPDX-License-Identifier: GPL-3.0-or-later
"""Claims and claim templates of the declared size and storage class: when a StatefulSet is recreated for them, and when pending claims are."""

from __future__ import annotations

import typing as t

from .._api.names import Object
from .._base.databases import Database
from .._base.errors import Refused
from .._kubernetes.apply import ObjectChange, key_of
from .._kubernetes.client import Cluster
from .._kubernetes.lease import RunLease, check_lease
from .._kubernetes.progress import Progress
from .._kubernetes.rollout_progress import is_terminating
from .database_rollout import DatabaseRollout
from .desired import DesiredCluster
from .objects import ClusterObjects
from .recreate_claims import claims_message, delete_pending_claims, find_claims_to_recreate, member_of
from .recreate_statefulset import (
    delete_statefulset_orphan,
    dry_run_create,
    kept_message,
    outdated_claim_template,
    predict_statefulset,
    recreation_message,
)
from .storage import claim_changes, grow_claims, unbound_claims


class ClaimTemplates:
    """What new claims are created from cannot be changed in a StatefulSet, so it is recreated; running pods are not touched."""

    def __init__(
        self,
        cluster: Cluster,
        desired: DesiredCluster,
        objects: ClusterObjects,
        databases: t.Mapping[Database, DatabaseRollout],
        lease: RunLease,
        *,
        check_mode: bool,
    ) -> None:
        self.cluster, self.desired, self.objects, self.databases = cluster, desired, objects, databases
        self.lease, self.check_mode = lease, check_mode
        self._kept: set[Database] = set()  # whose StatefulSet is not recreated; a warning says why

    @property
    def _progress(self) -> Progress:
        return self.objects.progress

    def recreate_pending_claims(self) -> None:
        """Recreate pending claims that ask for another storage class than the declared one: they may wait forever. Running pods are not touched."""
        pending, observed = self.objects.checked.claims_to_recreate, self.objects.observed
        for d, rollout in self.databases.items():
            claims, name, there = pending.get(d, []), rollout.observed.set_name, observed.known_stateful_set(d)
            differs = outdated_claim_template(there, self.desired.spec.database(d).storage)
            # Claims grow later, but they never change their class: members to come have to get the declared one.
            more = "storage class" in differs and self.objects.replicas[d] < len(rollout.run.declared)
            if there is None or not differs:
                self._delete_pending_claims(d, claims)
            elif (claims or more) and (
                why := self._recreate_statefulset(d, there, recreation_message(name, differs), claims)
            ):
                self._keep_statefulset(d, kept_message(name, differs, why), more=more)
        if any(pending.values()) and not self.check_mode:
            observed.reread_claims(self.cluster)
            claim_changes(self.desired, observed)  # refuses one that got its volume at the last moment
            left = find_claims_to_recreate(self.cluster, self.desired, observed).values()
            names = [c["metadata"]["name"] for claims in left for c in claims if not is_terminating(c)]
            if names:
                self._progress.warnings.append(
                    f"{', '.join(names)} could not be recreated with the declared storage class. Run again."
                )

    def recreate_outdated_statefulsets(self) -> None:
        """Recreate StatefulSets so that new claims get the declared size. Last, so that claims which were created meanwhile are grown as well."""
        observed, warnings = self.objects.observed, self._progress.warnings
        for d, rollout in self.databases.items():
            name, there = rollout.observed.set_name, observed.known_stateful_set(d)
            differs = outdated_claim_template(there, self.desired.spec.database(d).storage)
            if there is None or not differs or d in self._kept:
                continue
            whole = rollout.is_predicted_complete if self.check_mode else rollout.observed.is_complete
            what = f"{recreation_message(name, differs)}: pods and claims stay"
            if why := self._recreate_statefulset(d, there, what) if whole else "not all members take part":
                warnings.append(kept_message(name, differs, why))
        if self._progress.steps and not self.check_mode:
            observed.reread_claims(self.cluster)
            grow_claims(self.cluster, self.desired, observed, check_mode=False, on_change=self._progress.done.append)
        late = unbound_claims(self.desired, observed)
        if late:
            warnings.append(
                f"{', '.join(late)} has no volume yet, so it keeps its size for now. Run again when its pod runs."
            )

    def _keep_statefulset(self, database: Database, message: str, *, more: bool) -> None:
        if more:
            raise Refused(f"{message} No member was added, because its claim would be one of them.")
        self._kept.add(database)
        self._progress.warnings.append(message)

    def _delete_pending_claims(self, database: Database, claims: t.Sequence[Object]) -> None:
        if not claims:
            return
        if not self.check_mode:
            self.lease.acquire_or_renew(claims_message(claims))
        gone = delete_pending_claims(
            self.cluster,
            self.desired,
            database,
            claims,
            check_mode=self.check_mode,
            on_change=self._progress.done.append,
        )
        if fresh := [claim for claim in gone if not is_terminating(claim)]:
            self._progress.steps.append(claims_message(fresh))
        for claim in gone:
            key = key_of({"apiVersion": "v1", "kind": "PersistentVolumeClaim", **claim})
            self.objects.observed.index.pop(key, None)
        if self.check_mode:
            self.databases[database].deleted |= {member_of(claim) for claim in gone}

    def _recreate_statefulset(
        self, database: Database, there: Object, what: str, claims: t.Sequence[Object] = ()
    ) -> str:
        """Recreate it and return an empty text, or return why not. `claims` are deleted in between, when no controller recreates them as they were."""
        objects, progress, name = self.objects, self._progress, there["metadata"]["name"]
        manifest = next(m for m in objects.manifests() if m["kind"] == "StatefulSet" and m["metadata"]["name"] == name)
        if why := dry_run_create(self.cluster, manifest):
            return why
        if self.check_mode:
            last = progress.last("StatefulSet", name)
            after = predict_statefulset((last and last.after) or there, manifest)
            progress.steps.append(what)
            progress.done.append(ObjectChange("StatefulSet", name, self.desired.namespace, "changed", there, after))
            objects.observed.index[key_of(there)] = after
            self._delete_pending_claims(database, claims)
            return ""
        if self.lease.acquire_or_renew(what):  # it was not held while the objects were read
            return "another run may have acted meanwhile"
        check_lease(self.lease)
        progress.steps.append(what)
        if why := delete_statefulset_orphan(self.cluster, there, objects.replicas[database]):
            progress.steps.remove(what)
            return why
        objects.observed.index.pop(key_of(there))
        try:
            self._delete_pending_claims(database, claims)
        finally:
            objects.scale(database, objects.replicas[database], None)
            made = progress.done.pop()
            progress.done.append(made._replace(action="changed", before=there))
        objects.observed.stateful_set(self.cluster, database)
        return ""
