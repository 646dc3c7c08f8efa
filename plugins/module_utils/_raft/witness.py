# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

What a host remembers of how far the logs of the members have come. The launcher writes it, and says in its header what the lines mean. Pure.
"""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class Witness:
    """`servers` maps whole server ids of this host to indexes, `peers` the first four digits of others' ids. Indexes are of committed log entries.

    `stopped` has the ends of the logs at the last clean stop, which need not be committed: the others may have replaced those entries since.
    """

    servers: dict[str, int] = dataclasses.field(default_factory=dict)
    peers: dict[str, int] = dataclasses.field(default_factory=dict)
    stopped: dict[str, int] = dataclasses.field(default_factory=dict)

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
    return Witness(servers, peers, stopped)


def number_or_none(text: str | None) -> int | None:
    """Read an index or a term of the launcher's output."""
    return int(text) if text and text.isascii() and text.isdigit() else None
