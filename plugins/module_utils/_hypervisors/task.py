# SPDX-License-Identifier: GPL-3.0-or-later
"""One run over the hypervisors of one Kubernetes cluster, as a task of the module ovn_hypervisors or of the operator."""

from __future__ import annotations

import contextlib
import typing as t

from .._api.names import Object
from .._api.service_accounts import CONTROLLER_ACCOUNT, OVS_ACCOUNT
from .._base.deadline import Deadline
from .._base.errors import OvnError, Refused, TimedOut, Unreachable
from .._kubernetes.apply import Key, delete, merge_changes
from .._kubernetes.client import Cluster
from .._kubernetes.rollout_progress import is_terminating
from .._kubernetes.secret_files import secret_files
from .._kubernetes.wait_tracker import Progress
from .._manifests.hypervisor_pods import SETTINGS
from .._manifests.image_contract import IMAGE_PULL
from .._manifests.metadata_agent import METADATA_AGENT
from .._manifests.status_rights import ADMISSION, CHASSIS_OBSERVER
from .certificates import read_authorities
from .desired import DesiredHypervisors, desired_from_params
from .metadata_agents import read_secret_version
from .observed_state import RIGHTS, ObservedHypervisors, read_state
from .ownership import OwnershipEvidence, orphaned_chassis
from .plan import nodes_to_remove
from .pods import COMPONENTS
from .removal import ChassisRemoval
from .run import Hypervisors, run_lease
from .settings import recorded_nodes
from .southbound import read_registry

# `state: absent`: deletes everything of ours but the custom resource definition, the namespace, certificates, and the databases on the nodes.


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


Warn = t.Callable[[str], None]

_TEXTS = {"type": "list", "elements": "str"}
OPTIONS: dict[str, dict[str, t.Any]] = {
    "name": {"type": "str", "default": "ovn"},
    "namespace": {"type": "str", "default": "ovn-system"},
    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
    "spec": {"type": "dict"},
    "southbound": _TEXTS,
    "northbound": _TEXTS,
    "tls_secret": {"type": "str", "no_log": False},  # its name
    "signer": {
        "type": "dict",
        "options": {
            "certificate": {"type": "str", "required": True},
            "private_key": {"type": "str", "no_log": True},
            "passphrase": {"type": "str", "no_log": True},
            "validity_days": {"type": "int", "default": 365},
            "other_chassis": _TEXTS,
        },
    },
    "api_server": {"type": "str"},
    "private_key": {"type": "path"},
    "certificate": {"type": "path"},
    "ca_certificate": {"type": "path"},
    "break_lock": {"type": "bool", "default": False},
    "force_conflicts": {"type": "bool", "default": False},
    "wait": {"type": "bool", "default": True},
    "wait_timeout": {"type": "float", "default": 300},
}


def _result(run: Hypervisors | AbsentHypervisors) -> dict[str, t.Any]:
    progress = run.progress
    return {
        "changed": run.changed,
        "removed": run.removed,
        "objects": progress.as_results(),
        "steps": progress.steps,
        "diff": progress.diff(),
    }


def _changed_objects(run: Hypervisors | AbsentHypervisors) -> list[str]:
    """Return the objects that were changed before a failure, one line each, in the form of `ovn_cluster`."""
    changed = [one for one in merge_changes(run.progress.done) if one.action != "unchanged"]
    return [f"{d.kind} {f'{d.namespace}/' if d.namespace else ''}{d.name} {d.action}" for d in changed]


def converge(
    cluster: Cluster,
    params: t.Mapping[str, t.Any],
    *,
    directory: str,
    check_mode: bool,
    warn: Warn,
    keeps_api_server: bool = False,
) -> dict[str, t.Any]:
    """Bring the hypervisors of one cluster to the declared state and return the result of the module. `directory` is for temporary files.

    `keeps_api_server`: the address of the API server that was published before stays, since who else rolls out may reach it at another one.
    An `OvnError` has in its details what was done before.
    """
    desired = desired_from_params(params, cluster.server, directory)
    secret = desired.tls_secret if desired.southbound and not any(desired.tls) else None
    with contextlib.ExitStack() as stack:
        if secret:
            bundle = desired.spec.tls.ca_config_map_ref
            files = stack.enter_context(secret_files(cluster, secret, desired.namespace, directory, warn, bundle))
            desired = desired_from_params({**params, **files}, cluster.server, directory)
        return _run(
            cluster,
            desired,
            is_present=params["state"] == "present",
            check_mode=check_mode,
            warn=warn,
            keeps_api_server=keeps_api_server,
        )


def _run(
    cluster: Cluster,
    desired: DesiredHypervisors,
    *,
    is_present: bool,
    check_mode: bool,
    warn: Warn,
    keeps_api_server: bool,
) -> dict[str, t.Any]:
    looks_for_rights = desired.has_node_certificates or not is_present
    observed = read_state(cluster, desired.name, desired.namespace, node_certificates=looks_for_rights)
    if keeps_api_server and observed.published_api_server:
        desired = desired._replace(api_server=observed.published_api_server)
    run: Hypervisors | AbsentHypervisors
    if is_present:
        authorities, problem = read_authorities(cluster, desired)
        version = read_secret_version(cluster, desired.spec, desired.namespace)
        desired = desired._replace(authorities=authorities, metadata_secret_version=version)
        if problem:
            warn(problem)
        run = Hypervisors(cluster, desired, observed, check_mode=check_mode)
    else:
        run = AbsentHypervisors(cluster, desired, observed, check_mode=check_mode)
    try:
        run.run()
    except OvnError as e:
        e.details = {**e.details, **_result(run), "done": _changed_objects(run)}
        raise
    finally:
        for warning in run.progress.warnings:
            warn(warning)
    return {**_result(run), **({"chassis": run.chassis()} if isinstance(run, Hypervisors) else {})}
