# SPDX-License-Identifier: GPL-3.0-or-later
"""Claims and claim templates of the declared size and storage class: when a StatefulSet is recreated for them, and when pending claims are."""

from __future__ import annotations

import base64
import functools
import typing as t

from .._api.names import CLIENT_CA_KEY, MANAGER, Object
from .._base.databases import DATABASES, Database
from .._base.errors import Refused
from .._base.tls_options import certificates_of
from .._kubernetes.apply import ObjectChange, key_of
from .._kubernetes.client import Cluster
from .._kubernetes.lease import RunLease, check_lease
from .._kubernetes.rollout_progress import is_terminating
from .._kubernetes.secret_files import read_config_map, read_secret
from .._kubernetes.wait_tracker import Progress
from .._manifests.ca_bundle import Bundle, bundle_in_use, declared_bundle, pod_of
from .database_rollout import DatabaseRollout
from .desired import DesiredCluster
from .objects import ClusterObjects
from .observed_state import ObservedCluster
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

# The CAs of whom the members of the Northbound let in, and the relays of the Southbound: a bundle without them would be noticed after a restart alone.

# The data of a Secret or ConfigMap in base64, None if it is not there or may not be read
_Reader = t.Callable[[str, str], t.Optional[t.Mapping[str, str]]]


def _authorities(data: t.Mapping[str, str], key: str) -> set[str]:
    """Return the certificates of a bundle; none if it is not readable, which is for others to find."""
    try:
        return certificates_of(base64.b64decode(data.get(key) or "").decode())
    except ValueError:
        return set()


def refuse_bundles_without_authorities(
    cluster: Cluster, desired: DesiredCluster, observed: ObservedCluster, *, check_mode: bool
) -> None:
    """Raise `Refused` if members or relays would find no CAs in the file that they are to use, or refuse somebody whom they let in now.

    A Secret or ConfigMap that is not there yet, or may not be read, is no reason: pods wait for it. CAs that leave a file which stays in use are its owner's
    business.
    """
    if not desired.spec.tls.enabled:
        return

    @functools.cache
    def read(kind: str, name: str) -> t.Mapping[str, str] | None:
        return (read_secret if kind == "Secret" else read_config_map)(cluster, name, desired.namespace)[0]

    for database in DATABASES:
        bundle, field = declared_bundle(desired.spec, database)
        there = observed.known_stateful_set(database)
        former = bundle_in_use(pod_of(there)) if there else None
        if not field and former in (None, bundle):
            continue
        # In check mode the role ovn_pki has only predicted what it writes.
        if check_mode and bundle[::2] == ("Secret", CLIENT_CA_KEY) and _is_of_ovn_pki(cluster, bundle, desired):
            continue
        _compare(read, desired, database, bundle, field, former)


def _is_of_ovn_pki(cluster: Cluster, bundle: Bundle, desired: DesiredCluster) -> bool:
    """Return whether the role ovn_pki makes this Secret, as far as can be known: it labels its own."""
    try:
        found = cluster.get("v1", "Secret", bundle.name, desired.namespace)
    except Refused:
        return True
    return found is None or (found["metadata"].get("labels") or {}).get("app.kubernetes.io/managed-by") == MANAGER


def _compare(
    read: _Reader, desired: DesiredCluster, database: Database, bundle: Bundle, field: str, former: Bundle | None
) -> None:
    data = read(bundle.kind, bundle.name)
    if data is None:
        return
    if field and not data.get(bundle.key):
        raise Refused(_missing_key(bundle, field, desired, database))
    if former is None or former == bundle:
        return
    lost = _authorities(read(former.kind, former.name) or {}, former.key) - _authorities(data, bundle.key)
    if lost:
        raise Refused(_lost_authorities(len(lost), former, bundle, desired, database))


_WHO: dict[Database, str] = {
    "northbound": "members of the Northbound",
    "southbound": "relays of the Southbound",
}


def _missing_key(bundle: Bundle, field: str, desired: DesiredCluster, database: Database) -> str:
    outcome, remedy = (
        (
            f"the {_WHO[database]} would let in nobody",
            "Run the role ovn_pki first (c5c3.ovn.central does), or let the owner of the Secret write it",
        )
        if bundle.kind == "Secret"
        else (
            f"the pods of the {database.title()} would not start",
            "Correct the key, or let the owner of the ConfigMap write it",
        )
    )
    authorities = "of the control plane and of the chassis" if database == "southbound" else "of the control plane"
    return (
        f"{bundle.kind} {desired.namespace}/{bundle.name} has no {bundle.key}, which tls.{field} of OVNCluster {desired.name} names: {outcome}. "
        f"{remedy}, with the CAs {authorities}. Nothing was changed."
    )


def _lost_authorities(lost: int, former: Bundle, bundle: Bundle, desired: DesiredCluster, database: Database) -> str:
    namespace = desired.namespace
    whom = "chassis for example" if database == "southbound" else "other members for example"
    return (
        f"The {_WHO[database]} let in {lost} CA{'s' if lost > 1 else ''} of {former.key} in {former.kind} {namespace}/{former.name}, which "
        f"{bundle.key} of {bundle.kind} {namespace}/{bundle.name} does not have. They would refuse everybody with a certificate of such a CA, {whom}. Add it "
        f"there until nobody has one, or let tls of OVNCluster {desired.name} name the bundle that has it. Nothing was changed."
    )


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
