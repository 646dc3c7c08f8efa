# SPDX-License-Identifier: GPL-3.0-or-later
"""What a run records of how new the files of all members are (R25), so that a pod that is recreated refuses an older copy of its volume."""

from __future__ import annotations

import typing as t

from .._api.names import Object
from .._api.witness_map import WitnessMap
from .._base.errors import Changed, Conflict, InvalidInput, Refused
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
from .._raft.record import Record, parse_record, refuse_incomplete, render_files

# The state record of one database as a ConfigMap. It has no owner, so that it survives the custom resource, and each write names the version that it
# replaces, so that a run that was overtaken fails instead of overwriting.


class RecordStore:
    """The record of one database. `manifest` is the observed ConfigMap, None if there is none."""

    def __init__(self, cluster: Cluster, skeleton: dict[str, t.Any], manifest: dict[str, t.Any] | None) -> None:
        self.cluster, self.skeleton, self.manifest = cluster, skeleton, manifest

    @property
    def _place(self) -> str:
        metadata = self.skeleton["metadata"]
        return f"ConfigMap {metadata['name']} in namespace {metadata['namespace']}"

    def read(self) -> Record | None:
        """Return the record, None if none was ever written. One that is there but unreadable is an error: it must never pass for absent."""
        data = (self.manifest or {}).get("data") or {}
        if not data:
            return None
        if "record.json" not in data:
            raise InvalidInput(
                f"{self._place} is no state record: it has {', '.join(sorted(data))}, but no record.json. Restore it; nothing was changed."
            )
        try:
            record = parse_record(data["record.json"])
            refuse_incomplete(data, record)
        except InvalidInput as e:
            raise InvalidInput(f"{self._place} is refused: {e}") from e
        return record

    def ensure(self, *, check_mode: bool) -> ObjectChange:
        """Create the ConfigMap if it is missing: pods mount it, so it has to exist before they start; an empty one allows nothing."""
        before = after = self.manifest
        if before is None:
            after = {**self.skeleton, "data": {}}
            if not check_mode:
                after = self.manifest = self.cluster.create(after)
        metadata = self.skeleton["metadata"]
        action: Action = "unchanged" if before is not None else "created"
        return ObjectChange("ConfigMap", metadata["name"], metadata["namespace"], action, before, after)

    def write(self, record: Record, election_timer: int) -> None:
        """Replace it. `Changed` if another client wrote it since it was read; then it is read again."""
        stored = self.read()
        if stored is not None and record.revision <= stored.revision:
            raise Refused(
                f"{self._place} has revision {stored.revision} of the state record, this run would write revision {record.revision}. Run again."
            )
        body = {**self.skeleton, "data": render_files(record, election_timer)}
        metadata = body["metadata"]
        try:
            if self.manifest is None:
                self.manifest = self.cluster.create(body)
            else:
                version = {"resourceVersion": self.manifest["metadata"]["resourceVersion"]}
                self.manifest = self.cluster.replace({**body, "metadata": {**metadata, **version}})
        except Conflict as e:
            self.manifest = self.cluster.get("v1", "ConfigMap", metadata["name"], metadata["namespace"])
            raise Changed(f"{self._place} was written by another client at this moment.") from e


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
