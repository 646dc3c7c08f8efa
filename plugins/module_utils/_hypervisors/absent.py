# SPDX-License-Identifier: GPL-3.0-or-later
"""`state: absent`: deletes everything of ours but the custom resource definition, the namespace, certificates, and the databases on the nodes."""

from __future__ import annotations

import typing as t

from .._api.names import Object
from .._api.service_accounts import CONTROLLER_ACCOUNT, OVS_ACCOUNT
from .._base.deadline import Deadline
from .._base.errors import Refused, TimedOut, Unreachable
from .._kubernetes.apply import Key, delete
from .._kubernetes.client import Cluster
from .._kubernetes.progress import Progress
from .._kubernetes.rollout_progress import is_terminating
from .._manifests.hypervisor_pods import SETTINGS
from .._manifests.image_pull import IMAGE_PULL
from .._manifests.metadata_agent import METADATA_AGENT
from .._manifests.status_rights import ADMISSION, CHASSIS_OBSERVER
from .desired import DesiredHypervisors
from .lease import run_lease
from .observed_state import RIGHTS, ObservedHypervisors, read_state
from .ownership import OwnershipEvidence, orphaned_chassis
from .plan import nodes_to_remove
from .pods import COMPONENTS
from .removal import ChassisRemoval
from .settings import recorded_nodes
from .southbound import read_registry


class AbsentHypervisors:
    """One run that deletes. `removed` are the chassis that it has deleted from the Southbound database."""

    def __init__(
        self, cluster: Cluster, desired: DesiredHypervisors, observed: ObservedHypervisors, *, check_mode: bool
    ) -> None:
        self.cluster, self.desired, self.observed, self.check_mode = cluster, desired, observed, check_mode
        self.progress, self.removed = Progress(), list[str]()
        self.lease = run_lease(cluster, desired)

    @property
    def changed(self) -> bool:
        return bool(self.removed) or self.progress.changed

    def run(self) -> None:
        try:
            if (
                not self.check_mode
                and (self._objects_to_delete() or self._nodes_to_remove())
                and self._has_place_for_lease()
            ):
                self.lease.acquire_or_renew("delete the hypervisors")
                # Another run may have created something until a moment ago.
                self.observed = read_state(
                    self.cluster, self.desired.name, self.desired.namespace, node_certificates=True
                )
            self._delete_all()
            self.lease.delete()
        finally:
            self.lease.release()

    def _has_place_for_lease(self) -> bool:
        """Return whether the namespace exists and is not terminating. Otherwise no run can create objects in it, so no Lease is needed."""
        namespace = self.cluster.get("v1", "Namespace", self.desired.namespace)
        return namespace is not None and not is_terminating(namespace)

    def _nodes_to_remove(self) -> dict[str, str]:
        return nodes_to_remove(self.observed, recorded_nodes(self.observed.settings), ())

    def _delete_all(self) -> None:
        """Delete the pods first: a running ovn-controller would register its chassis again. The record of the nodes is deleted last."""
        observed, deadline = self.observed, Deadline(self.desired.wait_timeout)
        to_remove = self._nodes_to_remove()
        self._delete(one for one in self._objects_to_delete() if one["kind"] == "DaemonSet")
        registry = None
        if self.desired.asked and (to_remove or observed.settings is not None):
            try:
                registry = read_registry(self.desired.asked, self.desired.tls, Deadline(15))
            except (Unreachable, TimedOut) as e:
                self.progress.warnings.append(str(e))
        to_remove = {
            **orphaned_chassis(registry, OwnershipEvidence(observed.owner, {}), set(to_remove.values())),
            **to_remove,
        }
        removal = ChassisRemoval(self.cluster, self.desired, observed, to_remove, (), self.progress)
        try:
            removal.run(registry, deadline, check_mode=self.check_mode)
        finally:
            self.removed += removal.removed
        if removal.busy and self.desired.wait:
            raise TimedOut(
                f"Pods on {len(removal.busy)} nodes had not ended within {self.desired.wait_timeout:g} s: {', '.join(sorted(removal.busy)[:10])}. "
                "Look at these nodes, then run again."
            )
        if (
            self.lease.held is not None
        ):  # the wait for pods may have taken minutes, and another run may have acquired the Lease
            self.lease.acquire_or_renew("delete the record of the hypervisors")
        # The record names the rows that are still to be deleted. Without access to the Southbound database no later run could use it.
        kept = SETTINGS if removal.left and (self.desired.asked or removal.busy) else None
        self._delete(
            one for one in self._objects_to_delete() if one["kind"] != "DaemonSet" and one["metadata"]["name"] != kept
        )

    def _objects_to_delete(self) -> list[Object]:
        return [
            one
            # The policy on what agents may write goes after the role that lets them write at all.
            for (_api, kind, namespace, _name), one in sorted(self.observed.index.items(), key=_order)
            if (namespace or kind in RIGHTS)
            and (kind != "DaemonSet" or one["metadata"]["name"] in (*COMPONENTS.values(), IMAGE_PULL, METADATA_AGENT))
        ]

    def _delete(self, objects: t.Iterable[Object]) -> None:
        """Rights of agents may be an administrator's. Without their account they let nobody do anything, but one of somebody else's stays and keeps them."""
        keeps_rights = False
        for one in objects:
            if keeps_rights and one["apiVersion"] == ADMISSION:
                continue  # it limits what the account may write
            try:
                deleted = delete(self.cluster, one, check_mode=self.check_mode)
            except Refused as e:
                if one["kind"] not in RIGHTS or e.details.get("http_status") != 403:
                    raise
                bound = [one] if one["kind"] == "ClusterRoleBinding" else self.observed.index.values()
                account = given_agents(bound)
                self.progress.warn(left_rights(one, account, e))
                keeps_rights |= account is not None and one["kind"] == "ClusterRoleBinding"
                continue
            if deleted is not None:
                self.progress.done.append(deleted)


def given_agents(objects: t.Iterable[Object]) -> str | None:
    """Return the account in our ClusterRoleBindings, as NAMESPACE/NAME, if it is one that no run makes or deletes; None otherwise."""
    subjects = [s for one in objects if one["kind"] == "ClusterRoleBinding" for s in one.get("subjects") or ()]
    given = [one for one in subjects if one["name"] not in (CONTROLLER_ACCOUNT, OVS_ACCOUNT, CHASSIS_OBSERVER)]
    return f"{given[0]['namespace']}/{given[0]['name']}" if given else None


def left_rights(one: Object, account: str | None, error: Refused) -> str:
    """Return what it means that this object stays. `account`: of the agents, if it stays as well."""
    if account is None:
        return f"It stays, and lets nobody do anything without the account of the agents: {error}"
    if one["kind"] != "ClusterRoleBinding":
        return f"It stays, and lets nobody do anything by itself: {error}"
    return (
        f"It stays, and the ServiceAccount {account} keeps these rights: {error} "
        f"An administrator ends that with kubectl delete clusterrolebinding {one['metadata']['name']}"
    )


def _order(item: tuple[Key, Object]) -> tuple[bool, Key]:
    key, _one = item
    return key[0] == ADMISSION, key
