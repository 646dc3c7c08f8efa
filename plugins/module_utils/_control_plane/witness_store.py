# SPDX-License-Identifier: GPL-3.0-or-later
"""What a run records of how new the files of all members are (R25), so that a pod that is recreated refuses an older copy of its volume."""

from __future__ import annotations

import typing as t

from .._api.names import Object
from .._api.witness_map import WitnessMap
from .._base.errors import Refused
from .._kubernetes.apply import Action, ObjectChange
from .._kubernetes.client import Cluster
from .._raft.cluster_witness import (
    ClusterWitness,
    MemberWitness,
    keep_members,
    merge_cluster_witness,
    reported_by_leader,
)
from .._raft.observation import Observation
from .._raft.record import Record


class WitnessStore:
    """The ConfigMap of one database; its content is read and changed through `map`. `manifest` is the observed one, None if there is none.

    Like the record it has no owner.
    """

    def __init__(self, cluster: Cluster, skeleton: Object, manifest: Object | None) -> None:
        self.cluster, self.skeleton = cluster, skeleton
        self.map = WitnessMap(self._read_or_create, self._write, manifest)

    def ensure(self, *, check_mode: bool) -> ObjectChange:
        """Create the ConfigMap if it is missing: the observer may write it, but not create it."""
        before = after = self.map.stored
        if before is None:
            after = {**self.skeleton, "data": {}}
            if not check_mode:
                after = self.map.stored = self.cluster.create(after)
        metadata = self.skeleton["metadata"]
        action: Action = "unchanged" if before is not None else "created"
        return ObjectChange("ConfigMap", metadata["name"], metadata["namespace"], action, before, after)

    def _read_or_create(self) -> Object:
        metadata = self.skeleton["metadata"]
        stored = self.cluster.get("v1", "ConfigMap", metadata["name"], metadata["namespace"])
        return stored if stored is not None else self.cluster.create({**self.skeleton, "data": {}})

    def _write(self, patch: Object) -> Object | None:
        metadata = self.skeleton["metadata"]
        try:
            return self.cluster.patch("v1", "ConfigMap", metadata["name"], metadata["namespace"], patch)
        except Refused as e:
            if e.details.get("http_status") != 404:
                raise
            return None


def known_members(record: Record, observations: t.Iterable[Observation]) -> set[str]:
    """Return the server ids of the recorded cluster: those on record, and those that run."""
    running = {o.sid for o in observations if o.sid and o.cid == record.cid}
    return running | {m.sid for m in record.members.values() if m.sid}


def observed_witness(
    record: Record, observations: t.Iterable[Observation], remembered: t.Mapping[str, ClusterWitness]
) -> ClusterWitness:
    """Return what is known now: the witness of each launcher (`remembered`, by member), and what leaders know."""
    observations = list(observations)
    sids = known_members(record, observations)
    found = ClusterWitness(record.cid)
    for o in observations:
        members: dict[str, MemberWitness] = {}
        sid = o.sid or o.file_sid
        if sid in sids and o.member in remembered and sid in remembered[o.member].members:
            members[sid] = remembered[o.member].members[sid]
        status = o.reported_answer.status if o.reported_answer else None
        if status is not None and status.cluster_id == record.cid:
            members.update(
                merge_cluster_witness(
                    ClusterWitness(record.cid, members), ClusterWitness(record.cid, reported_by_leader(status, sids))
                ).members
            )
        found = merge_cluster_witness(found, ClusterWitness(record.cid, members))
    return found


def of_recorded_cluster(stored: ClusterWitness, record: Record, sids: t.Collection[str]) -> ClusterWitness:
    """Return what is stored of members of the recorded cluster. Only the holder of the Lease may drop the rest."""
    return keep_members(stored if stored.cluster_id == record.cid else ClusterWitness(record.cid), sids)
