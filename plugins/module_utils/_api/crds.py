# SPDX-License-Identifier: GPL-3.0-or-later
"""The definitions of OVNCluster and OVNChassis. They belong to the whole Kubernetes cluster, so they have no owner, and a newer one stays."""

from __future__ import annotations

import typing as t

from .._base.errors import Refused
from .declaration import Schema, listing, number, record, text
from .hypervisor_clusters import hypervisor_clusters_status
from .hypervisor_spec import CHASSIS_SPEC
from .names import GROUP, MANAGER, Object
from .spec import CLUSTER_SPEC

# The fields of `OVNCluster.status` and `OVNChassis.status`.

_TIME = {"type": "string", "format": "date-time"}
_MANY = 2**31 - 1

_REASON = "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"  # as metav1.Condition has it, and what it requires
_CONDITIONS = listing(
    "What is true of it.",
    record(
        "One condition.",
        {
            "type": text("Name of the condition.", maxLength=316),
            "status": text("True, False or Unknown.", enum=["True", "False", "Unknown"]),
            "reason": text("One word for the cause.", minLength=1, maxLength=1024, pattern=_REASON),
            "message": text("The cause for people.", maxLength=32768),
            "lastTransitionTime": {**_TIME, "description": "When the status last changed."},
            "observedGeneration": {
                "type": "integer",
                "format": "int64",
                "description": "Generation that this is about.",
            },
        },
        required=["type", "status", "reason", "message", "lastTransitionTime"],
    ),
    **{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]},
)


def _database_status(title: str) -> Schema:
    member = record(
        "One member.",
        {
            "name": text("Name of its pod.", maxLength=253),
            "serverId": text("Server id.", maxLength=36),
            "role": text("leader, follower or candidate.", maxLength=32),
            "connected": {"type": "boolean", "description": "Whether it has a connection to a majority."},
        },
        required=["name"],
    )
    return record(
        f"The {title} database as all its members together show it.",
        {
            "verdict": text("healthy, degraded, no_quorum, split, diverged, forming or unreachable.", maxLength=32),
            "writable": {"type": "boolean", "description": "Whether there is a majority that takes writes."},
            "clusterId": text("Raft cluster id. For display: the record decides.", maxLength=36),
            "leader": text("Member that leads.", maxLength=253),
            "members": listing(
                "Members of the record.",
                member,
                **{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]},
            ),
        },
    )


CLUSTER_STATUS = record(
    "Observed state.",
    {
        "observedGeneration": {
            "type": "integer",
            "format": "int64",
            "description": "Generation of the spec that all pods have; the condition UpToDate reports a newer one.",
        },
        "conditions": _CONDITIONS,
        "endpoints": record(
            "Every member of each database, as a list with commas: outside addresses if the members are exposed.",
            {
                "northbound": text("For example ssl:192.0.2.11:30641,ssl:192.0.2.12:30641.", maxLength=4096),
                "southbound": text("For example ssl:192.0.2.11:30642,ssl:192.0.2.12:30642.", maxLength=4096),
                "southboundUnrestricted": text(
                    "The ports of the Southbound without a role, for clients like Neutron; empty if members are exposed for chassis alone.",
                    maxLength=4096,
                ),
                "serviceNorthbound": text(
                    "The Service in front of all Northbound members, for clients in this Kubernetes cluster that take no list, for example "
                    "ssl:ovn-nb.ovn-system.svc.cluster.local:6641.",
                    maxLength=512,
                ),
                "serviceSouthbound": text(
                    "The same for the Southbound, to its port without a role: for clients like Neutron, not for chassis.",
                    maxLength=512,
                ),
                "northboundClusterIPs": text(
                    "Every Northbound member by the address of its Service, for clients in this Kubernetes cluster that cannot resolve names, for example "
                    "ssl:10.96.0.11:6641,ssl:10.96.0.12:6641. Absent until each Service has one.",
                    maxLength=4096,
                ),
                "southboundUnrestrictedClusterIPs": text(
                    "The same for the ports of the Southbound without a role. Absent also where members are exposed for chassis alone.",
                    maxLength=4096,
                ),
                "leaderProxyNorthbound": text(
                    "The leader proxy (leaderProxy) of the node of whoever connects, for clients in this Kubernetes cluster, for example ssl:10.96.0.21:6641. "
                    "Absent until it runs on all its nodes, and if it is not published.",
                    maxLength=512,
                ),
                "leaderProxySouthbound": text(
                    "The same for the Southbound, to its port without a role.", maxLength=512
                ),
            },
        ),
        "chassisCount": number("Chassis in the Southbound database.", 0, _MANY),
        "activeControllers": number("Chassis whose ovn-controller is alive.", 0, _MANY),
        "certificateNotAfter": {
            **_TIME,
            "description": "When the first of the certificates ends that the members serve. Absent without TLS.",
        },
        "hypervisorClusters": hypervisor_clusters_status(),
        "northbound": _database_status("Northbound"),
        "southbound": _database_status("Southbound"),
    },
)

CHASSIS_STATUS = record(
    "Observed state.",
    {
        "observedGeneration": {
            "type": "integer",
            "format": "int64",
            "description": "Generation of the spec that this is about.",
        },
        "conditions": _CONDITIONS,
        "registeredAt": {**_TIME, "description": "When the chassis was first observed in the Southbound database."},
        "lastHeartbeat": {**_TIME, "description": "When ovn-controller last answered."},
    },
)


# Raise it with every change of a released schema. A definition with a higher number is never overwritten.
REVISION = 1
REVISION_ANNOTATION = f"{GROUP}/schema-revision"


def custom_resource_definitions() -> list[Object]:
    """Return both definitions, as they are applied."""
    return [
        _definition(
            "OVNCluster",
            "ovnclusters",
            "ovnc",
            "Namespaced",
            "An OVN control plane, and what its hypervisors have in common.",
            CLUSTER_SPEC,
            CLUSTER_STATUS,
            _cluster_columns(),
        ),
        _definition(
            "OVNChassis",
            "ovnchassis",
            "ovnch",
            "Cluster",
            "One hypervisor, made from its Node.",
            CHASSIS_SPEC,
            CHASSIS_STATUS,
            _chassis_columns(),
        ),
    ]


def _cluster_columns() -> list[Object]:
    """Return what `kubectl get ovnclusters` prints."""
    return [
        _condition("Ready", "Ready"),
        _column("Northbound", "string", ".status.northbound.verdict"),
        _column("Southbound", "string", ".status.southbound.verdict"),
        _column("Chassis", "integer", ".status.chassisCount"),
        _column("Age", "date", ".metadata.creationTimestamp"),
        _column("NB endpoints", "string", ".status.endpoints.northbound", 1),
        _column("SB endpoints", "string", ".status.endpoints.southbound", 1),
    ]


def _chassis_columns() -> list[Object]:
    """Return what `kubectl get ovnchassis` prints."""
    return [
        _column("System id", "string", ".spec.systemId"),
        _column("Encapsulation", "string", ".spec.encapsulation.ip"),
        _condition("Ready", "Ready"),
        _condition("OVS", "OVSConnected"),
        _condition("Datapath", "DatapathHealthy"),
        _column("Heartbeat", "date", ".status.lastHeartbeat"),
        _column("Age", "date", ".metadata.creationTimestamp"),
        _column("Hostname", "string", ".spec.hostname", 1),
    ]


def revision_of(observed: t.Mapping[str, t.Any]) -> int | None:
    """Return the revision of a definition in the cluster, 0 without one; None if it is no number, as an unknown version may write it."""
    revision = str((observed["metadata"].get("annotations") or {}).get(REVISION_ANNOTATION, "0"))
    return int(revision) if revision.isdecimal() else None


def check_revision(observed: t.Mapping[str, t.Any] | None) -> None:
    """Refuse to go on with an older schema than the one in the cluster: our objects would lose its fields."""
    if observed is None:
        return
    revision = revision_of(observed)
    if revision is None or revision > REVISION:
        shown = (observed["metadata"].get("annotations") or {}).get(REVISION_ANNOTATION)
        raise Refused(
            f"CustomResourceDefinition {observed['metadata']['name']} has schema revision {shown}, this version of the collection knows {REVISION}: "
            "it was written by a newer version. Update the collection c5c3.ovn; nothing was changed."
        )


def _definition(
    kind: str,
    plural: str,
    short: str,
    scope: str,
    description: str,
    spec: Schema,
    status: Schema,
    columns: list[Object],
) -> Object:
    version = {
        "name": "v1alpha1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": _schema(description, spec, status)},
        "subresources": {"status": {}},
        "additionalPrinterColumns": columns,
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": f"{plural}.{GROUP}",
            "labels": {"app.kubernetes.io/name": "ovn", "app.kubernetes.io/managed-by": MANAGER},
            "annotations": {REVISION_ANNOTATION: str(REVISION)},
        },
        "spec": {
            "group": GROUP,
            "scope": scope,
            "names": {
                "kind": kind,
                "listKind": f"{kind}List",
                "plural": plural,
                "singular": kind.lower(),
                "shortNames": [short],
                "categories": ["ovn"],
            },
            "versions": [version],
        },
    }


def _schema(description: str, spec: Schema, status: Schema) -> Schema:
    return {
        "type": "object",
        "description": description,
        "properties": {"spec": spec, "status": status},
        **({} if "default" in spec else {"required": ["spec"]}),
    }


def _column(name: str, kind: str, path: str, priority: int = 0) -> Object:
    column: Object = {"name": name, "type": kind, "jsonPath": path}
    return {**column, "priority": priority} if priority else column


def _condition(name: str, condition: str) -> Object:
    return _column(name, "string", f'.status.conditions[?(@.type=="{condition}")].status')
