# SPDX-License-Identifier: GPL-3.0-or-later
"""Judges volumes: whether the storage class of members to come exists. Pure."""

from __future__ import annotations

import typing as t

from .._api.names import Object, claim_name
from .._base.databases import DATABASES
from .._base.sentences import list_names
from .finding import Finding
from .observed_cluster import ObservedKubernetes

if t.TYPE_CHECKING:
    from .._api.spec import ClusterSpec

_DEFAULT = ("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")


def default_classes(storage_classes: t.Iterable[Object]) -> list[str]:
    """Return the names of the classes that are marked as the default."""
    return [
        str(one["metadata"]["name"])
        for one in storage_classes
        if any((one["metadata"].get("annotations") or {}).get(key) == "true" for key in _DEFAULT)
    ]


def claims_to_come(spec: ClusterSpec, claims: t.Iterable[Object]) -> dict[str | None, list[str]]:
    """Return the claims that a run would make, by their storage class; None is the default of the cluster."""
    there = {claim["metadata"]["name"] for claim in claims}
    missing: dict[str | None, list[str]] = {}
    for database in DATABASES:
        declared = spec.database(database)
        names = [claim_name(spec.name, database, index) for index in range(declared.replicas)]
        if new := [name for name in names if name not in there]:
            missing.setdefault(declared.storage.storage_class, []).extend(new)
    return missing


def judge_storage(spec: ClusterSpec, observed: ObservedKubernetes) -> list[Finding]:
    if observed.storage_classes is None:
        return []
    classes = [str(one["metadata"]["name"]) for one in observed.storage_classes]
    defaults = default_classes(observed.storage_classes)
    findings = []
    for name, claims in claims_to_come(spec, observed.claims or []).items():
        served = name in classes if name is not None else bool(defaults)
        # Volumes that an administrator made need no StorageClass, only the name.
        if served or observed.volumes is None or _free_volumes(observed.volumes, name) >= len(claims):
            continue
        there = (
            f"The classes of this cluster are {list_names(classes)}."
            if classes
            else "This cluster has no StorageClass."
        )
        waiting = f"{list_names(claims)} would wait for a volume forever"
        if name is None:
            findings.append(
                Finding(
                    "storage_class_default_missing",
                    f"OVNCluster {spec.namespace}/{spec.name}",
                    f"It names no storage class, and the cluster has no default one: {waiting}. {there}",
                    "Declare northbound.storage.storageClass and southbound.storage.storageClass (ovn_central_storage_class), or mark a class as default.",
                )
            )
        else:
            findings.append(
                Finding(
                    "storage_class_missing",
                    f"StorageClass {name}",
                    f"It does not exist: {waiting}. {there}",
                    "Correct storage.storageClass of the database (ovn_central_storage_class), or create the class.",
                )
            )
    return findings


def _free_volumes(volumes: t.Iterable[Object], storage_class: str | None) -> int:
    return sum(
        (volume.get("status") or {}).get("phase") == "Available"
        and (volume["spec"].get("storageClassName") or "") == (storage_class or "")
        for volume in volumes
    )
