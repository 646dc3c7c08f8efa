# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

Who else knows of an older control plane (R30). Without a state record a database would be created, and an empty namespace is no proof that none
was ever there: volumes outlive claims, and the status of the resource and records under other names outlive volumes.
"""

from __future__ import annotations

import re
import typing as t

from .._api.names import Object, record_name, witness_name
from .._databases import Database
from .._errors import InvalidInput, Refused
from .._kubernetes.apply import Note, ObjectChange
from .._kubernetes.client import Cluster
from .._raft.cluster_witness import KEY, parse_cluster_witness
from .._raft.record import parse_record
from .desired import DesiredCluster
from .observed_state import ObservedCluster
from .storage import claims_of

CLUSTER_ID = "ovn.c5c3.io/cluster-id"  # annotation of a claim: the cluster whose member it holds
# Volumes of this policy go by themselves; one that is seen is on its way out.
_GOES = "Delete"


def find_witnesses(
    cluster: Cluster,
    wanted: DesiredCluster,
    live: ObservedCluster,
    databases: t.Sequence[Database],
    *,
    warn: t.Callable[[str], object],
) -> dict[Database, tuple[str, ...]]:
    """Sentences for each of these databases, empty where nobody knows of an older one."""
    if not databases:
        return {}
    maps = cluster.list("v1", "ConfigMap", wanted.namespace) if live.namespace else []
    volumes: list[Object] = []
    try:
        volumes = cluster.list("v1", "PersistentVolume")
    except Refused as e:
        if e.details.get("http_status") != 403:
            raise
        warn(f"Volumes of an older control plane would not be noticed, because this user may not look at volumes: {e}")
    return {
        d: (
            *of_volumes(volumes, wanted, live, d),
            *of_claims(wanted, live, d),
            *of_status(live, d),
            *of_records(maps, wanted, d),
            *of_witnesses(maps, wanted, d),
        )
        for d in databases
    }


def of_volumes(
    volumes: t.Iterable[Object], wanted: DesiredCluster, live: ObservedCluster, database: Database
) -> list[str]:
    """Volumes that claims of ours left. A claim that is there has its volume, and its launcher tells what it holds."""
    ours = re.compile(f"data-{re.escape(wanted.name)}-{database}-[0-9]+")
    there = {claim["metadata"]["uid"] for claim in claims_of(wanted, live, database)}
    found = []
    for volume in volumes:
        claim = volume["spec"].get("claimRef") or {}
        left = claim.get("namespace") == wanted.namespace and ours.fullmatch(claim.get("name") or "")
        stays = volume["spec"].get("persistentVolumeReclaimPolicy") != _GOES
        if left and stays and claim.get("uid") not in there:
            phase = (volume.get("status") or {}).get("phase", "unknown")
            found.append(f"PersistentVolume {volume['metadata']['name']} ({phase}) was that of {claim['name']}")
    return found


def of_claims(wanted: DesiredCluster, live: ObservedCluster, database: Database) -> list[str]:
    found = []
    for claim in claims_of(wanted, live, database):
        metadata = claim["metadata"]
        cid = (metadata.get("annotations") or {}).get(CLUSTER_ID)
        if cid:
            found.append(f"PersistentVolumeClaim {metadata['name']} held a member of cluster {cid}")
    return found


def of_status(live: ObservedCluster, database: Database) -> list[str]:
    cid = (((live.resource or {}).get("status") or {}).get(database) or {}).get("clusterId")
    return [f"the status of OVNCluster {live.name} names cluster {cid}"] if cid else []


def of_records(maps: t.Iterable[Object], wanted: DesiredCluster, database: Database) -> list[str]:
    """Records under other names: of a control plane that was called otherwise, or copies."""
    found = []
    for one in maps:
        name = one["metadata"]["name"]
        text = (one.get("data") or {}).get("record.json")
        if text is None or name == record_name(wanted.name, database):
            continue
        try:
            record = parse_record(text)
        except InvalidInput:
            continue
        if record.database == database and record.cid:
            found.append(f"ConfigMap {name} is a state record of cluster {record.cid}")
    return found


def of_witnesses(maps: t.Iterable[Object], wanted: DesiredCluster, database: Database) -> list[str]:
    """What was known of the members of a cluster stays when its record is deleted."""
    name = witness_name(wanted.name, database)
    texts = [(one.get("data") or {}).get(KEY) or "" for one in maps if one["metadata"]["name"] == name]
    cids = [parse_cluster_witness(text).cluster_id for text in texts]
    return [f"ConfigMap {name} tells of members of cluster {cid}" for cid in cids if cid]


def mark_claims(
    cluster: Cluster,
    wanted: DesiredCluster,
    live: ObservedCluster,
    database: Database,
    cid: str,
    *,
    check_mode: bool,
    note: Note,
) -> None:
    """Write on each claim of which cluster it holds a member."""
    for claim in claims_of(wanted, live, database):
        metadata = claim["metadata"]
        if (metadata.get("annotations") or {}).get(CLUSTER_ID) == cid:
            continue
        after = claim
        if not check_mode:
            patch = {"metadata": {"uid": metadata["uid"], "annotations": {CLUSTER_ID: cid}}}
            after = cluster.patch("v1", "PersistentVolumeClaim", metadata["name"], wanted.namespace, patch)
        note(ObjectChange("PersistentVolumeClaim", metadata["name"], wanted.namespace, "changed", claim, after))
