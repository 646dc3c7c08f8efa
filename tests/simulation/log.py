"""Database files of the modelled world: a Raft log, and the header that says whose it is."""

from __future__ import annotations

import typing as t


class Entry(t.NamedTuple):
    """`operation` is servers (`argument`: sid and address of each), write (its number) or none (the first entry of a new leader).

    A canonical log has entries "state" with the servers and all acknowledged writes up to there.
    """

    term: int
    operation: str
    argument: t.Any = None


class Log:
    """A Raft log as the last of its entries and the log before it. Equal logs are one object, so that comparing them costs nothing."""

    __slots__ = ("_following", "entry", "length", "parent", "servers", "term", "writes")

    def __init__(self, parent: Log | None = None, entry: Entry | None = None) -> None:
        self.parent, self.entry = parent, entry
        self._following: dict[Entry, Log] = {}
        self.length: int = parent.length + 1 if parent is not None else 0
        self.term: int = entry.term if entry is not None else 0
        self.servers: dict[str, str] = (
            parent.servers if parent is not None else {}
        )  # the configuration in effect: sid to address
        self.writes: frozenset[int] = parent.writes if parent is not None else frozenset()
        if entry is not None and entry.operation == "servers":
            self.servers = dict(entry.argument)
        if entry is not None and entry.operation == "write":
            self.writes |= {entry.argument}
        if entry is not None and entry.operation == "state":
            self.servers, self.writes = dict(entry.argument[0]), entry.argument[1]

    def append(self, entry: Entry) -> Log:
        found = self._following.get(entry)
        if found is None:
            found = self._following[entry] = Log(self, entry)
        return found

    def common(self, other: Log) -> int:
        """The number of entries that both logs begin with."""
        one, two = self, other
        while one is not two:
            if one.length >= two.length:
                one = t.cast(Log, one.parent)
            else:
                two = t.cast(Log, two.parent)
        return one.length

    def matching(self, other: Log) -> int:
        """The number of entries that Raft takes for equal: it compares the term and index of an entry, and not what is in it."""
        one, two = self.first(other.length), other.first(self.length)
        while one is not two and one.term != two.term:
            one, two = t.cast(Log, one.parent), t.cast(Log, two.parent)
        return one.length

    def differs_unnoticed(self, other: Log) -> bool:
        """Whether both have another entry at one term and index. That takes two leaders in one term: votes were forgotten."""
        return self is not other and self.matching(other) != self.common(other)

    def starts_with(self, other: Log) -> bool:
        return self.matching(other) == other.length

    def followed_by(self, other: Log) -> Log:
        """This log with the entries of `other` behind it, as a follower gets them from a leader that takes this one for a part of its own."""
        if self is other.first(self.length):
            return other
        log, rest = self, list[Log]()
        while other.length > self.length:
            rest.append(other)
            other = t.cast(Log, other.parent)
        for one in reversed(rest):
            entry = t.cast(Entry, one.entry)
            if entry.operation == "state":
                new = one.writes - t.cast(Log, one.parent).writes
                entry = entry._replace(argument=(tuple(one.servers.items()), log.writes | new))
            log = log.append(entry)
        return log

    def first(self, length: int) -> Log:
        """The log of its first entries."""
        log = self
        while log.length > length:
            log = t.cast(Log, log.parent)
        return log


EMPTY = Log()


class File(t.NamedTuple):
    """A database file. `kind` is member, joining, dead-join, left, broken, empty, unidentifiable, standalone, or rotten: a member's with a damaged record."""

    kind: str
    cid: str | None = None
    sid: str | None = None
    address: str = ""
    term: int = 0
    log: Log = EMPTY
    remotes: tuple[str, ...] = ()

    @property
    def servers(self) -> dict[str, str]:
        return self.log.servers

    @property
    def writes(self) -> frozenset[int]:
        return self.log.writes

    def as_read(self) -> File:
        """What a server has of it: of a rotten one only what stands before the damage."""
        if self.kind != "rotten":
            return self
        return self._replace(kind="member", log=self.log.first(max(1, self.log.length - 1)))

    @property
    def position(self) -> tuple[int, int]:
        """What elections compare: term of the last entry, number of entries."""
        return (self.log.term, self.log.length)
