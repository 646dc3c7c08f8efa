# SPDX-License-Identifier: GPL-3.0-or-later
"""What a host remembers of how far the logs of the members have come. The launcher writes it, and says in its header what the lines mean. Pure."""

from __future__ import annotations

import dataclasses
import typing as t

from .cluster_witness import Entry


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
