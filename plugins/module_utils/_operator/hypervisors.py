# SPDX-License-Identifier: GPL-3.0-or-later
"""One run over the hypervisors of one cluster of an OVNCluster."""

from __future__ import annotations

import datetime
import tempfile
import typing as t

from .._api.hypervisor_clusters import HypervisorCluster
from .._api.names import API_VERSION, Object, label_selector, labels
from .._api.spec import ClusterSpec
from .._api.status import rolled_out
from .._base.errors import InvalidInput, Refused
from .._hypervisors.task import OPTIONS, converge
from .._kubernetes.apply import ObjectChange, as_results
from .._kubernetes.client import Cluster
from .authorities import Context
from .certificates import ensure_hypervisors, node_signer
from .control_plane import task_params
from .target import Waiting

_WAIT = 600.0  # seconds without progress


def endpoints_of(resource: Object, spec: ClusterSpec) -> tuple[list[str], list[str]]:
    """Return the endpoints of the Southbound and the Northbound for this generation of the OVNCluster; `Waiting` if there are none yet. Pure."""
    status, name = resource.get("status") or {}, resource["metadata"]["name"]
    if rolled_out(status) < resource["metadata"]["generation"]:
        raise Waiting(f"The control plane of OVNCluster {name} is rolled out first.")
    if not spec.southbound.service.exposed:
        raise InvalidInput(
            f"southbound.service.type of OVNCluster {name} is {spec.southbound.service.type}, so nodes of other clusters cannot reach the Southbound. "
            "Set it to NodePort or LoadBalancer."
        )
    found = status.get("endpoints") or {}
    southbound, northbound = (
        [one for one in (found.get(database) or "").split(",") if one] for database in ("southbound", "northbound")
    )
    if not southbound:
        raise Waiting(f"OVNCluster {name} has no Southbound endpoints yet.")
    return southbound, northbound


def roll_out(
    central: Cluster,
    remote: Cluster,
    resource: Object,
    spec: ClusterSpec,
    place: HypervisorCluster,
    *,
    keeps_api_server: bool,
    warn: t.Callable[[str], None],
) -> dict[str, t.Any]:
    """Bring the hypervisors of one cluster to what the OVNCluster declares, and return the result of the module ovn_hypervisors."""
    name = resource["metadata"]["name"]
    southbound, northbound = endpoints_of(resource, spec)
    namespace = place.namespace or resource["metadata"]["namespace"]
    issued: list[ObjectChange] = []
    now = datetime.datetime.now(datetime.timezone.utc)
    context = Context(resource, spec, "", issued.append, warn)
    ensure_hypervisors(central, remote, context, place, now)
    params = task_params(
        OPTIONS,
        name=name,
        namespace=namespace,
        spec=resource.get("spec") or {},
        southbound=southbound,
        northbound=northbound,
        tls_secret=spec.tls_secret if spec.tls.enabled else None,
        signer=node_signer(central, context),
        wait_timeout=_WAIT,
    )
    with tempfile.TemporaryDirectory(prefix="c5c3-ovn-") as directory:
        result = converge(
            remote, params, directory=directory, check_mode=False, warn=warn, keeps_api_server=keeps_api_server
        )
    objects = [*as_results(issued), *result["objects"]]
    return {
        **result,
        "objects": objects,
        "changed": result["changed"] or any(one["action"] != "unchanged" for one in objects),
    }


def refuse_same_place(remote: Cluster, resource: Object, place: HypervisorCluster) -> None:
    """Raise `Refused` if this is the very namespace of the control plane: one Secret cannot have the certificates of both."""
    name, namespace = resource["metadata"]["name"], resource["metadata"]["namespace"]
    if (place.namespace or namespace) != namespace:
        return
    try:
        found = remote.get(API_VERSION, "OVNCluster", name, namespace)
    except Refused:
        return  # no right to see one: another cluster, or an account that may not look
    if found is not None and found["metadata"]["uid"] == resource["metadata"]["uid"]:
        raise Refused(
            f"Hypervisor cluster {place.name} is the cluster of the control plane, and its pods would share namespace {namespace}. Set "
            "hypervisorClusters[].namespace to another one."
        )


def refuse_second_place(remote: Cluster, resource: Object, place: HypervisorCluster) -> None:
    """Raise `Refused` if the daemons of this OVNCluster run in another namespace of that cluster: a node has one Open vSwitch."""
    name, namespace = resource["metadata"]["name"], place.namespace or resource["metadata"]["namespace"]
    try:
        found = remote.list("apps/v1", "DaemonSet", labels=label_selector(labels(name)))
    except Refused:
        return  # no right to look outside of its namespace
    others = sorted({one["metadata"]["namespace"] for one in found} - {namespace})
    if others:
        raise Refused(
            f"Hypervisor cluster {place.name} has the daemons of OVNCluster {name} in namespace {others[0]} already, and its namespace is {namespace}: a node "
            f"would have two of each. Set hypervisorClusters[].namespace to {others[0]}, or remove those first (c5c3.ovn.hypervisors with "
            "ovn_hypervisor_state=absent). Nothing was changed."
        )
