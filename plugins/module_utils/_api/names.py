# SPDX-License-Identifier: GPL-3.0-or-later
"""Names in the certificate of a control plane in Kubernetes. Pure."""

from __future__ import annotations

import typing as t

from .._base.databases import DATABASES, PORTS, Database
from .._base.inventory import as_list
from .._raft.verdict import Verdict

# Labels on the pods that lead. They are for people and their tools; no client of ours depends on them. Pure.

NORTHBOUND = "ovn-nb-leader"
SOUTHBOUND = "ovn-sb-leader"
NORTHD = "ovn-northd-leader"
LABELS = {"northbound": NORTHBOUND, "southbound": SOUTHBOUND}

COMPONENT = "app.kubernetes.io/component"


def label_patch(label: str, desired: bool) -> dict[str, t.Any]:
    """Return the merge patch that sets or removes a label."""
    return {"metadata": {"labels": {label: "true" if desired else None}}}


def leader_of(verdict: Verdict) -> str | None:
    """Return the leader, None if there is none: a leader without a majority does not count, even while it claims to lead."""
    return verdict.leader if verdict.writable else None


def label_patches(
    pods: t.Iterable[t.Mapping[str, t.Any]], leaders: t.Mapping[str, str | None]
) -> dict[str, dict[str, t.Any]]:
    """Return the patches by pod name. `leaders`: label to pod or None; labels of databases that are not in it stay as they are.

    northd's label is set by the pod itself (northd.py); here it is taken off pods that can no longer do so.
    """
    patches: dict[str, dict[str, t.Any]] = {}
    for pod in pods:
        name = pod["metadata"]["name"]
        labels = pod["metadata"].get("labels", {})
        desired = {label: name == leader for label, leader in leaders.items()}
        if NORTHD in labels and is_lost(pod):
            desired[NORTHD] = False
        changes: dict[str, str | None] = {}
        for label, lead in desired.items():
            # A pod that has not started yet is not the one that leads: that one was just deleted.
            if lead and labels.get(label) != "true" and pod.get("status", {}).get("phase") == "Running":
                changes[label] = "true"
            elif not lead and label in labels:
                changes[label] = None
        if changes:
            patches[name] = {"metadata": {"labels": changes}}
    return patches


def is_lost(pod: t.Mapping[str, t.Any]) -> bool:
    """Return whether the pod can no longer report: it has ended, or its node is gone. Kubelet never says that a pod is not ready while all
    of its containers are; the control plane says so of every pod on a node that it does not hear.
    """
    status = pod.get("status", {})
    ready = {condition["type"]: condition["status"] == "True" for condition in status.get("conditions", [])}
    unheard = ready.get("ContainersReady", False) and not ready.get("Ready", False)
    return unheard or status.get("phase") in ("Failed", "Succeeded")


def active_northd(pods: t.Iterable[t.Mapping[str, t.Any]]) -> list[str] | None:
    """Return the northd pods that report to be active; None if there are pods, but none that reports (no container that does)."""
    northds = [pod for pod in pods if (pod["metadata"].get("labels") or {}).get(COMPONENT) == "northd"]
    reporting = [
        pod
        for pod in northds
        if any(container.get("name") == "status" for container in (pod.get("spec") or {}).get("containers") or ())
    ]
    if northds and not reporting:
        return None
    return sorted(
        pod["metadata"]["name"] for pod in reporting if (pod["metadata"].get("labels") or {}).get(NORTHD) == "true"
    )


# What things are called, and under which addresses they are reached. Every other file asks here.

Object = dict[str, t.Any]
Component = t.Literal[
    "northbound",
    "southbound",
    "northd",
    "observer",
    "leader-proxy",
    "controller",
    "ovs",
    "image-pull",
    "metadata-agent",
    "chassis-observer",
]

GROUP = "ovn.c5c3.io"
API_VERSION = f"{GROUP}/v1alpha1"
MANAGER = "c5c3.ovn"
# Labels of an OVNChassis. Several namespaces may share the nodes of one cluster.
NAMESPACE = f"{GROUP}/namespace"  # of its pods
MACHINE = f"{GROUP}/machine"  # the name of the machine, if no Node owns it
USER = 10001  # uid and gid of our containers
MOST_MEMBERS = 5
POD_SECURITY = "pod-security.kubernetes.io/enforce"  # label of a namespace
CA_KEY = "ca.crt"  # of a Secret: the CAs that the daemons trust
CLIENT_CA_KEY = "client-ca.crt"  # of the Secret that ovn_pki makes: the CAs of whom the Southbound lets in
SERVICE_STATUS: dict[Database, str] = {"northbound": "serviceNorthbound", "southbound": "serviceSouthbound"}
UNRESTRICTED_STATUS = "southboundUnrestricted"  # the endpoints without a role, in the status of an OVNCluster
# Endpoints for clients inside, by address: of all members, and of the leader proxy. The Southbound ones are without a role.
CLUSTER_IPS_STATUS: dict[Database, str] = {
    "northbound": "northboundClusterIPs",
    "southbound": "southboundUnrestrictedClusterIPs",
}
PROXY_STATUS: dict[Database, str] = {"northbound": "leaderProxyNorthbound", "southbound": "leaderProxySouthbound"}
# The Services of Neutron, in front of all members, unless the OVNCluster names them.
CLIENT_SERVICES: dict[Database, str] = {"northbound": "ovn-nb", "southbound": "ovn-sb"}


def labels(name: str, component: Component | None = None) -> dict[str, str]:
    """Return the labels of every object of the cluster `name`; without a component for what belongs to all of it.

    Pod templates have them, too: another label restarts all members and all pods of hypervisors. Objects are also known as ours by them.
    """
    common = {
        "app.kubernetes.io/name": "ovn",
        "app.kubernetes.io/instance": name,
        "app.kubernetes.io/managed-by": MANAGER,
        "app.kubernetes.io/part-of": "ovn",
    }
    return {**common, "app.kubernetes.io/component": component} if component else common


def chassis_labels(name: str, namespace: str) -> dict[str, str]:
    """Return the labels of every OVNChassis of this OVNCluster."""
    return {**labels(name), NAMESPACE: namespace}


def label_selector(wanted: t.Mapping[str, str]) -> str:
    """Return the text with which the API server selects objects that have all these labels."""
    return ",".join(f"{key}={value}" for key, value in wanted.items())


def selector(name: str, component: Component) -> dict[str, str]:
    """Return the labels that select the pods of one component. A selector is immutable in most kinds, so nothing here may ever depend on the specification."""
    return {
        "app.kubernetes.io/name": "ovn",
        "app.kubernetes.io/instance": name,
        "app.kubernetes.io/component": component,
    }


def metadata(name: str, namespace: str, instance: str, component: Component | None = None) -> Object:
    return {"name": name, "namespace": namespace, "labels": labels(instance, component)}


def owner_reference(owner: Object) -> Object:
    """Return the reference to the OVNCluster `owner`, which has its uid from the API server."""
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def database_name(name: str, database: Database) -> str:
    """Return the name of StatefulSet, headless Service, ServiceAccount, PodDisruptionBudget and NetworkPolicy of one database."""
    return f"{name}-{database}"


def member_name(name: str, database: Database, index: int) -> str:
    """Return the name of pod and Service, and the member id in the record."""
    return f"{name}-{database}-{index}"


def record_name(name: str, database: Database) -> str:
    return f"{name}-{database}-record"


def witness_name(name: str, database: Database) -> str:
    return f"{name}-{database}-witness"


def issued_certificates_name(name: str) -> str:
    """Return the name of the ConfigMap from which the observer knows the certificates of chassis and clients."""
    return f"{name}-issued-certificates"


def claim_name(name: str, database: Database, index: int) -> str:
    return f"data-{member_name(name, database, index)}"


def relay_name(name: str) -> str:
    """Return the name of the ConfigMap with how the relays of a control plane listen."""
    return f"{name}-relay"


def scripts_name(name: str) -> str:
    return f"{name}-scripts"


def northd_name(name: str) -> str:
    return f"{name}-northd"


def observer_name(name: str) -> str:
    return f"{name}-observer"


def leader_proxy_name(name: str) -> str:
    """Return the name of DaemonSet, ServiceAccount, Service and NetworkPolicy of the leader proxy."""
    return f"{name}-leader-proxy"


def lease_name(name: str) -> str:
    return f"{name}-run"


CONFIG_NAME = "ovn-config"


def member_host(name: str, database: Database, index: int, *, namespace: str, cluster_domain: str) -> str:
    """Return the full name of a member's pod: OVS resolves names itself and ignores search domains."""
    return f"{member_name(name, database, index)}.{database_name(name, database)}.{namespace}.svc.{cluster_domain}"


def raft_address(database: Database, index: int, *, name: str, namespace: str, cluster_domain: str, tls: bool) -> str:
    """Return the Raft address of a member. It is part of the member's identity."""
    host = member_host(name, database, index, namespace=namespace, cluster_domain=cluster_domain)
    return f"{'ssl' if tls else 'tcp'}:{host}:{PORTS[database].raft}"


_CONNECTIONS: dict[Database, str] = {
    "northbound": "nbConnection",
    "southbound": "sbConnection",
}  # in neutronIntegration


def service_names(specification: t.Mapping[str, t.Any], cluster: str, namespace: str, domain: str) -> list[str]:
    """Return all members (a wildcard for each headless Service), Neutron's Services, and the declared names. `domain` is that of the Kubernetes cluster."""
    services = [
        *(f"*.{cluster}-{database}" for database in DATABASES),
        *(
            _field(specification, "neutronIntegration", connection, "service", "name") or CLIENT_SERVICES[database]
            for database, connection in _CONNECTIONS.items()
        ),
    ]
    declared = [name for d in DATABASES for name in as_list(_field(specification, d, "service", "hostnames") or [])]
    return [
        *(f"{service}.{namespace}.svc{suffix}" for service in services for suffix in ("", f".{domain}")),
        *dict.fromkeys(declared),
    ]


def _field(specification: t.Any, *path: str) -> t.Any:
    for name in path:
        specification = (specification or {}).get(name)
    return specification
