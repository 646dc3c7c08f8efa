"""The same state in few forms: ids, terms, lengths of logs and clocks by their order only, so that what was computed once is found again."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import typing as t

from ansible_collections.c5c3.ovn.plugins.module_utils._raft.record import Record

from .log import EMPTY, Entry, File, Log
from .world import OF_CONTAINERS, Held, Settings, Slot, World


def canonical(world: World) -> None:
    """Rename within the world. It behaves as before: nobody looks at an id, a term or a length but to compare it."""
    ids = _Ids()
    every = {database: _Logs(world, database) for database in world.databases}
    revisions = sorted({OF_CONTAINERS.revision, *(s.revision for s in _settings(world))})
    disks: dict[int, int] = {}

    def settings(value: Settings | None) -> Settings | None:
        return value and value._replace(revision=revisions.index(value.revision))

    def file(value: File | None, logs: _Logs) -> File | None:
        if value is None:
            return None
        return value._replace(
            cid=ids.of(value.cid), sid=ids.of(value.sid), term=logs.terms[value.term], log=logs.of(value.log, ids)
        )

    for database, logs in every.items():
        newest = _revisions(world, database)
        records: dict[int, Record | None] = {}

        record = functools.partial(_interned, ids=ids, newest=newest, records=records)

        for _host, slot in world.slots(database):
            slot.file, slot.volume = file(slot.file, logs), file(slot.volume, logs)
            if slot.server is not None:
                data = t.cast(File, file(slot.server.data, logs))
                slot.server = slot.server._replace(data=data, settings=t.cast(Settings, settings(slot.server.settings)))
            disk = disks.setdefault(slot.disk, len(disks) + 1)
            if slot.snapshot is not None:
                copy, copied_from = slot.snapshot
                slot.snapshot = (file(copy, logs), disks.setdefault(copied_from, len(disks) + 1))
            if slot.witness is not None:
                term, length = slot.witness.position
                slot.witness = slot.witness._replace(
                    sid=t.cast(str, ids.of(slot.witness.sid)),
                    position=(logs.terms[term], logs.lengths[length]),
                    disk=disks.setdefault(slot.witness.disk, len(disks) + 1),
                )
            slot.disk = disk
            slot.witnesses = tuple(
                sorted((t.cast(str, ids.of(sid)), logs.lengths[length]) for sid, length in slot.witnesses)
            )
            slot.settings, slot.aside = settings(slot.settings), 0
            slot.record, slot.older_record = record(slot.record), record(slot.older_record)
        world.config_map[database] = record(world.config_map[database])
        world.clients[database] = frozenset(t.cast(str, ids.of(cid)) for cid in sorted(world.clients[database]))
        client = world.client[database]
        world.client[database] = client._replace(index=logs.lengths[client.index])
        world.retired[database] = frozenset(t.cast(str, ids.of(sid)) for sid in sorted(world.retired[database]))
        given_up = world.given_up[database] & world.acknowledged[database]
        world.given_up[database] = frozenset(logs.class_of[write] for write in given_up)
        world.acknowledged[database] = (
            frozenset().union(*logs.classes.values()) if world.acknowledged[database] else frozenset()
        )
        world.map_version[database] = 0
    world.settings = t.cast(Settings, settings(world.settings))
    world.counter, world.disks, world.faults = len(ids.known), len(disks), 0
    world.writes = max(len(logs.classes) for logs in every.values())
    for host in world.hosts.values():
        host.lock = _held(host.lock, world.now)
    world.lease = _held(world.lease, world.now)
    world.now = world.acquisitions = 0


def _held(held: Held | None, now: int) -> Held | None:
    return Held("a run before", held.expires - now) if held is not None and held.expires > now else None


def _settings(world: World) -> list[Settings]:
    found = [world.settings]
    for database in world.databases:
        for _host, slot in world.slots(database):
            found += [slot.settings] if slot.settings else []
            found += [slot.server.settings] if slot.server else []
    return found


def _revisions(world: World, database: str) -> list[int]:
    records = [world.config_map[database]]
    for _host, slot in world.slots(database):
        records += [slot.record, slot.older_record]
    return sorted({record.revision for record in records if record is not None})


class _Ids:
    def __init__(self) -> None:
        self.known: dict[str, str] = {}

    def of(self, value: str | None) -> str | None:
        if value is None or value.startswith("0000"):
            return value
        if value not in self.known:
            self.known[value] = f"{len(self.known) + 1:04x}0000-0000-4000-8000-000000000000"
        return self.known[value]


class _Logs:
    """Logs as short as their order allows: as many entries as there are different lengths below them."""

    def __init__(self, world: World, database: str) -> None:
        used: set[Log] = set()
        terms, lengths = {0}, {0, world.client[database].index}
        for _host, slot in world.slots(database):
            for file in _files(slot):
                used.add(file.log)
                terms |= {file.term, file.log.term}
                lengths.add(file.log.length)
            if slot.witness is not None:
                terms.add(slot.witness.position[0])
                lengths.add(slot.witness.position[1])
            lengths |= {length for _sid, length in slot.witnesses}
        for one, other in itertools.combinations(used, 2):
            if one.differs_unnoticed(other):
                lengths |= {one.common(other), one.matching(other)}
        self.real = sorted(lengths)
        for log in used:
            terms |= {log.first(length).term for length in self.real}
        self.terms = {term: rank for rank, term in enumerate(sorted(terms))}
        self.lengths = {length: rank for rank, length in enumerate(sorted(lengths))}
        self.used = used
        self._made: dict[Log, Log] = {EMPTY: EMPTY}
        # Writes that the same logs hold are one write.
        acknowledged = sorted(world.acknowledged[database])
        groups: dict[tuple[frozenset[int], bool], set[int]] = {}
        ordered = sorted(used, key=lambda log: (log.length, log.term, sorted(log.writes)))
        for write in acknowledged:
            holders = frozenset(number for number, log in enumerate(ordered) if write in log.writes)
            groups.setdefault((holders, write in world.given_up[database]), set()).add(write)
        self.classes: dict[int, frozenset[int]] = {}
        self.class_of: dict[int, int] = {}
        for number, (_holders, writes) in enumerate(groups.items(), 1):
            self.classes[number] = frozenset({number})
            self.class_of.update(dict.fromkeys(writes, number))

    def of(self, log: Log, ids: _Ids) -> Log:
        if log in self._made:
            return self._made[log]
        parent = log.parent
        while parent is not None and parent not in self.used and parent is not EMPTY:
            parent = parent.parent
        base = self.of(parent or EMPTY, ids)
        made = base
        for length in self.real[base.length + 1 : self.lengths[log.length]]:
            made = made.append(Entry(self.terms[log.first(length).term], "none"))
        writes = frozenset(self.class_of[write] for write in log.writes if write in self.class_of)
        servers = tuple((ids.of(sid), address) for sid, address in log.servers.items())
        made = made.append(Entry(self.terms[log.term], "state", (servers, writes)))
        self._made[log] = made
        return made


def _files(slot: Slot) -> list[File]:
    copy = slot.snapshot[0] if slot.snapshot else None
    files = [slot.file, slot.server.data if slot.server else None, copy, slot.volume]
    return [file for file in files if file is not None]


_RECORDS: dict[str, Record] = {}


def _interned(
    value: Record | None, *, ids: _Ids, newest: list[int], records: dict[int, Record | None]
) -> Record | None:
    if value is None:
        return None
    if id(value) not in records:
        records[id(value)] = _intern(value, ids, newest)
    return records[id(value)]


def _intern(record: Record, ids: _Ids, revisions: list[int]) -> Record:
    members = {
        name: dataclasses.replace(
            member, sid=ids.of(member.sid), past_sids=tuple(t.cast(str, ids.of(sid)) for sid in member.past_sids)
        )
        for name, member in record.members.items()
    }
    permit = record.permit
    renamed = record.replace(
        members=members,
        revision=revisions.index(record.revision) + 1,
        cid=ids.of(record.cid),
        permit=permit and type(permit)(permit.member, "a run before", permit.time),
    )
    # Never cleared while a search lasts: fingerprints of states tell records apart by identity.
    if len(_RECORDS) > 200_000:
        _RECORDS.clear()
    return _RECORDS.setdefault(repr(renamed), renamed)
