# SPDX-License-Identifier: GPL-3.0-or-later
"""The objects of a control plane as a run applies them: which of them differ, and how many pods each StatefulSet may have."""

from __future__ import annotations

import typing as t

from .._api.names import Object
from .._base.databases import DATABASES, Database
from .._base.errors import Changed, Conflict, Refused
from .._kubernetes.apply import Key, ObjectChange, converge, key_of
from .._kubernetes.client import Cluster
from .._kubernetes.compare import is_applied
from .._kubernetes.rollout_progress import is_terminating
from .._kubernetes.wait_tracker import Progress
from .checks import CheckedCluster
from .desired import DesiredCluster, is_config, is_listeners, keep_claims
from .manifests import ClusterManifests
from .recreate_statefulset import await_gone, outdated_claim_template
from .storage import claim_changes


class ClusterObjects:
    """`replicas` is how many pods each StatefulSet has to have by now; `resource` is the OVNCluster as it was read or applied last.

    `observed` is what was read, until this run has changed it.
    """

    def __init__(
        self,
        cluster: Cluster,
        desired: DesiredCluster,
        manifests: ClusterManifests,
        checked: CheckedCluster,
        progress: Progress,
        *,
        check_mode: bool,
    ) -> None:
        self.cluster, self.desired, self.progress, self.check_mode = cluster, desired, progress, check_mode
        self._manifests, self.checked = manifests, checked
        self.observed, self.replicas = checked.observed, dict(checked.replicas)
        self.resource = checked.observed.resource
        self.relay_probe: int | None = None  # of relays, milliseconds, if it is not the declared one

    def manifests(self) -> list[Object]:
        """Return the desired objects with as many pods as there may be by now. In check mode a new OVNCluster has no uid, and owns nothing."""
        owner = self.resource if (self.resource or {}).get("metadata", {}).get("uid") else None
        return self._manifests.build(self.replicas, owner, self.relay_probe)

    def is_due(self, manifest: Object) -> bool:
        """Return whether it is applied before the databases are rolled out, and is not one of those that a run changes by what it finds."""
        if is_listeners(manifest, self.desired.name):
            return key_of(manifest) not in self.observed.index
        return not is_config(manifest)

    def has_differences(self) -> bool:
        """Return whether any object differs from the desired one."""
        if claim_changes(self.desired, self.observed) or any(self.checked.claims_to_recreate.values()):
            return True
        for d in DATABASES:
            there = self.observed.known_stateful_set(d)
            if is_terminating(there) or outdated_claim_template(there, self.desired.spec.database(d).storage):
                return True
        manifests = [*self.desired.foundations(self.observed), *self.manifests()]
        manifests += [self.desired.resource()] if self.desired.declared else []
        return any(
            (there := self.observed.index.get(key_of(m))) is None or not is_applied(m, there)
            for m in keep_claims([m for m in manifests if self.is_due(m)], self.observed)
        )

    def await_terminating_statefulsets(self) -> None:
        """Wait for StatefulSets that a killed run has deleted. They are created again with as many replicas as they had."""
        for there in (one for d in DATABASES if (one := self.observed.known_stateful_set(d)) and is_terminating(one)):
            if not self.check_mode:
                await_gone(self.cluster, there)
            self.observed.index.pop(key_of(there))

    def apply_foundations(self) -> None:
        """Apply the namespace and the custom resource definitions: everything else refers to them."""
        self.apply(self.desired.foundations(self.observed))

    def apply_resource(self) -> None:
        """Apply the OVNCluster, unless another client keeps it."""
        if self.desired.declared:
            done = self.apply([self.desired.resource()])[0]
            self.resource = self.observed.resource if done.action == "unchanged" else done.after

    def apply(self, manifests: list[Object]) -> list[ObjectChange]:
        def on_change(one: ObjectChange) -> None:
            self.progress.done.append(one)
            if one.action != "unchanged" and not self.check_mode:
                self.observed.invalidate(one.kind, one.name)

        return converge(
            self.cluster,
            manifests,
            self.observed.index,
            check_mode=self.check_mode,
            force=self.desired.force_conflicts,
            on_change=on_change,
        )

    def scale(self, database: Database, count: int, known: t.Mapping[str, t.Any] | None) -> None:
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
        before = self.replicas[database]
        index: dict[Key, Object] = {} if fresh is None else {key_of(fresh): fresh}
        manifests = self._scaled(database, count)
        force, on_change = self.desired.force_conflicts, self.progress.done.append
        try:
            converge(self.cluster, manifests, index, check_mode=False, force=force, on_change=on_change)
        except Conflict as e:
            self.replicas[database] = before
            if e.details.get("managers"):
                raise
            raise Changed(f"StatefulSet {name} was changed by another client at this moment.") from e
        finally:
            self.observed.invalidate(kind, name)

    def predict_scale(self, database: Database, count: int) -> None:
        """Check mode: what `scale` would change of a StatefulSet that is there. A new one is predicted as it is created."""
        there = self.observed.known_stateful_set(database)
        if there is None or count <= self.replicas[database]:
            return
        # No dry run: the API server may still have a StatefulSet that this run would recreate before.
        self.replicas[database] = count
        after = {**there, "spec": {**there["spec"], "replicas": count}}
        name, namespace = there["metadata"]["name"], self.desired.namespace
        self.progress.done.append(ObjectChange("StatefulSet", name, namespace, "changed", there, after))
        self.observed.index[key_of(there)] = after

    def _scaled(self, database: Database, count: int) -> list[Object]:
        """Return the StatefulSet with `count` pods, which all further manifests have as well."""
        self.replicas[database] = count
        name = f"{self.desired.name}-{database}"
        return [
            m
            for m in keep_claims(self.manifests(), self.observed)
            if m["kind"] == "StatefulSet" and m["metadata"]["name"] == name
        ]

    def deployment(self, name: str) -> Object | None:
        """Return the Deployment as it was read; None if this run has changed it since."""
        changed = self.progress.has_changed("Deployment", name)
        return None if changed else self.observed.get("apps/v1", "Deployment", name)
