"""The key of a state: two worlds with the same key behave alike. Names of servers, clusters, runs and members do not matter, only who is who."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.c5c3.ovn.plugins.module_utils._raft.record import Record

from .log import File, Log
from .world import Host, Slot, World

_NAME = re.compile(r"[0-9a-f]{4}0000-0000-4000-8000-000000000000|'[^' ]*[-m][0-9]'|[0-9.]+:6643")
_FIELDS = tuple(field for field in Slot.__slots__ if field not in ("aside", "waits"))
_ID = re.compile(r"[0-9a-f]{4}0000-0000-4000-8000-000000000000|@[^@ ]*@")


def fingerprint(world: World) -> t.Hashable:
    """Equal for worlds that are equal name by name; much cheaper than `key`. Records count by identity: canonical.py makes equal ones one object."""
    hosts = []
    for name, host in world.hosts.items():
        slots = [tuple([_plain(getattr(slot, field)) for field in _FIELDS]) for slot in host.slots.values()]
        hosts.append((name, host.on, host.reachable, host.lock, tuple(slots)))
    return (
        tuple(hosts),
        world.declared,
        world.former,
        world.wrong_address,
        world.settings,
        world.hesitant,
        world.adopts,
        world.rolled_back,
        world.cut,
        world.confirmed,
        world.lease,
        tuple(
            [
                (
                    world.clients[d],
                    world.client[d],
                    world.retired[d],
                    world.acknowledged[d],
                    world.given_up[d],
                    world.replicas[d],
                    id(world.config_map[d]),
                )
                for d in world.databases
            ]
        ),
    )


def _plain(value: t.Any) -> t.Hashable:
    return id(value) if isinstance(value, Record) else t.cast(t.Hashable, value)


def key(world: World) -> str:
    """Members are sorted by what can be told of each alone: states that differ only in who is who among the members mostly become one.

    The order of declaration breaks ties in the plan, so this is a reduction for exploration, not an equivalence.
    """
    logs = _Logs(world)
    texts = {name: _host(world, host, logs) for name, host in world.hosts.items()}
    parts = sorted(((texts[name], name) for name in texts), key=lambda pair: (_NAME.sub("", pair[0]), pair[1]))
    index = {name: number for number, (_part, name) in enumerate(parts)}
    ranked = {name: f"@{name}@" for _part, name in parts}
    text = repr(
        (
            [part for part, _name in parts],
            [ranked[name] for name in sorted(world.declared)],
            [ranked[name] for name in sorted(world.former)],
            sorted(world.wrong_address),
            sorted((index[one], index[two]) for one, two in world.cut),
            [
                (
                    sorted(world.clients[d]),
                    sorted(world.client[d].addresses),
                    logs.length(world.client[d].index),
                    sorted(world.retired[d]),
                    world.replicas[d],
                    _record(world.config_map[d], 0),
                )
                for d in world.databases
            ],
            sorted(world.confirmed),
            world.settings[1:],
            world.hesitant,
            world.adopts,
            [(d in world.rolled_back, sorted(world.given_up[d])) for d in world.databases],
            world.lease is not None and world.lease.expires > world.now,
            logs.text,
        )
    )
    for number, (_part, name) in enumerate(parts):
        host = world.hosts[name]
        text = text.replace(f"'{name}'", f"'@h{number}@'").replace(host.address, f"@h{number}@")
    seen: dict[str, str] = {}
    return _ID.sub(lambda match: seen.setdefault(match[0], f"#{len(seen)}"), text)


class _Logs:
    """Logs by rank: what matters is which is a prefix of which, which terms are newer, and who has the acknowledged writes."""

    def __init__(self, world: World) -> None:
        found: set[Log] = set()
        terms: set[int] = {0}
        lengths: set[int] = {0}
        for database in world.databases:
            for _host, slot in world.slots(database):
                for file in _files(slot):
                    found.add(file.log)
                    terms.add(file.term)
                if slot.witness is not None:  # it may end within a log
                    terms.add(slot.witness.position[0])
                    lengths.add(slot.witness.position[1])
                lengths |= {length for _sid, length in slot.witnesses}
            lengths.add(world.client[database].index)
        acknowledged = frozenset().union(*world.acknowledged.values())
        ordered = sorted(
            found, key=lambda log: (log.length, log.term, len(log.writes), repr(sorted(log.servers.items())))
        )
        terms |= {log.term for log in ordered}
        self._terms = {term: rank for rank, term in enumerate(sorted(terms))}
        self._ranks = {log: rank for rank, log in enumerate(ordered)}
        self._lengths = {length: rank for rank, length in enumerate(sorted(lengths | {log.length for log in ordered}))}
        text = []
        for log in ordered:
            prefix, parent = -1, log.parent
            while parent is not None and prefix < 0:
                prefix, parent = self._ranks.get(parent, -1), parent.parent
            text.append(
                (
                    prefix,
                    self._lengths[log.length],
                    self._terms[log.term],
                    len(acknowledged - log.writes) > 0,
                    sorted(log.servers.items()),
                    [log.matching(other) for other in ordered if log.differs_unnoticed(other)],
                )
            )
        self.text = repr(text)

    def of(self, file: File | None) -> t.Any:
        if file is None:
            return None
        return (
            file.kind,
            file.cid,
            file.sid,
            file.address,
            self._terms[file.term],
            self._ranks[file.log],
            file.remotes,
        )

    def position(self, position: tuple[int, int]) -> t.Any:
        return (self._terms.get(position[0], -1), self._lengths.get(position[1], -1))

    def length(self, length: int) -> int:
        return self._lengths.get(length, -1)


def _files(slot: Slot) -> list[File]:
    copy = slot.snapshot[0] if slot.snapshot else None
    files = [slot.file, slot.server.data if slot.server else None, copy, slot.volume]
    return [file for file in files if file is not None]


def _host(world: World, host: Host, logs: _Logs) -> str:
    slots = []
    for database in world.databases:
        slot, newest = host.slots[database], _newest(world, database)
        server = slot.server
        slots.append(
            (
                logs.of(slot.file),
                server and (logs.of(server.data), _settings(world, server.settings), *server[2:]),
                slot.snapshot and (logs.of(slot.snapshot[0]), slot.snapshot[1] == slot.disk),
                _record(slot.record, newest),
                _record(slot.older_record, newest),
                _settings(world, slot.settings),
                slot.witness
                and (
                    slot.witness.sid,
                    logs.position(slot.witness.position),
                    slot.witness.disk == slot.disk,
                ),
                [(sid, logs.length(length)) for sid, length in slot.witnesses],
                slot.slow,
                slot.trails,
                slot.full,
                slot.tool_fails,
                slot.claim,
                slot.container,
                slot.accepted,
                slot.enabled,
                logs.of(slot.volume),
            )
        )
    lock = host.lock is not None and host.lock.expires > world.now
    links = sum(one == host.name for one, _two in world.cut), sum(two == host.name for _one, two in world.cut)
    return repr((host.on, host.reachable, lock, host.name in world.wrong_address, links, slots))


def _settings(world: World, settings: t.Any) -> t.Any:
    return settings and (settings.good, settings == world.settings)


def _newest(world: World, database: str) -> int:
    copies = [slot.record.revision for _host, slot in world.slots(database) if slot.record]
    return max(copies, default=0)


def _record(record: Record | None, newest: int) -> t.Any:
    if record is None:
        return None
    members = [(name, m.state, m.sid, m.address, m.past_sids) for name, m in sorted(record.members.items())]
    return (
        max(-2, record.revision - newest) if newest else 0,
        record.cid,
        record.permit and record.permit.member,
        record.hold,
        record.formed,
        members,
    )
