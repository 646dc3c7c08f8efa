# SPDX-License-Identifier: GPL-3.0-or-later
"""Records between runs how new the members' files are (R25). Over the network the observer reads indexes, never a term or a disk: what runs have recorded
of those is kept.
"""

from __future__ import annotations

import typing as t

from .._api.witness_map import WitnessMap
from .._raft.answer import Answer
from .._raft.cluster_witness import ClusterWitness, MemberWitness, merge_cluster_witness
from .._raft.lag import Sample
from .api_client import Api

# A server reports an entry when it is committed, shortly before its own disk has it. A file that a power failure has truncated is no old copy.
ON_DISK_SECONDS = 5.0
_EVERY = 10.0  # seconds between two writes of one database
_READ_AGAIN = 60.0  # seconds after which a run may have reset what was written


class WitnessWriter:
    """The ConfigMap of one database at `path`. The observer may not create it: runs do."""

    def __init__(self, api: Api, path: str) -> None:
        self._map = WitnessMap(lambda: api.get(path), lambda patch: api.patch(path, patch))
        self._last, self._checked = -_EVERY, -_READ_AGAIN

    def write(self, cluster_id: str | None, indexes: t.Mapping[str, int], now: float) -> None:
        """Write the indexes that are higher than the stored ones. `indexes` is by server id, `now` in seconds of a monotonic clock."""
        if cluster_id is None or not indexes or now - self._last < _EVERY:
            return
        self._last = now
        if now - self._checked >= _READ_AGAIN:
            self._checked = now
            self._map.read_text()
        seen = ClusterWitness(cluster_id, {sid: MemberWitness(index) for sid, index in indexes.items()})
        self._map.update(lambda stored: merge_cluster_witness(stored, seen))


def indexes_on_disk(
    members: t.Iterable[tuple[Answer | None, t.Sequence[Sample]]], cluster_id: str | None, now: float
) -> dict[str, int]:
    """Return the highest index that is on the disk of each server of this cluster, by its id. `members` has each answer with its samples."""
    found: dict[str, int] = {}
    for answer, samples in members:
        if answer is None or answer.server is None or not answer.server_id or answer.cluster_id != cluster_id:
            continue
        old = [sample.log_index for sample in samples if now - sample.time >= ON_DISK_SECONDS]
        if old:
            found[answer.server_id] = max(old)
    return found
