# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

The definitions of OVNCluster and OVNChassis. They belong to the whole Kubernetes cluster, so they have no owner, and a newer one stays.
"""

from __future__ import annotations

import typing as t

from .._errors import Refused
from .names import GROUP, MANAGER, Object
from .schema import CHASSIS_SPEC, CLUSTER_SPEC, Schema, listing, number, record, text

# Raise it with every change of a schema. A definition with a higher number is never overwritten.
REVISION = 1
REVISION_ANNOTATION = f"{GROUP}/schema-revision"


def custom_resource_definitions() -> list[Object]:
    """Both definitions, as they are applied."""
    return [
        _definition(
            "OVNCluster",
            "ovnclusters",
            "ovnc",
            "Namespaced",
            "An OVN control plane, and what its hypervisors have in common.",
            CLUSTER_SPEC,
            CLUSTER_STATUS,
            [
                _condition("Ready", "Ready"),
                _column("Northbound", "string", ".status.northbound.verdict"),
                _column("Southbound", "string", ".status.southbound.verdict"),
                _column("Chassis", "integer", ".status.chassisCount"),
                _column("Age", "date", ".metadata.creationTimestamp"),
                _column("NB endpoints", "string", ".status.endpoints.northbound", 1),
                _column("SB endpoints", "string", ".status.endpoints.southbound", 1),
            ],
        ),
        _definition(
            "OVNChassis",
            "ovnchassis",
            "ovnch",
            "Cluster",
            "One hypervisor, made from its Node.",
            CHASSIS_SPEC,
            CHASSIS_STATUS,
            [
                _column("System id", "string", ".spec.systemId"),
                _column("Encapsulation", "string", ".spec.encapsulation.ip"),
                _condition("Ready", "Ready"),
                _condition("OVS", "OVSConnected"),
                _column("Heartbeat", "date", ".status.lastHeartbeat"),
                _column("Age", "date", ".metadata.creationTimestamp"),
                _column("Hostname", "string", ".spec.hostname", 1),
            ],
        ),
    ]


def check_revision(live: t.Mapping[str, t.Any] | None) -> None:
    """Refuse to go on with an older schema than the one in the cluster: our objects would lose its fields."""
    if live is None:
        return
    annotations = live["metadata"].get("annotations") or {}
    revision = str(annotations.get(REVISION_ANNOTATION, "0"))
    if not revision.isdecimal() or int(revision) > REVISION:
        raise Refused(
            f"CustomResourceDefinition {live['metadata']['name']} has schema revision {revision}, this version of the collection knows {REVISION}: "
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
    schema = {
        "type": "object",
        "description": description,
        "properties": {"spec": spec, "status": status},
        **({} if "default" in spec else {"required": ["spec"]}),
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
            "versions": [
                {
                    "name": "v1alpha1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": schema},
                    "subresources": {"status": {}},
                    "additionalPrinterColumns": columns,
                }
            ],
        },
    }


def _column(name: str, kind: str, path: str, priority: int = 0) -> Object:
    column: Object = {"name": name, "type": kind, "jsonPath": path}
    return {**column, "priority": priority} if priority else column


def _condition(name: str, condition: str) -> Object:
    return _column(name, "string", f'.status.conditions[?(@.type=="{condition}")].status')


_TIME = {"type": "string", "format": "date-time"}
_MANY = 2**31 - 1

_CONDITIONS = listing(
    "What is true of it.",
    record(
        "One condition.",
        {
            "type": text("Name of the condition.", maxLength=316),
            "status": text("True, False or Unknown.", enum=["True", "False", "Unknown"]),
            "reason": text("One word for the cause.", maxLength=1024),
            "message": text("The cause in words.", maxLength=32768),
            "lastTransitionTime": {**_TIME, "description": "When the status last changed."},
            "observedGeneration": {
                "type": "integer",
                "format": "int64",
                "description": "Generation that this is about.",
            },
        },
        required=["type", "status"],
    ),
    **{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]},
)


def _database_status(title: str) -> Schema:
    member = record(
        "One member.",
        {
            "name": text("Name of its pod.", maxLength=253),
            "address": text("Raft address.", maxLength=512),
            "serverId": text("Server id.", maxLength=36),
            "role": text("leader, follower or candidate.", maxLength=32),
            "state": text("State in the record.", maxLength=32),
            "reachable": {"type": "boolean", "description": "Whether it answered."},
            "connected": {"type": "boolean", "description": "Whether it has a connection to a majority."},
        },
        required=["name"],
    )
    reason = record(
        "One thing that is not as it should be.",
        {
            "code": text("One word for it.", maxLength=64),
            "member": text("Member that it is about.", maxLength=512),
            "message": text("The same in words.", maxLength=4096),
        },
    )
    return record(
        f"The {title} database as all its members together show it.",
        {
            "verdict": text("healthy, degraded, no_quorum, split, forming or unreachable.", maxLength=32),
            "writable": {"type": "boolean", "description": "Whether there is a majority that takes writes."},
            "clusterId": text("Raft cluster id. For display: the record decides.", maxLength=36),
            "leader": text("Member that leads.", maxLength=253),
            "term": {"type": "integer", "format": "int64", "description": "Raft term of the leader."},
            "electionTimer": number("Election timer in use, in milliseconds.", 0, _MANY),
            "members": listing(
                "Members of the record.",
                member,
                **{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]},
            ),
            "reasons": listing("Why the verdict is not healthy.", reason, 256, **{"x-kubernetes-list-type": "atomic"}),
        },
    )


CLUSTER_STATUS = record(
    "What was seen last.",
    {
        "observedGeneration": {
            "type": "integer",
            "format": "int64",
            "description": "Generation of the spec that was rolled out.",
        },
        "conditions": _CONDITIONS,
        "endpoints": record(
            "Every member of each database, as a list with commas: outside addresses if the members are exposed.",
            {
                "northbound": text("For example ssl:192.0.2.11:30641,ssl:192.0.2.12:30641.", maxLength=4096),
                "southbound": text("For example ssl:192.0.2.11:30642,ssl:192.0.2.12:30642.", maxLength=4096),
                "northboundInside": text("The same for clients in this Kubernetes cluster.", maxLength=4096),
                "southboundInside": text("The same for clients in this Kubernetes cluster.", maxLength=4096),
            },
        ),
        "chassisCount": number("Chassis in the Southbound database.", 0, _MANY),
        "activeControllers": number("Chassis whose ovn-controller is alive.", 0, _MANY),
        "northbound": _database_status("Northbound"),
        "southbound": _database_status("Southbound"),
    },
)

CHASSIS_STATUS = record(
    "What was seen last.",
    {
        "observedGeneration": {
            "type": "integer",
            "format": "int64",
            "description": "Generation of the spec that this is about.",
        },
        "conditions": _CONDITIONS,
        "registeredAt": {**_TIME, "description": "When the chassis was first seen in the Southbound database."},
        "lastHeartbeat": {**_TIME, "description": "When ovn-controller last answered."},
    },
)
