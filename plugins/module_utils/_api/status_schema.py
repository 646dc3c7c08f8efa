# SPDX-License-Identifier: GPL-3.0-or-later
"""The fields of `OVNCluster.status` and `OVNChassis.status`."""

from __future__ import annotations

from .fields import Schema, listing, number, record, text
from .hypervisor_clusters import hypervisor_clusters_status

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
