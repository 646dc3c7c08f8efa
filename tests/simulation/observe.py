"""What a run sees of the model: `Observation`s with the text of `cluster/status` as ovsdb-server prints it, which the product parses."""

from __future__ import annotations

import functools
import typing as t

from ansible_collections.c5c3.ovn.plugins.module_utils._raft.answer import Answer, ServerView
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.observation import DISK_MISSING, Observation
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.record import Record

from . import launcher
from .log import EMPTY, File, Log
from .world import NORTHBOUND, Host, Raft, Server, Slot, World

# One entry of the model stands for this many: one that is not replicated is more than the gates let pass as a lag.
SCALE = 100
# What a member that trails has not confirmed yet: as much as the gates let pass.
TRAILS = 50


def index_of(file: File | None) -> int | None:
    return SCALE * file.log.length if file is not None and file.log.length else None


@functools.lru_cache(maxsize=4096)
def status_text(
    name: str,
    server: Server,
    leader: str,
    heard: tuple[tuple[str, bool, int], ...],
    not_committed: int,
    changes: tuple[tuple[str, str, str], ...] = (),
) -> str:
    """`heard`: of each server of the list its sid, whether the leader hears it, and its match_index; `changes`: sid, address and phase of each.

    The words are those of `raft_unixctl_status` in Open vSwitch's raft.c.
    """
    data = server.data
    sid = data.sid or ""
    member = data.kind == "member"
    is_candidate = server.phase in ("candidate", "retrying")
    role = "leader" if server.leader else "candidate" if is_candidate else "follower"
    status = "failed" if server.failed else "cluster member" if member else "joining cluster"
    if server.phase == "retrying" and not server.failed:
        status = "disconnected from the cluster (election timeout)"
    phases = {one: phase for one, _address, phase in changes}
    changing = "".join(
        f"{'Removing' if phase == 'removing' else 'Adding'} server {one[:4]} ({one[:4]} at {address}) ({phase})\n"
        for one, address, phase in changes
        if one not in data.servers
    )
    lines = []
    for full, is_heard, match in heard:
        line = f"    {full[:4]} ({full[:4]} at {data.servers[full]})"
        if full == sid:
            line += " (self)"
        if full in phases:
            line += f" ({phases[full]})"
        if server.leader:
            line += f" next_index={match + 1} match_index={match}"
        if full != sid:
            line += f" last msg {50 if is_heard else 600000} ms ago"
        lines.append(line)
    links = " ".join(
        f"->{full[:4]} <-{full[:4]}" if is_heard else f"(->{full[:4]})" for full, is_heard, _m in heard if full != sid
    )
    last = SCALE * data.log.length
    won = f"Last Election won: {100 if server.elected else 600000} ms ago\n" if server.leader else ""
    if is_candidate:
        won = "Last Election started 100 ms ago, reason: timeout\n"
    return (
        f"{sid[:4]}\nName: {name}\nCluster ID: {(data.cid or '')[:4]} ({data.cid})\nServer ID: {sid[:4]} ({sid})\n"
        f"Address: {data.address}\nStatus: {status}\n"
        f"{'' if member else 'Remotes for joining: ' + ' '.join(data.remotes) + chr(10)}"
        f"{changing}Role: {role}\nTerm: {data.term}\nLeader: {leader}\nVote: {'self' if is_candidate else 'unknown'}\n\n"
        f"{won}Election timer: 1000\nLog: [2, {last + 1}]\n"
        f"Entries not yet committed: {not_committed}\nEntries not yet applied: 0\nConnections: {links}\nDisconnections: 0\nServers:\n"
        + "".join(f"{line}\n" for line in lines)
    )


def _acknowledged(slot: Slot) -> Log:
    """The log that a server has told the leader of: only what it has written."""
    server = t.cast(Server, slot.server)
    if server.ahead:
        return slot.file.log if slot.file is not None else EMPTY
    return server.data.log


def answer_of(world: World, database: str, host: Host, raft: Raft, connected: bool) -> Answer:
    slot = host.slots[database]
    server = t.cast(Server, slot.server)
    data, name = server.data, "OVN_Northbound" if database == NORTHBOUND else "OVN_Southbound"
    peers = raft.heard(host)
    heard, holders = [], 0
    for sid in data.servers:
        peer = peers.get(sid)
        match = 0
        if server.leader and peer is not None and peer[1].server is not None:
            match = SCALE * _acknowledged(peer[1]).matching(data.log)
            holders += match >= SCALE * data.log.length
            if peer[1].trails and peer[0] is not host:
                match = max(0, match - TRAILS)
        heard.append((sid, peer is not None, match))
    leader = "unknown"
    if server.leader:
        leader = "self"
    elif data.kind == "member" or data.kind == "joining":
        found = raft.leader_of(host)
        if found is not None and found[1].server is not None:
            leader = (found[1].server.data.sid or "")[:4]
    committed = 0
    if server.leader and 2 * holders <= len(heard):
        committed = SCALE
    changes = raft.changes(host) if server.leader else {}
    changing = tuple((sid, address, phase) for sid, (address, phase) in changes.items())
    text = status_text(name, server, leader, tuple(heard), committed, changing)
    row = ServerView(
        model="clustered",
        connected=connected,
        leader=server.leader,
        cluster_id=data.cid,
        server_id=data.sid,
        log_index=index_of(data),
        process=f"{host.name}",
    )
    return Answer(
        host.name,
        name,
        cluster_status=text,
        earlier_status=text if server.leader else None,
        server=row,
        taken=0.0,
    )


@functools.lru_cache(maxsize=4096)
def _record_dict(key: str, record: _Key) -> dict[str, t.Any]:
    return record.value.as_dict()


class _Key:
    """A record as the key of a cache: it holds a dictionary, so it has no hash of its own."""

    __slots__ = ("value",)

    def __init__(self, value: Record) -> None:
        self.value = value

    def __hash__(self) -> int:
        return 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and self.value == other.value


def record_dict(record: Record | None) -> dict[str, t.Any] | None:
    return _record_dict(repr(record), _Key(record)) if record is not None else None


_OBSERVED: dict[t.Hashable, tuple[Record | None, Observation]] = {}
_MOST_MEMOS = 100_000


def observe_member(world: World, database: str, host: Host) -> Observation:
    """What the module that runs on the host, or in the pod, returns."""
    slot = host.slots[database]
    record = world.config_map[database] if world.pods else slot.record
    wrong = host.name in world.wrong_address
    state = (Raft(world, database).key(), host.name, id(record), slot.tool_fails, world.settings, wrong)
    found = _OBSERVED.get(state)
    if found is None:
        if len(_OBSERVED) > _MOST_MEMOS:
            _OBSERVED.clear()
        # The memo keeps the record, so that its id stays its own.
        found = _OBSERVED[state] = (record, _observe(world, database, host))
    return found[1]


def _observe(world: World, database: str, host: Host) -> Observation:
    slot = host.slots[database]
    record = record_dict(world.config_map[database] if world.pods else slot.record)
    decision = launcher.decide_for(world, database, host)
    file, server = slot.file, slot.server
    file_class, problem = decision.file_class, ""
    if slot.tool_fails:
        file_class, file = "unknown", None
    if slot.full and server is not None:
        problem = f"the disk of {host.name} is full"
    elif server is not None and server.ahead and not server.failed and not slot.contained:
        problem = f"the file of {host.name} is incomplete"
    if world.address_of(host.name) != host.address:
        problem = f"{world.address_of(host.name)} is no address of {host.name}"
    lasting = problem
    if not world.settings.loads:
        problem = "key and certificate do not fit"
    if slot.contained:  # only its server tells of its file, and one that was removed has no database any more
        left = server is not None and server.data.kind == "left"
        file_class, file = ("unknown", None) if left else ("member", slot.file)
    known: dict[str, t.Any] = {
        "file_class": file_class,
        "file_cid": file.cid if file else None,
        "file_sid": file.sid if file else slot.witness.sid if file_class == DISK_MISSING and slot.witness else None,
        "file_reason": "" if slot.contained else decision.reason,
        "record": record,
        "last_term": file.log.term if file and file.log.length else None,
        "last_index": index_of(file),
        "witness_index": SCALE * slot.witness.position[1] if slot.witness else None,
        "witnesses": {sid[:4]: SCALE * entries for sid, entries in slot.witnesses},
        "start_problem": problem,
        "host_problem": lasting,
        "file_bytes": 1000,
        "free_bytes": 0 if slot.full else 1000000,
        "ours": slot.enabled,
        "replace_reason": "its container would start it again" if slot.contained else "",
    }
    if server is None:
        return Observation(host.name, **known)
    data = server.data
    if data.kind == "left":
        return Observation(host.name, running=True, **known)
    raft = Raft(world, database)
    connected = raft.connected(host)
    if connected and not slot.contained:  # of its file only the presence counts
        unsure = slot.tool_fails and not world.pods  # whether the disk is there; under a pod no volume goes away
        known["file_class"] = "member" if slot.file else "unknown" if unsure else decision.file_class
    return Observation(
        host.name,
        running=True,
        connected=connected,
        leader=server.leader,
        cid=data.cid,
        sid=data.sid,
        listed={sid[:4]: address for sid, address in data.servers.items()} if data.kind == "member" else {},
        restart_reason="its settings have changed" if not slot.contained and server.settings != world.settings else "",
        answer=answer_of(world, database, host, raft, connected).as_dict(),
        **known,
    )
