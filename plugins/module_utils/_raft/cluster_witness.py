# SPDX-License-Identifier: GPL-3.0-or-later
"""What a host remembers of how far the logs of the members have come. The launcher writes it, and says in its header what the lines mean. Pure."""

from __future__ import annotations

import dataclasses
import re
import typing as t

from .parse import ClusterStatus

# What Kubernetes keeps of how new the database files of all members are (R25): what a pod remembers itself ends with the pod. Pure. The text has the lines
# that the launcher reads as `OVN_RECORD_DIR/witness` (its header says what they mean), and one of our own that the launcher skips: `cluster CID`. Only
# committed entries that are on the member's disk are in it. So it is a lower bound, and merging takes the higher value.

KEY = "witness"  # of the ConfigMap, and so the name of the file in the pod
# A run that recreates no pod leaves smaller steps to the observer.
MEANINGFUL_ENTRIES = 100

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_DISK = re.compile(r"[0-9a-f-]*[0-9a-f][0-9a-f-]*")
_NUMBER = re.compile(r"[0-9]{1,15}")  # no longer than the launcher reads


class Entry(t.NamedTuple):
    """A log entry. Entries compare as Raft compares the ends of logs: the term first."""

    term: int
    log_index: int


class MemberWitness(t.NamedTuple):
    """The highest index and the last entry that are known to be committed and on this server's disk, and what the launcher calls that disk."""

    log_index: int
    disk: str = ""
    entry: Entry | None = None


@dataclasses.dataclass(frozen=True)
class ClusterWitness:
    """`members` maps whole server ids. They are all of the cluster `cluster_id`, None while nothing was written."""

    cluster_id: str | None = None
    members: t.Mapping[str, MemberWitness] = dataclasses.field(default_factory=dict)


def parse_cluster_witness(text: str) -> ClusterWitness:
    """Read the text. An unknown line is skipped: it may be of another version, or of the launcher alone."""
    cluster_id = None
    members: dict[str, MemberWitness] = {}
    for line in text.splitlines():
        kind, *fields = line.split() or [""]
        if kind == "cluster" and fields and _UUID.fullmatch(fields[0]):
            cluster_id = fields[0]
        if not fields or not _UUID.fullmatch(fields[0]) or not all(_NUMBER.fullmatch(field) for field in fields[1:2]):
            continue
        if kind == "server" and len(fields) > 1:
            disk = fields[2] if len(fields) > 2 and _DISK.fullmatch(fields[2]) else ""
            observed = MemberWitness(int(fields[1]), disk)
        elif kind == "committed" and len(fields) > 2 and _NUMBER.fullmatch(fields[2]):
            observed = MemberWitness(int(fields[2]), "", Entry(int(fields[1]), int(fields[2])))
        else:
            continue
        members[fields[0]] = _merged(members.get(fields[0]), observed)
    return ClusterWitness(cluster_id, members)


def render_cluster_witness(witness: ClusterWitness) -> str:
    """Return the text; equal witnesses give an equal one."""
    lines = [f"cluster {witness.cluster_id}"] if witness.cluster_id else []
    for sid, member in sorted(witness.members.items()):
        lines.append(f"server {sid} {member.log_index} {member.disk or '-'}")
        if member.entry is not None:
            lines.append(f"committed {sid} {member.entry.term} {member.entry.log_index}")
    return "".join(f"{line}\n" for line in lines)


def merge_cluster_witness(known: ClusterWitness, observed: ClusterWitness) -> ClusterWitness:
    """Return what both know together. No value is ever lowered, and a witness of another cluster than the known one does not count."""
    if known.cluster_id is not None and known.cluster_id != observed.cluster_id:
        return known
    members = dict(known.members)
    for sid, member in observed.members.items():
        members[sid] = _merged(members.get(sid), member)
    return ClusterWitness(observed.cluster_id, members)


def keep_members(witness: ClusterWitness, sids: t.Collection[str]) -> ClusterWitness:
    """Return the witness without servers that are no members any more: a file of theirs is refused by its server id."""
    return dataclasses.replace(witness, members={sid: m for sid, m in witness.members.items() if sid in sids})


def differs_meaningfully(stored: ClusterWitness, merged: ClusterWitness) -> bool:
    """Return whether more than a few entries are new: a member, a disk, a term, or many entries."""
    if stored.cluster_id != merged.cluster_id or stored.members.keys() != merged.members.keys():
        return True
    return any(
        member.disk != stored.members[sid].disk
        or _term(member) != _term(stored.members[sid])
        or member.log_index >= stored.members[sid].log_index + MEANINGFUL_ENTRIES
        for sid, member in merged.members.items()
    )


def reported_by_leader(status: ClusterStatus, sids: t.Iterable[str]) -> dict[str, MemberWitness]:
    """Return what the leader knows of each member, itself included. `sids` are whole ids: the leader's list has four digits of each.

    A member reports `match_index` after its disk has the entry. The log of a leader ends with an entry of its own term.
    """
    if status.role != "leader" or status.status != "cluster member":
        return {}
    whole: dict[str, list[str]] = {}
    for sid in sids:
        whole.setdefault(sid[:4], []).append(sid)
    committed = status.log_next - 1 - status.not_committed
    found = {}
    for server in status.servers:
        candidates = whole.get(server.sid, [])
        if len(candidates) != 1 or not server.match_index or server.phase is not None or committed < 1:
            continue
        newest = status.not_committed == 0 and server.match_index >= committed
        entry = Entry(status.term, committed) if newest else None
        found[candidates[0]] = MemberWitness(min(server.match_index, committed), "", entry)
    return found


def _merged(one: MemberWitness | None, two: MemberWitness) -> MemberWitness:
    if one is None:
        return two
    entries = [entry for entry in (one.entry, two.entry) if entry is not None]
    return MemberWitness(max(one.log_index, two.log_index), two.disk or one.disk, max(entries, default=None))


def _term(member: MemberWitness) -> int:
    return member.entry.term if member.entry is not None else 0


class LogTerms(t.NamedTuple):
    """What a launcher publishes of its server's log. `bounds` are ascending pairs of index and term: from this index on, up to the next pair.

    The last pair may be older than the latest election, so it gives a lowest term only. `lost` was committed and is not in the log any more.
    `committed` has the whole server id and the last entry that was known to be committed, which a server that is down remembers by it.
    """

    bounds: tuple[tuple[int, int], ...] = ()
    lost: Entry | None = None
    committed: tuple[str, Entry] | None = None

    def contradicts(self, entry: Entry) -> bool:
        """Return whether this log cannot hold a committed entry. Terms never fall along a log; what a snapshot has replaced is unknown."""
        before = [term for index, term in self.bounds if index <= entry.log_index]
        after = [term for index, term in self.bounds if index > entry.log_index]
        highest = (before[-1] if before else after[0]) if after else entry.term
        return entry.term > highest or bool(before and entry.term < before[-1])


def parse_log_terms(text: str) -> LogTerms:
    """Read the lines of the launcher: `term INDEX TERM`, `lost TERM INDEX`, `committed SERVER-ID TERM INDEX`. An unknown line is skipped."""
    bounds, lost, committed = list[tuple[int, int]](), None, None
    for line in text.splitlines():
        kind, *fields = line.split() or [""]
        numbers = [number for number in map(number_or_none, fields) if number is not None]
        if kind == "term" and len(numbers) == 2:
            bounds.append((numbers[0], numbers[1]))
        elif kind == "lost" and len(numbers) == 2:
            lost = Entry(*numbers)
        elif kind == "committed" and len(fields) == 3 and len(numbers) == 2:
            committed = fields[0], Entry(*numbers)
    return LogTerms(tuple(bounds), lost, committed)


@dataclasses.dataclass(frozen=True)
class Witness:
    """`servers` maps whole server ids of this host to indexes, `peers` the first four digits of others' ids. Indexes are of committed log entries.

    `stopped` has the ends of the logs at the last clean stop, which need not be committed: the others may have replaced those entries since.
    `entries` has the last committed entry of each server of this host.
    """

    servers: dict[str, int] = dataclasses.field(default_factory=dict)
    peers: dict[str, int] = dataclasses.field(default_factory=dict)
    stopped: dict[str, int] = dataclasses.field(default_factory=dict)
    entries: dict[str, Entry] = dataclasses.field(default_factory=dict)

    def index_of(self, sid: str | None) -> int | None:
        """Return the highest index that this server is known to have had, None if nothing is known."""
        if not sid:
            return None
        found = (self.servers.get(sid), self.peers.get(sid[:4]), self.stopped.get(sid))
        return max((index for index in found if index is not None), default=None)

    def by_short_sid(self) -> dict[str, int]:
        """Return the highest committed index of every server that is known here, by the first four digits of its id."""
        highest = dict(self.peers)
        for sid, index in self.servers.items():
            highest[sid[:4]] = max(index, highest.get(sid[:4], 0))
        return highest


def parse_witness(text: str) -> Witness:
    """Read the lines of one or several witness files. An unknown line is skipped: the file may be of a newer launcher."""
    servers: dict[str, int] = {}
    peers: dict[str, int] = {}
    stopped: dict[str, int] = {}
    entries: dict[str, Entry] = {}
    for line in text.splitlines():
        kind, *fields = line.split() or [""]
        # `committed` and `stopped` name the term before the index.
        position = {"server": 1, "committed": 2, "stopped": 2, "peer": 1}.get(kind)
        if (
            position is None
            or len(fields) <= position
            or not (fields[position].isascii() and fields[position].isdigit())
        ):
            continue
        known = {"peer": peers, "stopped": stopped}.get(kind, servers)
        known[fields[0]] = max(int(fields[position]), known.get(fields[0], 0))
        term = number_or_none(fields[1]) if kind == "committed" else None
        if term is not None:
            entry = Entry(term, int(fields[position]))
            entries[fields[0]] = max(entry, entries.get(fields[0], entry))
    return Witness(servers, peers, stopped, entries)


def number_or_none(text: str | None) -> int | None:
    """Read an index or a term of the launcher's output."""
    return int(text) if text and text.isascii() and text.isdigit() else None
