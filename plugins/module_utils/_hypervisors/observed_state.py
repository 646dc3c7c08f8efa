# SPDX-License-Identifier: GPL-3.0-or-later
"""The observed state of a hypervisor cluster: one list for each kind, read once at the start of a run."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import hashlib
import json
import typing as t

from .._api.chassis_settings import HEARTBEAT
from .._api.chassis_status import OVS_CONNECTED, READY, ChassisFacts, chassis_status
from .._api.crds import check_revision, custom_resource_definitions
from .._api.names import API_VERSION, CONFIG_NAME, MANAGER, Object, labels
from .._base.errors import Conflict, OvnError, Refused
from .._base.ip_addresses import canonical
from .._kubernetes.apply import Key, list_objects
from .._kubernetes.client import Cluster
from .._kubernetes.version import tokens_name_nodes
from .._manifests.ca_bundle import AUTHORITIES, FOLDER_VARIABLE, environment_of, role_name
from .._manifests.hypervisor_pods import SETTINGS
from .._manifests.hypervisors import CONTROLLER
from .._manifests.image_contract import IMAGE_PULL_COMPONENT
from .._manifests.metadata_agent import METADATA_AGENT_COMPONENT
from .._manifests.status_rights import (
    CHASSIS_OBSERVER_COMPONENT,
    ROLE_AND_BINDING,
    STATUS_RIGHTS,
    observer_rights_name,
    status_rights_name,
)
from .desired import DesiredHypervisors
from .nodes import Node, parse_node
from .pods import COMPONENT, COMPONENTS, components_of, pod_problems, rolled_out
from .resources import KIND, chassis_facts, is_ours
from .settings import Chassis, recorded_addresses
from .southbound import Registry
from .wait import our_pods

# The status of each OVNChassis, as a run has observed it last.


def read_pod_problems(
    cluster: Cluster,
    desired: DesiredHypervisors,
    daemon_sets: t.Mapping[str, Object],
    chassis: t.Sequence[Chassis],
    *,
    awaited: bool,
    not_awaited: t.Container[str] = (),
) -> dict[str, str] | None:
    """Return what is wrong with the pods, by node; None if there are no pods yet.

    `daemon_sets`: those that are as they were read. `awaited`: the run has waited for all pods on nodes that are ready and not `not_awaited`, and they are
    ready, too.
    """
    if awaited and all(one.node.ready and one.node.name not in not_awaited for one in chassis):
        return {}
    components = components_of(desired.spec.ovs.mode)
    if len(daemon_sets) == len(components) and all(rolled_out(one, len(chassis)) for one in daemon_sets.values()):
        return {}
    if not awaited and not any((d.get("status") or {}).get("observedGeneration") for d in daemon_sets.values()):
        return None
    pods = cluster.list("v1", "Pod", desired.namespace, labels=our_pods(desired.name))
    try:
        events = cluster.list("v1", "Event", desired.namespace)
    except OvnError:  # a right that a run can do without
        events = []
    return pod_problems(pods, [one.node for one in chassis], events, components)


def write_statuses(
    cluster: Cluster,
    chassis: t.Sequence[Chassis],
    registry: Registry | None,
    resources: t.Mapping[str, Object],
    problems: t.Mapping[str, str] | None,
    interval: float,
    *,
    has_agents: bool,
    on_machines: bool = False,
    unreachable: str = "",
) -> None:
    """Write each status that differs. `resources` are the OVNChassis by node, `problems` those of pods, `interval` the seconds between two heartbeats.

    `has_agents`: agents write these statuses between runs. `on_machines`: they are machines, which have no pods. `unreachable`: why there is no
    `registry`, if that is to be written.
    `resources` may be as old as the run: if they differ, all are read again. What an agent has written since then is newer than what is known here, and stays.
    """
    if problems is None and registry is None and not unreachable:
        return
    now = datetime.datetime.now(datetime.timezone.utc)
    facts = {
        one.node.name: chassis_facts(
            one, registry, problems, now=now, interval=interval, has_agent=has_agents, on_machine=on_machines
        )._replace(unreachable=unreachable)
        for one in chassis
    }
    if not changed_statuses(resources, facts, now):
        return
    fresh = {resource["metadata"]["name"]: resource for resource in cluster.list(API_VERSION, KIND)}
    for manifest in changed_statuses(fresh, facts, now):
        with contextlib.suppress(Conflict):
            cluster.apply_status(manifest)


def changed_statuses(
    resources: t.Mapping[str, Object], facts: t.Mapping[str, ChassisFacts], now: datetime.datetime
) -> list[Object]:
    """Return the manifest of each status that differs, which is applied over that very version of the OVNChassis alone."""
    manifests = []
    for node, known in facts.items():
        resource = resources.get(node)
        if resource is None:
            continue
        metadata, previous = resource["metadata"], resource.get("status") or {}
        status = chassis_status(previous, known, generation=metadata.get("generation", 1), now=now)
        # Other conditions stay: what is applied does not have them.
        ours = [one for one in previous.get("conditions") or [] if one.get("type") in (READY, OVS_CONNECTED)]
        if json.dumps(status, sort_keys=True) != json.dumps({**previous, "conditions": ours}, sort_keys=True):
            version = {"name": node, "resourceVersion": metadata["resourceVersion"]}
            manifests.append({"apiVersion": API_VERSION, "kind": KIND, "metadata": version, "status": status})
    return manifests


CRD = "apiextensions.k8s.io/v1"
RIGHTS = tuple(kind for _version, kind in STATUS_RIGHTS)  # kinds without a namespace: what agents may do
# What lets agents write the status of their OVNChassis: a run applies it; its user may not read it, but an earlier run has; agents cannot write.
StatusRights = t.Literal["managed", "kept", "none"]


@dataclasses.dataclass(frozen=True)
class ObservedHypervisors:
    """`index` has the objects of ours that a run compares. `foreign_config`: a control plane in the same namespace publishes `ovn-config` already."""

    name: str
    namespace: str
    index: dict[Key, Object]
    nodes: list[Node]
    chassis: dict[str, Object]
    definition: Object | None
    foreign_config: bool
    status_rights: StatusRights = "none"

    @property
    def settings(self) -> Object | None:
        return self.index.get(("v1", "ConfigMap", self.namespace, SETTINGS))

    @property
    def published_api_server(self) -> str:
        """Return the address of the API server in the ConfigMap that is published; empty if there is none."""
        published = self.index.get(("v1", "ConfigMap", self.namespace, CONFIG_NAME)) or {}
        return str((published.get("data") or {}).get("k8s_apiserver") or "")

    def daemon_set(self, name: str) -> Object | None:
        return self.index.get(("apps/v1", "DaemonSet", self.namespace, name))

    @property
    def certificate_rights(self) -> list[Object]:
        """Return what lets the agents ask for certificates."""
        keys = [(version, kind, "", role_name(self.namespace)) for version, kind in ROLE_AND_BINDING]
        return [self.index[key] for key in keys if key in self.index]

    @property
    def our_chassis(self) -> dict[str, Object]:
        return {
            node: resource for node, resource in self.chassis.items() if is_ours(resource, self.name, self.namespace)
        }

    @property
    def owner(self) -> str:
        """Return the mark of the chassis of this cluster and namespace. The definition outlives everything of ours, and its uid is unique."""
        definition = self.index.get((CRD, "CustomResourceDefinition", "", chassis_definition()["metadata"]["name"]))
        uid = ((definition or {}).get("metadata") or {}).get("uid")
        return hashlib.sha256(f"{uid}/{self.namespace}/{self.name}".encode()).hexdigest()[:16] if uid else ""

    def addresses(self) -> dict[str, set[str]]:
        """Return the recorded tunnel addresses by node."""
        found = {node: set(ips) for node, ips in recorded_addresses(self.settings).items()}
        for node, resource in self.our_chassis.items():
            add_address(found, node, ((resource.get("spec") or {}).get("encapsulation") or {}).get("ip"))
        return {node: {canonical(ip) for ip in ips} for node, ips in found.items()}


def add_address(addresses: dict[str, set[str]], node: str, ip: str | None, *, later: str | None = None) -> None:
    """Replace the addresses of a node by `ip`: a former address may be another machine's today. Without `ip` and addresses, `later` stands in."""
    if ip and ip not in addresses.get(node, ()):
        addresses[node] = {ip}
    elif not ip and later and not addresses.get(node):
        addresses[node] = {later}


def chassis_definition() -> Object:
    return next(d for d in custom_resource_definitions() if d["spec"]["names"]["kind"] == KIND)


def read_state(cluster: Cluster, name: str, namespace: str, *, node_certificates: bool = False) -> ObservedHypervisors:
    """Return the observed state, in thirteen requests; `Refused` if a newer collection has written the definition.

    With `node_certificates`, or where nodes have had certificates of their own, also what lets the agents ask for them.
    """
    desired = chassis_definition()["metadata"]["name"]
    managed = f"app.kubernetes.io/managed-by={MANAGER}"
    definition = next(
        (
            d
            for d in cluster.list(CRD, "CustomResourceDefinition", fields=f"metadata.name={desired}")
            if d["metadata"]["name"] == desired
        ),
        None,
    )
    check_revision(definition)
    chassis = {r["metadata"]["name"]: r for r in cluster.list(API_VERSION, KIND)} if definition else {}
    nodes = [parse_node(node) for node in cluster.list("v1", "Node")]
    kinds = [("v1", "ConfigMap"), ("v1", "ServiceAccount"), ("apps/v1", "DaemonSet"), ("apps/v1", "Deployment")]
    found = list_objects(cluster, kinds, namespace, f"{managed},app.kubernetes.io/instance={name}")
    ours = (*COMPONENTS, IMAGE_PULL_COMPONENT, METADATA_AGENT_COMPONENT, CHASSIS_OBSERVER_COMPONENT)
    index = {key: one for key, one in found.items() if component_of(one) in ours}
    foreign = found.keys() - index.keys()
    if node_certificates or _had_node_certificates(index, namespace):
        index.update(_read_certificate_rights(cluster, name, namespace))
    status_rights = _read_status_rights(cluster, name, namespace, index)
    if definition:
        index[CRD, "CustomResourceDefinition", "", desired] = definition
    index.update({(API_VERSION, KIND, "", node): resource for node, resource in chassis.items()})
    foreign_config = ("v1", "ConfigMap", namespace, CONFIG_NAME) in foreign
    return ObservedHypervisors(name, namespace, index, nodes, chassis, definition, foreign_config, status_rights)


def _read_rights(cluster: Cluster, kinds: t.Iterable[tuple[str, str]], right: str, name: str) -> dict[Key, Object]:
    """Return the objects with the name `right`, of the hypervisor cluster `name` alone: another one may be in that namespace."""
    found = {(version, kind, "", right): cluster.get(version, kind, right) for version, kind in kinds}
    ours = labels(name).items()
    return {key: one for key, one in found.items() if one and (one["metadata"].get("labels") or {}).items() >= ours}


def _read_status_rights(cluster: Cluster, name: str, namespace: str, index: dict[Key, Object]) -> StatusRights:
    """Add what lets agents write the status to `index`. Without the right to read it, a run leaves it as an administrator's run has made it."""
    try:
        found = _read_rights(cluster, STATUS_RIGHTS, status_rights_name(namespace), name)
        observers = _read_rights(cluster, ROLE_AND_BINDING, observer_rights_name(namespace), name)
    except Refused as e:
        if e.details.get("http_status") != 403:
            raise
        settings = index.get(("v1", "ConfigMap", namespace, SETTINGS)) or {}
        # With state absent the ConfigMap may have stayed as the record of chassis, without pods.
        has_pods = ("apps/v1", "DaemonSet", namespace, CONTROLLER) in index
        return "kept" if has_pods and HEARTBEAT in (settings.get("data") or {}) else "none"
    index.update(found)
    index.update(observers)
    return "managed" if len(found) == len(STATUS_RIGHTS) or tokens_name_nodes(cluster) else "none"


def component_of(one: Object) -> str | None:
    """Return the component of an object of ours."""
    return (one["metadata"].get("labels") or {}).get(COMPONENT)


def _had_node_certificates(index: t.Mapping[Key, Object], namespace: str) -> bool:
    """Return whether pods or the CAs of nodes that have certificates of their own are there."""
    workload = index.get(("apps/v1", "DaemonSet", namespace, CONTROLLER))
    return FOLDER_VARIABLE in environment_of(workload or {}) or ("v1", "ConfigMap", namespace, AUTHORITIES) in index


def _read_certificate_rights(cluster: Cluster, name: str, namespace: str) -> dict[Key, Object]:
    """Return ClusterRole and ClusterRoleBinding of this cluster. Who may not look at them has not made them, and finds out when they are needed."""
    try:
        return _read_rights(cluster, ROLE_AND_BINDING, role_name(namespace), name)
    except Refused as e:
        if e.details.get("http_status") != 403:
            raise
        return {}
