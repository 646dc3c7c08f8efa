# SPDX-License-Identifier: GPL-3.0-or-later
"""The definitions of OVNCluster and OVNChassis. They belong to the whole Kubernetes cluster, so they have no owner, and a newer one stays."""

from __future__ import annotations

import typing as t

from .._base.errors import Refused
from .fields import Schema
from .hypervisor_spec import CHASSIS_SPEC
from .names import GROUP, MANAGER, Object
from .spec import CLUSTER_SPEC
from .status_schema import CHASSIS_STATUS, CLUSTER_STATUS

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
