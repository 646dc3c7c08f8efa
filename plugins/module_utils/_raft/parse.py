# SPDX-License-Identifier: GPL-3.0-or-later
"""The text of `cluster/status`, as ovsdb-server prints it since Open vSwitch 2.16, in a form that can be reasoned about.

Records are named tuples: a module that runs as often as a ping cannot afford the time that making dataclasses takes.
"""

from __future__ import annotations

import functools
import re
import typing as t

from .._base.errors import BadAnswer


class Link(t.NamedTuple):
    """One Raft connection of the server that answers. `sid` is 4 digits, 0000 until the peer has sent its id."""

    sid: str
    outgoing: bool
    connected: bool

    def __str__(self) -> str:
        text = f"{'->' if self.outgoing else '<-'}{self.sid}"
        return text if self.connected else f"({text})"


class Change(t.NamedTuple):
    """A membership change in progress, known to the leader only."""

    kind: str  # adding | removing
    sid: str
    address: str
    phase: str


class ListedServer(t.NamedTuple):
    """One line of `Servers:`, the configuration as the server that answers knows it."""

    sid: str  # the first 4 digits; more are not printed
    address: str
    is_self: bool
    phase: str | None  # "adding: committing" and the like
    voted_for: str | None
    next_index: int | None  # this and match_index: on the leader only
    match_index: int | None
    last_message: int | None  # milliseconds ago; on a follower only the leader's value means something


class ClusterStatus(t.NamedTuple):
    """One server's own view. It is no proof of the state of the cluster."""

    name: str
    cluster_id: str | None
    server_id: str
    address: str
    status: str
    remotes: tuple[str, ...]
    changes: tuple[Change, ...]
    role: str  # leader | follower | candidate
    term: int
    leader: str  # self, unknown, or the nickname of a peer
    vote: str
    election_started: int | None  # milliseconds ago
    election_reason: str | None
    election_won: int | None  # milliseconds ago
    election_timer: int  # milliseconds
    election_timer_target: int | None  # while a change is pending
    log_start: int
    log_next: int
    not_committed: int
    not_applied: int
    links: tuple[Link, ...]
    disconnections: int
    servers: tuple[ListedServer, ...]
    unknown_lines: tuple[str, ...]

    @property
    def sid(self) -> str:
        """Return the name of this server in the lists of others: the first 4 digits of its id."""
        return self.server_id[:4]

    @property
    def joining(self) -> bool:
        return self.status == "joining cluster"

    @property
    def leader_sid(self) -> str | None:
        """Return the first 4 digits of the leader's id, None while no leader is known."""
        if self.leader == "self":
            return self.sid
        return None if self.leader == "unknown" else self.leader

    def listed(self, sid: str) -> ListedServer | None:
        return next((server for server in self.servers if server.sid == sid), None)

    def linked(self, sid: str) -> tuple[bool, bool]:
        """Return whether `sid` is connected (incoming, outgoing). An outgoing link to 0000 may be the missing one."""
        up = {(link.sid, link.outgoing) for link in self.links if link.connected}
        return (sid, False) in up, (sid, True) in up or ("0000", True) in up


_UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_LINES = {
    "name": r"Name: (\S+)",
    "cluster_id": rf"Cluster ID: (?:[0-9a-f]{{4}} \(({_UUID})\)|not yet known)",
    "server_id": rf"Server ID: [0-9a-f]{{4}} \(({_UUID})\)",
    "address": r"Address: (\S+)",
    "status": r"Status: (\S.*)",
    "role": r"Role: (leader|follower|candidate)",
    "term": r"Term: (\d+)",
    "leader": r"Leader: (\S+)",
    "vote": r"Vote: (\S+)",
    "election_timer": r"Election timer: (\d+)(?: \(changing to (\d+)\))?",
    "log": r"Log: \[(\d+), (\d+)\]",
    "not_committed": r"Entries not yet committed: (\d+)",
    "not_applied": r"Entries not yet applied: (\d+)",
    "connections": r"Connections:(.*)",
    "disconnections": r"Disconnections: (\d+)",
    "servers": r"Servers:",
    # Not always printed:
    "remotes": r"Remotes for joining:(.*)",
    "election_started": r"Last Election started (\d+) ms ago, reason: (\S+)",
    "election_won": r"Last Election won: (\d+) ms ago",
}
_OPTIONAL = {"remotes", "election_started", "election_won"}
_FIRST_WORDS = re.compile(r"[A-Za-z ]*")


def _first_words(line: str) -> str:
    match = _FIRST_WORDS.match(line)
    return match[0] if match else ""


# No two kinds of lines begin with the same words, so one pattern has to be tried for each line instead of all of them.
_PATTERNS = {_first_words(pattern): (key, re.compile(pattern)) for key, pattern in _LINES.items()}
_NICKNAME = re.compile(r"[0-9a-zA-Z]{1,32}")
_CHANGE = re.compile(r"(Adding|Removing) server \S+ \(([0-9a-f]{4}) at (\S+)\) \((.+)\)")
_LINK = re.compile(r"(\()?(->|<-)([0-9a-f]{4})(\))?")
_SERVER = re.compile(
    r" {4}\S+ \(([0-9a-f]{4}) at (\S+)\)( \(self\))?"
    r"(?: \((adding: [a-z ]+|removing)\))?(?: \(voted for (\S+)\))?"
    r"(?: next_index=(\d+) match_index=(\d+))?(?: last msg (\d+) ms ago)?"
)


def _number(text: str | None) -> int | None:
    return None if text is None else int(text)


def _listed_server(match: re.Match[str]) -> ListedServer:
    return ListedServer(
        sid=match[1],
        address=match[2],
        is_self=bool(match[3]),
        phase=match[4],
        voted_for=match[5],
        next_index=_number(match[6]),
        match_index=_number(match[7]),
        last_message=_number(match[8]),
    )


class _Lines(t.NamedTuple):
    """The lines of cluster/status: those with one value by their names, those of lists, and those that no known version prints."""

    found: dict[str, re.Match[str]]
    changes: list[Change]
    servers: list[ListedServer]
    unknown: list[str]


def _read_lines(text: str) -> _Lines:
    lines = _Lines({}, [], [], [])
    for position, line in enumerate(text.splitlines()):
        if not line.strip() or (position == 0 and _NICKNAME.fullmatch(line)):
            continue
        key, pattern = _PATTERNS.get(_first_words(line), ("", _SERVER))
        match = pattern.fullmatch(line) if key else None
        if match:
            lines.found.setdefault(key, match)
            continue
        change, server = _CHANGE.fullmatch(line), _SERVER.fullmatch(line)
        if change:
            lines.changes.append(Change(change[1].lower(), change[2], change[3], change[4]))
        elif server and "servers" in lines.found:
            lines.servers.append(_listed_server(server))
        else:
            lines.unknown.append(line)
    return lines


def _check_complete(text: str, lines: _Lines) -> None:
    if not text.endswith("\n"):
        raise BadAnswer(f'cluster/status was cut off: it ends with "{text[-60:]}".')
    missing = [_LINES[key].split(":")[0] for key in _LINES if key not in lines.found and key not in _OPTIONAL]
    if missing:
        raise BadAnswer(f'No "{missing[0]}:" line in cluster/status: {text[:200]!r}.')
    if lines.found["status"][1] == "cluster member" and not any(server.is_self for server in lines.servers):
        raise BadAnswer(
            "The list of servers in cluster/status was cut off: the server that answers is missing from it."
        )


@functools.lru_cache(maxsize=64)  # gates and plan read the same few texts again and again
def parse_cluster_status(text: str) -> ClusterStatus:
    """Return the parsed output of cluster/status; a line that no known version prints is kept in `unknown_lines`, a cut text is `BadAnswer`."""
    lines = _read_lines(text)
    _check_complete(text, lines)
    found = lines.found
    started, won = found.get("election_started"), found.get("election_won")
    return ClusterStatus(
        name=found["name"][1],
        cluster_id=found["cluster_id"][1],
        server_id=found["server_id"][1],
        address=found["address"][1],
        status=found["status"][1],
        remotes=tuple(found["remotes"][1].split()) if "remotes" in found else (),
        changes=tuple(lines.changes),
        role=found["role"][1],
        term=int(found["term"][1]),
        leader=found["leader"][1],
        vote=found["vote"][1],
        election_started=int(started[1]) if started else None,
        election_reason=started[2] if started else None,
        election_won=int(won[1]) if won else None,
        election_timer=int(found["election_timer"][1]),
        election_timer_target=_number(found["election_timer"][2]),
        log_start=int(found["log"][1]),
        log_next=int(found["log"][2]),
        not_committed=int(found["not_committed"][1]),
        not_applied=int(found["not_applied"][1]),
        links=tuple(
            Link(sid=match[3], outgoing=match[2] == "->", connected=match[1] is None)
            for match in _LINK.finditer(found["connections"][1])
        ),
        disconnections=int(found["disconnections"][1]),
        servers=tuple(lines.servers),
        unknown_lines=tuple(lines.unknown),
    )


_VERSION = re.compile(r"\(Open vSwitch\) (\d+)\.(\d+)\.(\d+)")


def parse_version(text: str) -> tuple[int, int, int] | None:
    """Return (3, 5, 0) of what the command `version` prints, None for anything else."""
    match = _VERSION.search(text)
    return t.cast("tuple[int, int, int]", tuple(int(part) for part in match.groups())) if match else None
