# SPDX-License-Identifier: GPL-3.0-or-later
"""Brings the operator into a cluster, and takes it out again."""

from __future__ import annotations

import typing as t

from .._api.crds import check_revision
from .._api.names import API_VERSION, Object
from .._base.deadline import Deadline
from .._base.errors import Conflict, OvnError, Refused, TimedOut
from .._control_plane.workloads import describe
from .._kubernetes.apply import ObjectChange, converge, delete, key_of, list_objects, prune
from .._kubernetes.client import Cluster
from .._kubernetes.pod_watch import watch_pods
from .._kubernetes.rollout_progress import is_available
from .._kubernetes.wait_tracker import Progress
from .._kubernetes.watcher import watch_until
from .control_plane import FINALIZER, MANAGER
from .manifests import NAME, OperatorOptions, operator_manifests

_KINDS = (
    ("apps/v1", "Deployment"),
    ("policy/v1", "PodDisruptionBudget"),
    ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding"),
    ("rbac.authorization.k8s.io/v1", "ClusterRole"),
    ("rbac.authorization.k8s.io/v1", "RoleBinding"),
    ("rbac.authorization.k8s.io/v1", "Role"),
    ("v1", "ServiceAccount"),
)
_ATTEMPTS = 5
_SELECTOR = f"app.kubernetes.io/name={NAME}"


def install(
    cluster: Cluster,
    options: OperatorOptions,
    *,
    check_mode: bool,
    force: bool,
    wait: bool,
    deadline: Deadline,
) -> Progress:
    """Apply the manifests, one request for each object that differs, delete what is not desired any more, and wait until the operator runs."""
    progress = Progress()
    observed = list_objects(cluster, _KINDS, None, _SELECTOR)
    elsewhere = [key[2] for key in observed if key[1] == "Deployment" and key[2] != options.namespace]
    if elsewhere:
        raise Refused(
            f"An operator runs in namespace {elsewhere[0]} already, and two would share their cluster-wide rights. Remove that one first, by a run with "
            "this namespace and state: absent (ovn_operator_state=absent), or install it there; what it has rolled out runs on. Nothing was changed."
        )
    manifests = operator_manifests(options)
    for manifest in manifests:
        if manifest["kind"] in ("Namespace", "CustomResourceDefinition"):
            there = cluster.get(manifest["apiVersion"], manifest["kind"], manifest["metadata"]["name"])
            if there is not None:
                observed[key_of(manifest)] = there
            if manifest["kind"] == "CustomResourceDefinition":
                check_revision(there)
    # A namespace that exists stays as it is.
    wanted = [one for one in manifests if one["kind"] != "Namespace" or key_of(one) not in observed]
    try:
        converge(cluster, wanted, observed, check_mode=check_mode, force=force, on_change=progress.done.append)
        prune(cluster, wanted, observed, check_mode=check_mode, on_change=progress.done.append)
        if wait and not check_mode:
            _await(cluster, options.namespace, deadline)
    except OvnError as e:
        e.details.update(objects=progress.as_results(), changed=progress.changed)
        raise
    return progress


def uninstall(cluster: Cluster, namespace: str, *, check_mode: bool, deadline: Deadline) -> Progress:
    """Delete the operator and its rights. OVNClusters, their definitions and all that runs stay; without their finalizer they can be deleted later.

    Its rights go last: its pods need them until they have ended, and they tell the next run, after a cut-off one, which OVNClusters it has looked after.
    """
    progress = Progress()
    observed = list_objects(cluster, _KINDS, None, _SELECTOR)
    ours = [
        observed[key]
        for kind in _KINDS
        for key in sorted(observed)
        if key[:2] == kind and _is_of(observed[key], namespace, observed.values())
    ]
    watched = watched_namespace(ours, namespace)
    _refuse_ending(_kept(cluster, watched))
    is_workload = {"Deployment", "PodDisruptionBudget"}
    _delete(cluster, [one for one in ours if one["kind"] in is_workload], progress, check_mode=check_mode)
    if any(one["kind"] == "Deployment" for one in ours) and not check_mode:
        # Its pods would write the finalizer again.
        watch_pods(cluster, namespace, lambda pods: not pods, labels=_SELECTOR, timeout=deadline.left())
    for one in _kept(cluster, watched):
        progress.done.append(_remove_finalizer(cluster, one, check_mode=check_mode))
    _delete(cluster, [one for one in ours if one["kind"] not in is_workload], progress, check_mode=check_mode)
    return progress


def _kept(cluster: Cluster, watched: str) -> list[Object]:
    """Return the OVNClusters with the finalizer of the operator."""
    found = cluster.list(API_VERSION, "OVNCluster", watched or None)
    return [one for one in found if FINALIZER in (one["metadata"].get("finalizers") or ())]


def _delete(cluster: Cluster, objects: t.Iterable[Object], progress: Progress, *, check_mode: bool) -> None:
    for one in objects:
        change = delete(cluster, one, check_mode=check_mode)
        if change is not None:
            progress.done.append(change)


def watched_namespace(ours: t.Iterable[Object], namespace: str) -> str:
    """Return the namespace whose OVNClusters the operator looks after, empty for all, by where its rights count; its own if it has none. Pure."""
    bindings = [
        (one["kind"], str(one["metadata"].get("namespace") or "")) for one in ours if one["metadata"]["name"] == NAME
    ]
    places = [place for kind, place in bindings if kind == "RoleBinding"]
    if places:
        return places[0]
    return "" if any(kind == "ClusterRoleBinding" for kind, _place in bindings) else namespace


def _refuse_ending(kept: t.Iterable[Object]) -> None:
    ending = [
        f"{one['metadata']['namespace']}/{one['metadata']['name']}"
        for one in kept
        if one["metadata"].get("deletionTimestamp")
    ]
    if ending:
        raise Refused(
            f"OVNCluster {', '.join(ending)} is being deleted, which the operator has to complete. Wait for its end (kubectl get ovncluster -A), then "
            "run again. Nothing was changed."
        )


def _is_of(one: Object, namespace: str, observed: t.Iterable[Object]) -> bool:
    """Return whether it belongs to the operator in this namespace: rights elsewhere are bound to its account, or to none that an operator has."""
    if one["kind"] in ("RoleBinding", "ClusterRoleBinding"):
        return _names_account(one, namespace)
    if one["kind"] in ("Role", "ClusterRole"):
        bindings = [other for other in observed if other["kind"] == f"{one['kind']}Binding" and _binds(other, one)]
        return not bindings or any(_names_account(other, namespace) for other in bindings)
    return str(one["metadata"].get("namespace")) == namespace


def _names_account(binding: Object, namespace: str) -> bool:
    return any(str(subject.get("namespace")) == namespace for subject in binding.get("subjects") or ())


def _binds(binding: Object, role: Object) -> bool:
    same_place = binding["metadata"].get("namespace") == role["metadata"].get("namespace")
    return bool(same_place and binding["roleRef"]["name"] == role["metadata"]["name"])


def _remove_finalizer(cluster: Cluster, resource: Object, *, check_mode: bool) -> ObjectChange:
    """Observers write the status meanwhile, so a conflict is tried again with the newest version."""
    metadata = resource["metadata"]
    place = (API_VERSION, "OVNCluster", metadata["name"], metadata["namespace"])
    current: Object | None = resource
    for attempt in range(_ATTEMPTS):
        if check_mode or current is None:
            break
        finalizers = [one for one in current["metadata"].get("finalizers") or () if one != FINALIZER]
        change = {"finalizers": finalizers, "resourceVersion": current["metadata"]["resourceVersion"]}
        try:
            cluster.patch(*place, {"metadata": change}, field_manager=MANAGER)
            break
        except Conflict:
            if attempt == _ATTEMPTS - 1:
                raise
            current = cluster.get(*place)
    left = [one for one in metadata["finalizers"] if one != FINALIZER]
    after = {**resource, "metadata": {**metadata, "finalizers": left}}
    return ObjectChange("OVNCluster", metadata["name"], metadata["namespace"], "changed", resource, after)


def _await(cluster: Cluster, namespace: str, deadline: Deadline) -> None:
    def reached(workloads: t.Mapping[str, Object]) -> bool:
        return NAME in workloads and is_available(workloads[NAME])

    known = {NAME: found} if (found := cluster.get("apps/v1", "Deployment", NAME, namespace)) else {}
    fields = f"metadata.name={NAME}"
    state = watch_until(cluster, "Deployment", namespace, reached, known=known, fields=fields, timeout=deadline.left())
    if reached(state):
        return
    pods = {one["metadata"]["name"] for one in cluster.list("v1", "Pod", namespace, labels=_SELECTOR)}
    cause = describe(cluster, namespace, NAME, pods)
    raise TimedOut(
        f"The pods of Deployment {namespace}/{NAME} were not available when the time was up. {cause} See kubectl -n {namespace} logs deployment/{NAME}, "
        "then run again."
    )
