# SPDX-License-Identifier: GPL-3.0-or-later
"""What a run would create in a cluster that looks like this: the pods, claims and objects that quotas count. Pure."""

from __future__ import annotations

import typing as t

from .._api.names import Object, record_name, witness_name
from .._base.databases import DATABASES
from .._hypervisors.nodes import matches
from .._manifests.central import central_manifests
from .._manifests.hypervisors import hypervisor_manifests
from .._manifests.metadata_agent import METADATA_AGENT, has_agent
from .observed_cluster import ObservedKubernetes
from .placement import untolerated_taints
from .quota import NewPods
from .storage import claims_to_come

if t.TYPE_CHECKING:
    from .._api.spec import ClusterSpec

_OF_KUBERNETES = "node.kubernetes.io/"
_NO_ARCHIVE = b""  # contents do not count in a quota


class Creation(t.NamedTuple):
    """`claims` are specifications of claims, `objects` those that do not exist yet, without pods and claims."""

    pods: list[NewPods]
    claims: list[Object]
    objects: list[Object]


def control_plane_manifests(spec: ClusterSpec) -> list[Object]:
    """Return all objects of the complete control plane, and the ConfigMaps that a run keeps beside them."""
    manifests = central_manifests(
        spec,
        name=spec.name,
        namespace=spec.namespace,
        cluster_domain="cluster.local",
        owner=None,
        launcher="",
        archive=_NO_ARCHIVE,
        replicas={database: spec.database(database).replicas for database in DATABASES},
    )
    names = [name(spec.name, database) for database in DATABASES for name in (record_name, witness_name)]
    return [*manifests, *(_named("v1", "ConfigMap", name) for name in names)]


def hypervisor_cluster_manifests(spec: ClusterSpec) -> list[Object]:
    """Return all objects of a hypervisor cluster in its namespace."""
    return hypervisor_manifests(
        spec,
        name=spec.name,
        namespace=spec.namespace,
        southbound=[],
        northbound=[],
        tls_secret=spec.tls_secret if spec.tls.enabled else None,
        api_server="",
        settings={},
        archive=_NO_ARCHIVE,
    )


def _named(api_version: str, kind: str, name: str) -> Object:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}}


def created_by_control_plane(spec: ClusterSpec, observed: ObservedKubernetes) -> Creation:
    manifests = control_plane_manifests(spec)
    pods, claims = [], []
    to_come = claims_to_come(spec, observed.claims or [])
    for manifest in manifests:
        if manifest["kind"] == "StatefulSet":
            template = manifest["spec"]["volumeClaimTemplates"][0]["spec"]
            name = f"data-{manifest['metadata']['name']}-"
            claims += [template for names in to_come.values() for one in names if one.startswith(name)]
        if manifest["kind"] in ("StatefulSet", "Deployment"):
            pods.append(_new_pods(manifest, manifest["spec"]["replicas"], observed))
        if manifest["kind"] == "DaemonSet":  # of nodes that somebody may not read there are none to count
            pod = manifest["spec"]["template"]["spec"]
            pods.append(_new_pods(manifest, sum(_gets_pod(node, pod) for node in observed.nodes or []), observed))
    return Creation(pods, claims, _missing(manifests, observed))


def _gets_pod(node: Object, pod: Object) -> bool:
    """Return whether the controller of DaemonSets gives the node such a pod. Taints by which Kubernetes says how a node is keep none of its pods away."""
    taints = untolerated_taints(node, pod.get("tolerations") or [])
    return matches(node["metadata"].get("labels") or {}, pod["nodeSelector"]) and all(
        str(taint.get("key")).startswith(_OF_KUBERNETES) for taint in taints
    )


def created_by_hypervisors(spec: ClusterSpec, observed: ObservedKubernetes) -> Creation:
    manifests = hypervisor_cluster_manifests(spec)
    nodes = [node["metadata"].get("labels") or {} for node in observed.nodes or []]
    pods = []
    for manifest in manifests:
        if manifest["kind"] == "DaemonSet":
            selector = manifest["spec"]["template"]["spec"]["nodeSelector"]
            is_agent = manifest["metadata"]["name"] == METADATA_AGENT
            count = sum(has_agent(spec, labels) if is_agent else matches(labels, selector) for labels in nodes)
            pods.append(_new_pods(manifest, count, observed))
    return Creation(pods, [], _missing(manifests, observed))


def _new_pods(manifest: Object, declared: int, observed: ObservedKubernetes) -> NewPods:
    labels = manifest["spec"]["selector"]["matchLabels"]
    there = sum(matches(pod["metadata"].get("labels") or {}, labels) for pod in observed.pods or [])
    return NewPods(max(0, declared - there), manifest["spec"]["template"]["spec"])


def _missing(manifests: t.Iterable[Object], observed: ObservedKubernetes) -> list[Object]:
    there = {(one["kind"], one["metadata"]["name"]) for one in observed.objects or []}
    return [
        one
        for one in manifests
        if (one["kind"], one["metadata"]["name"]) not in there and observed.is_readable(f"{one['kind']} objects")
    ]
