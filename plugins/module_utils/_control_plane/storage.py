# SPDX-License-Identifier: GPL-3.0-or-later
"""Claims that exist: they grow when the specification says so, and never shrink. One that has a volume never moves (recreate_claims.py has those without)."""

from __future__ import annotations

import typing as t

from .._api.names import MANAGER, Object, claim_name
from .._base.databases import DATABASES, Database
from .._base.errors import Refused
from .._kubernetes.apply import ObjectChange, OnChange
from .._kubernetes.client import Cluster
from .._kubernetes.compare import parse_quantity
from .desired import DesiredCluster
from .observed_state import ObservedCluster


def claim_change(claim: Object, size: str, storage_class: str | None) -> Object | None:
    """Return the patch that makes one claim as large as declared, None if it is; `Refused` for what would need another volume."""
    name = claim["metadata"]["name"]
    there = claim["spec"]["resources"]["requests"]["storage"]
    if parse_quantity(size) < parse_quantity(there):
        raise Refused(
            f"PersistentVolumeClaim {name} has {there}, the specification says {size}. A volume does not shrink: declare {there} or more."
        )
    current = claim["spec"].get("storageClassName")
    if storage_class is not None and current is not None and storage_class != current and not is_empty(claim):
        what = (
            f"Data does not move to another class: declare {current}"
            if is_bound(claim)
            else "It was created by hand, or was given a volume or a data source: "
            f"{f'declare {current}' if current else 'leave storageClass out'}, or delete it and its pod"
        )
        raise Refused(
            f"PersistentVolumeClaim {name} has storage class {current}, the specification says {storage_class}. {what}. Without storageClass "
            "existing claims stay as they are, and new ones get the cluster's default."
        )
    if parse_quantity(size) == parse_quantity(there):
        return None
    return {"spec": {"resources": {"requests": {"storage": size}}}}


def claim_changes(desired: DesiredCluster, observed: ObservedCluster) -> list[tuple[Object, Object]]:
    """Return the claims that have to grow, each with its patch; `Refused` if one of them cannot."""
    changes: list[tuple[Object, Object]] = []
    for database in DATABASES:
        spec = desired.spec.database(database)
        for claim in claims_of(desired, observed, database):
            patch = claim_change(claim, spec.storage.size, spec.storage.storage_class)
            if patch and is_bound(claim):  # the API server changes none without a volume
                changes.append((claim, patch))
    return changes


def claims_of(desired: DesiredCluster, observed: ObservedCluster, database: Database) -> list[Object]:
    names = [claim_name(desired.name, database, index) for index in sorted(observed.claims(database))]
    return [claim for name in names if (claim := observed.get("v1", "PersistentVolumeClaim", name)) is not None]


def unbound_claims(desired: DesiredCluster, observed: ObservedCluster) -> list[str]:
    """Return the names of claims without a volume whose size is not the declared one."""
    found = []
    for database in DATABASES:
        spec = desired.spec.database(database)
        for claim in claims_of(desired, observed, database):
            if not is_bound(claim) and claim_change(claim, spec.storage.size, spec.storage.storage_class):
                found.append(claim["metadata"]["name"])
    return found


def is_bound(claim: Object) -> bool:
    return bool((claim.get("status") or {}).get("phase") == "Bound")


def is_empty(claim: Object) -> bool:
    """Return whether no data can be lost with the claim.

    Our StatefulSet created it, it never had a volume, waits for no particular one, and has no data source. Labels alone are no proof: a restored claim
    has them, too.
    """
    spec, ours = claim["spec"], (claim["metadata"].get("labels") or {}).get("app.kubernetes.io/managed-by") == MANAGER
    filled = any(spec.get(field) for field in ("volumeName", "selector", "dataSource", "dataSourceRef"))
    static = spec.get("storageClassName") == ""  # our templates name a class or none at all
    return ours and not filled and not static and not is_bound(claim)


def check_claims(cluster: Cluster, desired: DesiredCluster, observed: ObservedCluster) -> None:
    """Raise `Refused`, before anything is changed, if a claim would have to shrink, to move, or to grow although its storage class cannot.

    The API server would say so only after the OVNCluster was changed.
    """
    try:
        _refuse_fixed_size(cluster, claim_changes(desired, observed))
    except Refused as e:
        if e.details.get("http_status"):
            raise
        raise Refused(f"{e} Nothing was changed.", **e.details) from e


def _refuse_fixed_size(cluster: Cluster, changes: t.Sequence[tuple[Object, Object]]) -> None:
    for name in sorted({claim["spec"].get("storageClassName") or "" for claim, _patch in changes} - {""}):
        try:
            storage_class = cluster.get("storage.k8s.io/v1", "StorageClass", name)
        except Refused as e:
            if e.details.get("http_status") != 403:
                raise
            continue  # this user may not read it: the API server decides
        if storage_class is None or not storage_class.get("allowVolumeExpansion"):
            claims = ", ".join(
                c["metadata"]["name"] for c, _patch in changes if c["spec"].get("storageClassName") == name
            )
            raise Refused(
                f"{claims} would have to grow, but volumes of StorageClass {name} do not "
                f"({'allowVolumeExpansion is not true' if storage_class else 'there is no such StorageClass'}). "
                "Declare the size that they have."
            )


def grow_claims(
    cluster: Cluster, desired: DesiredCluster, observed: ObservedCluster, *, check_mode: bool, on_change: OnChange
) -> None:
    for claim, patch in claim_changes(desired, observed):
        name = claim["metadata"]["name"]
        after = {**claim, "spec": {**claim["spec"], **patch["spec"]}}
        if not check_mode:
            after = cluster.patch("v1", "PersistentVolumeClaim", name, desired.namespace, patch)
        on_change(ObjectChange("PersistentVolumeClaim", name, desired.namespace, "changed", claim, after))
