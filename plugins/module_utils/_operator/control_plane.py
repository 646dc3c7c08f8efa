# SPDX-License-Identifier: GPL-3.0-or-later
"""One run over the control plane of an OVNCluster, and its end."""

from __future__ import annotations

import datetime
import typing as t

from .._api.names import API_VERSION, Object
from .._api.spec import ClusterSpec
from .._base.deadline import Deadline
from .._base.errors import Changed, OvnError
from .._control_plane.absent import delete_control_plane
from .._control_plane.task import OPTIONS, present
from .._kubernetes.apply import ObjectChange, as_results
from .._kubernetes.client import Cluster
from .authorities import Context
from .certificates import ensure_central
from .neutron import NeutronClients, Place

FINALIZER = "ovn.c5c3.io/operator"
MANAGER = "c5c3.ovn-operator"  # of the few fields that runs do not write: finalizers, and those of Neutron
_WAIT = 600.0  # seconds without the end of a rollout, then its cause is told and it is tried again


def task_params(options: t.Mapping[str, t.Mapping[str, t.Any]], **given: t.Any) -> dict[str, t.Any]:
    """Return the options of a task: those that are given, and the defaults of the module for the others."""
    return {**{name: option.get("default") for name, option in options.items()}, **given}


def roll_out(
    cluster: Cluster, resource: Object, spec: ClusterSpec, *, cluster_domain: str, warn: t.Callable[[str], None]
) -> dict[str, t.Any]:
    """Bring the control plane to what the OVNCluster declares, with the options of a run that forces nothing. Return the result of the module ovn_cluster.

    `resource` is the OVNCluster as it was read; if it has been edited since, nothing is done and `Refused` says so.
    """
    name, namespace = resource["metadata"]["name"], resource["metadata"]["namespace"]
    if not is_kept(resource):
        _write_finalizer(cluster, resource, present=True)
    issued: list[ObjectChange] = []
    ensure_central(
        cluster,
        Context(resource, spec, cluster_domain, issued.append, warn),
        datetime.datetime.now(datetime.timezone.utc),
    )
    params = task_params(
        OPTIONS,
        name=name,
        namespace=namespace,
        spec_from="resource",
        resource_uid=resource["metadata"]["uid"],
        resource_generation=resource["metadata"]["generation"],
        cluster_domain=cluster_domain,
        wait_timeout=_WAIT,
    )
    result = present(cluster, params, check_mode=False, warn=warn)
    result = {**result, "objects": [*as_results(issued), *result["objects"]]}
    steps = _write_to_neutron(cluster, Place(name, namespace), spec, result, warn)
    changed = result["changed"] or bool(steps) or any(one["action"] != "unchanged" for one in result["objects"])
    return {**result, "changed": changed, "steps": [*result["steps"], *steps]}


def _write_to_neutron(
    cluster: Cluster, place: Place, spec: ClusterSpec, result: t.Mapping[str, t.Any], warn: t.Callable[[str], None]
) -> list[str]:
    """Write the endpoints to the Neutron resources of this OVNCluster, and return what was done. An error has what the run did before in its details."""
    endpoints = ((result["cluster"] or {}).get("status") or {}).get("endpoints") or {}
    names = [one.name for one in spec.hypervisor_clusters]
    namespaces = spec.neutron_integration.sb_connection.allowed_namespaces
    try:
        return NeutronClients(cluster, place, names, endpoints, namespaces, MANAGER, warn).fill_in()
    except OvnError as e:
        e.details.update(objects=result["objects"], steps=[*result["steps"], *e.details["steps"]])
        raise


def delete(cluster: Cluster, resource: Object) -> dict[str, t.Any]:
    """Delete the workloads of an OVNCluster that is being deleted, then remove its finalizer. Claims, records and Secrets stay, and hypervisors run on."""
    name, namespace = resource["metadata"]["name"], resource["metadata"]["namespace"]
    done: list[ObjectChange] = []
    try:
        delete_control_plane(
            *(cluster, name, namespace),
            delete_data=False,
            check_mode=False,
            deadline=Deadline(_WAIT),
            on_change=done.append,
        )
    except OvnError as e:
        e.details.update(objects=as_results(done))
        raise
    _write_finalizer(cluster, resource, present=False)
    return {"changed": True, "objects": as_results(done), "steps": ["remove the finalizer of the OVNCluster"]}


def is_kept(resource: Object) -> bool:
    """Return whether the OVNCluster waits for its end until `delete` has come to its own."""
    return FINALIZER in (resource["metadata"].get("finalizers") or ())


def _write_finalizer(cluster: Cluster, resource: Object, *, present: bool) -> None:
    """Add or remove it, if nobody has changed the resource since: the list is one field, and others have theirs in it."""
    metadata = resource["metadata"]
    place = (API_VERSION, "OVNCluster", metadata["name"], metadata["namespace"])
    current = cluster.get(*place)
    if current is None or current["metadata"]["uid"] != metadata["uid"]:
        raise Changed(f"OVNCluster {metadata['namespace']}/{metadata['name']} was deleted meanwhile.")
    others = [one for one in current["metadata"].get("finalizers") or () if one != FINALIZER]
    finalizers = [*others, *([FINALIZER] if present else [])]
    change = {"finalizers": finalizers, "resourceVersion": current["metadata"]["resourceVersion"]}
    cluster.patch(*place, {"metadata": change}, field_manager=MANAGER)
