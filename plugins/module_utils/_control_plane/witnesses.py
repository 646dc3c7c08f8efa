# SPDX-License-Identifier: GPL-3.0-or-later
"""Witnesses of an older control plane (R30). Without a state record a database would be created, and an empty namespace is no proof that none
was ever there: volumes outlive claims, and the status of the resource and records under other names outlive volumes.
"""

from __future__ import annotations

import re
import typing as t

from .._api.names import Object, record_name, witness_name
from .._base.databases import Database
from .._base.errors import InvalidInput, Refused
from .._kubernetes.apply import ObjectChange, OnChange
from .._kubernetes.client import Cluster
from .._raft.cluster_witness import KEY, parse_cluster_witness
from .._raft.record import parse_record
from .desired import DesiredCluster
from .observed_state import ObservedCluster
from .storage import claims_of

CLUSTER_ID = "ovn.c5c3.io/cluster-id"  # annotation of a claim: the cluster whose member it holds
# Kubernetes deletes volumes of this policy; one that is listed is terminating.
_DELETED_WITH_CLAIM = "Delete"


def find_witnesses(
    cluster: Cluster,
    desired: DesiredCluster,
    observed: ObservedCluster,
    databases: t.Sequence[Database],
    *,
    warn: t.Callable[[str], object],
) -> dict[Database, tuple[str, ...]]:
    """Return sentences for each of these databases, none where there is no witness of an older one."""
    if not databases:
        return {}
    maps = cluster.list("v1", "ConfigMap", desired.namespace) if observed.namespace_object else []
    volumes: list[Object] = []
    try:
        volumes = cluster.list("v1", "PersistentVolume")
    except Refused as e:
        if e.details.get("http_status") != 403:
            raise
        warn(f"Volumes of an older control plane would not be noticed, because this user may not list volumes: {e}")
    return {
        d: (
            *volume_witnesses(volumes, desired, observed, d),
            *claim_witnesses(desired, observed, d),
            *status_witnesses(observed, d),
            *record_witnesses(maps, desired, d),
            *map_witnesses(maps, desired, d),
        )
        for d in databases
    }


def volume_witnesses(
    volumes: t.Iterable[Object], desired: DesiredCluster, observed: ObservedCluster, database: Database
) -> list[str]:
    """Return the volumes that deleted claims of ours left. Volumes of claims that exist are not among them: their launchers report what they hold."""
    ours = re.compile(f"data-{re.escape(desired.name)}-{database}-[0-9]+")
    there = {claim["metadata"]["uid"] for claim in claims_of(desired, observed, database)}
    found = []
    for volume in volumes:
        claim = volume["spec"].get("claimRef") or {}
        left = claim.get("namespace") == desired.namespace and ours.fullmatch(claim.get("name") or "")
        stays = volume["spec"].get("persistentVolumeReclaimPolicy") != _DELETED_WITH_CLAIM
        if left and stays and claim.get("uid") not in there:
            phase = (volume.get("status") or {}).get("phase", "unknown")
            found.append(f"PersistentVolume {volume['metadata']['name']} ({phase}) was that of {claim['name']}")
    return found


def claim_witnesses(desired: DesiredCluster, observed: ObservedCluster, database: Database) -> list[str]:
    found = []
    for claim in claims_of(desired, observed, database):
        metadata = claim["metadata"]
        cid = (metadata.get("annotations") or {}).get(CLUSTER_ID)
        if cid:
            found.append(f"PersistentVolumeClaim {metadata['name']} held a member of cluster {cid}")
    return found


def status_witnesses(observed: ObservedCluster, database: Database) -> list[str]:
    cid = (((observed.resource or {}).get("status") or {}).get(database) or {}).get("clusterId")
    return [f"the status of OVNCluster {observed.name} names cluster {cid}"] if cid else []


def record_witnesses(maps: t.Iterable[Object], desired: DesiredCluster, database: Database) -> list[str]:
    """Return the records under other names: of a control plane with another name, or copies."""
    found = []
    for one in maps:
        name = one["metadata"]["name"]
        text = (one.get("data") or {}).get("record.json")
        if text is None or name == record_name(desired.name, database):
            continue
        try:
            record = parse_record(text)
        except InvalidInput:
            continue
        if record.database == database and record.cid:
            found.append(f"ConfigMap {name} is a state record of cluster {record.cid}")
    return found


def map_witnesses(maps: t.Iterable[Object], desired: DesiredCluster, database: Database) -> list[str]:
    """Return the clusters that the witness map names: it stays when the record is deleted."""
    name = witness_name(desired.name, database)
    texts = [(one.get("data") or {}).get(KEY) or "" for one in maps if one["metadata"]["name"] == name]
    cids = [parse_cluster_witness(text).cluster_id for text in texts]
    return [f"ConfigMap {name} names members of cluster {cid}" for cid in cids if cid]


def annotate_claims(
    cluster: Cluster,
    desired: DesiredCluster,
    observed: ObservedCluster,
    database: Database,
    cid: str,
    *,
    check_mode: bool,
    on_change: OnChange,
) -> None:
    """Annotate each claim with the id of the cluster whose member it holds."""
    for claim in claims_of(desired, observed, database):
        metadata = claim["metadata"]
        if (metadata.get("annotations") or {}).get(CLUSTER_ID) == cid:
            continue
        after = claim
        if not check_mode:
            patch = {"metadata": {"uid": metadata["uid"], "annotations": {CLUSTER_ID: cid}}}
            after = cluster.patch("v1", "PersistentVolumeClaim", metadata["name"], desired.namespace, patch)
        on_change(ObjectChange("PersistentVolumeClaim", metadata["name"], desired.namespace, "changed", claim, after))
