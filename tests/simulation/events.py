"""What can happen to the world besides runs, one function an event; `sentence` tells an event in plain words."""

from __future__ import annotations

import typing as t

from ansible_collections.c5c3.ovn.plugins.module_utils._raft.record import Record

from . import launcher
from .log import EMPTY, File
from .world import OF_CONTAINERS, Client, Host, Raft, Server, Settings, Slot, Violation, World

Event = tuple[t.Any, ...]
"""Name of the event and its arguments, mostly a host; only plain data, so that a story can be printed and replayed."""

SENTENCES: dict[str, str] = {
    "write": "A client writes.",
    "burst": "Clients of {0} write many times at once.",
    "crash": "The servers on {0} are killed.",
    "start": "Somebody starts the units on {0}.",
    "down": "{0} is switched off.",
    "boot": "{0} boots.",
    "lose": "{0} loses what is on its database disk, and the servers on it end.",
    "unmount": "{0} comes up without its database disk, and the servers on it end.",
    "mount": "The database disk of {0} is mounted again, and its servers start.",
    "unlink": "The database files of {0} are deleted under the running servers.",
    "snapshot": "Somebody takes a snapshot of the database disk of {0}.",
    "restore": "{0} is switched off, its database disk goes back to the snapshot, and it boots.",
    "clone": "The database disk of {0} is copied over that of {1}, whose servers end.",
    "move": "The database disk of {0} is moved to {1}; the servers of both end.",
    "damage": "The database files of {0} are damaged, and its servers end.",
    "rot": "One record in the database files of {0} is damaged, and its servers end.",
    "cut_off_join": "The join of {0} is cut off: its file looks joined and never starts.",
    "fill": "The database disk of {0} is full.",
    "free": "The database disk of {0} has space again.",
    "slow": "{0} falls behind.",
    "fast": "{0} catches up.",
    "trail": "From now on clients write all the time, and {0} is a few entries behind at any moment.",
    "keep_up": "{0} is never behind any more.",
    "cut": "{0} is cut off from the other members.",
    "deaf": "{0} hears none of the other members; they hear it.",
    "mute": "None of the other members hears {0}; it hears them.",
    "half": "{0} does not hear {1} any more; {1} hears {0}.",
    "heal": "All members reach each other again.",
    "flaky": "The tools that examine files fail on {0}.",
    "steady": "The tools work again on {0}.",
    "unreachable": "The run cannot reach {0}.",
    "reachable": "The run reaches {0} again.",
    "wrong_address": "The inventory gives {0} an address that is not its own.",
    "right_address": "The inventory gives {0} its own address.",
    "bad_settings": "The declared settings change; with them no member can talk to another.",
    "useless_settings": "The declared settings change; with them no server starts.",
    "good_settings": "The declared settings are corrected.",
    "install": "The declared settings are written on every machine.",
    "hesitate": "Elections and joins take time from now on.",
    "decide": "Elections and joins are quick again.",
    "lead": "{0} becomes the leader.",
    "kick": "An operator removes {0} from the cluster by hand.",
    "rejoin": "Somebody wipes {0} and lets it join again, without removing it first.",
    "hold": "A recovery puts the state records of the hosts that it reaches on hold.",
    "hold_one": "A recovery puts the state record of {0} on hold, and is cut off.",
    "release": "The recovery ends: the state records of the hosts that it reaches are not on hold any more.",
    "lose_record": "{0} loses its copy of the state record.",
    "lose_all_records": "All copies of the state record are lost.",
    "backup_record": "The state record of {0} is backed up.",
    "restore_record": "{0} gets an older copy of the state record back.",
    "scale": "The declaration says {0} members.",
    "shrink": "{0} and {1} leave the cluster for good; a host that is off keeps its file and its copy of the record.",
    "replace_hosts": "The inventory names other central hosts: {0}.",
    "recreate": "The control plane is deleted and declared again; claims and records stay.",
    "clock": "The clock of the machines jumps {0} s ahead.",
    "time": "Some time passes.",
    "confirm": "The operator sets {0}.",
    "containers": "Containers run every member; nothing of ours was ever installed, and runs adopt from now on.",
    "container": "The engine starts the container of {0} again.",
}


_OF_RECORDS = frozenset({"lose_record", "lose_all_records", "restore_record", "containers"})


def apply(world: World, event: Event) -> None:
    """Let it happen, then what happens by itself."""
    name, *arguments = event
    world.faults += 1
    idle = [(host, slot) for database in world.databases for host, slot in world.slots(database) if slot.server is None]
    _ACTIONS[name](world, *arguments)
    if name in _OF_RECORDS:  # what left for good is known from the records alone
        for database in world.databases:
            copies = [world.hosts[one].slots[database].record for one in world.declared if world.hosts[one].on]
            known = {sid for copy in copies if copy is not None for sid in copy.retired_sids}
            world.retired[database] &= known
    if name != "lead":
        settle(world)
    for host, slot in idle:
        if slot.server is not None and not slot.contained and _is_held(world, host, slot):
            raise Violation(f"a server on {host.name} starts while the record is on hold")


def settle(world: World) -> None:
    world.settle()
    if world.pods and launch_pods(world):
        world.settle()


def launch_pods(world: World) -> bool:
    """In pods the launchers act by themselves when the record lets them; whether a server was started."""
    started = False
    for database in world.databases:
        replicas = world.replicas[database] or 0
        for number, (host, slot) in enumerate(world.slots(database)):
            slot.claim = slot.claim or number < replicas
            exists = host.on and number < replicas
            if not exists:
                slot.end()
            elif slot.server is None:
                decision = launcher.launch(world, database, host)
                slot.waits = "" if slot.server else decision.reason
                started = started or slot.server is not None
    return started


def _each(change: t.Callable[[World, Host, Slot], None]) -> t.Callable[[World, str], None]:
    def act(world: World, name: str) -> None:
        host = world.hosts[name]
        for slot in host.slots.values():
            change(world, host, slot)

    return act


def _stop(world: World, host: Host, slot: Slot) -> None:
    slot.end()


def _lose(world: World, host: Host, slot: Slot) -> None:
    """A container loses its volume, a member of ours what lies in our place."""
    slot.file = None
    slot.end()


def _unmount(world: World, host: Host, slot: Slot) -> None:
    slot.end()
    slot.snapshot = (slot.file, slot.disk)
    _lose(world, host, slot)
    world.disks += 1
    slot.disk = world.disks


def _mount(world: World, name: str) -> None:
    for slot in world.hosts[name].slots.values():
        if slot.snapshot is not None and slot.snapshot[1] != slot.disk:  # else it is no disk that was away
            slot.end()
            slot.file, slot.disk = slot.snapshot
    _boot(world, name)


def _unlink(world: World, host: Host, slot: Slot) -> None:
    slot.file = None
    if slot.server is not None:
        slot.server = slot.server._replace(linked=False)


def _snapshot(world: World, host: Host, slot: Slot) -> None:
    slot.snapshot = (slot.ours, slot.disk)


def _restore(world: World, name: str) -> None:
    host = world.hosts[name]
    for slot in host.slots.values():
        slot.end()
        if slot.snapshot is not None:
            slot.file = slot.snapshot[0]
    _boot(world, name)


def _boot(world: World, name: str) -> None:
    host = world.hosts[name]
    host.on = True
    if world.pods:
        return
    for database, slot in host.slots.items():
        if slot.settings is not None and slot.enabled:
            launcher.launch(world, database, host)


def _down(world: World, name: str) -> None:
    host = world.hosts[name]
    host.on, host.lock = False, None
    for slot in host.slots.values():
        slot.end()


def _clone(world: World, source: str, target: str) -> None:
    for database, slot in world.hosts[target].slots.items():
        slot.end()
        slot.file = world.hosts[source].slots[database].ours
        slot.claim = slot.claim or world.pods


def _move(world: World, source: str, target: str) -> None:
    for database, slot in world.hosts[target].slots.items():
        other = world.hosts[source].slots[database]
        slot.end()
        other.end()
        slot.file, other.file = other.file, None
        slot.disk, other.disk = other.disk, slot.disk
        slot.claim = slot.claim or world.pods  # a volume is bound to a claim


def _damage(kind: str) -> t.Callable[[World, Host, Slot], None]:
    def act(world: World, host: Host, slot: Slot) -> None:
        if slot.file is not None:
            slot.file = slot.file._replace(kind=kind)
        slot.end()

    return act


def _rot(world: World, host: Host, slot: Slot) -> None:
    """Not of a container, which starts whatever it can read."""
    if slot.file is not None and slot.file.kind == "member" and not slot.container:
        slot.file = slot.file._replace(kind="rotten")
        slot.end()


def _flag(name: str, value: bool) -> t.Callable[[World, Host, Slot], None]:
    def act(world: World, host: Host, slot: Slot) -> None:
        setattr(slot, name, value)

    return act


def _cut(world: World, name: str) -> None:
    _deaf(world, name)
    _mute(world, name)


def _deaf(world: World, name: str) -> None:
    world.cut |= {(other, name) for other in world.hosts if other != name}


def _mute(world: World, name: str) -> None:
    world.cut |= {(name, other) for other in world.hosts if other != name}


def _half(world: World, receiver: str, sender: str) -> None:
    world.cut |= {(sender, receiver)}


def _heal(world: World) -> None:
    world.cut = frozenset()


def _reachable(value: bool) -> t.Callable[[World, str], None]:
    def act(world: World, name: str) -> None:
        world.hosts[name].reachable = value

    return act


def _wrong_address(world: World, name: str) -> None:
    world.wrong_address |= {name}


def _right_address(world: World, name: str) -> None:
    world.wrong_address -= {name}


def _settings(good: bool, loads: bool = True) -> t.Callable[[World], None]:
    def act(world: World) -> None:
        world.settings = Settings(world.settings.revision + 1, good, loads)

    return act


def _install(world: World) -> None:
    for host in world.hosts.values():
        for slot in host.slots.values():
            slot.settings = world.settings if slot.settings is not None else None


def _hesitant(value: bool) -> t.Callable[[World], None]:
    def act(world: World) -> None:
        world.hesitant = value

    return act


def _lead(world: World, name: str) -> None:
    for database in world.databases:
        Raft(world, database).elect(world.hosts[name])


def _kick(world: World, name: str) -> None:
    for database in world.databases:
        file, raft = world.hosts[name].slots[database].file, Raft(world, database)
        for leader, _slot in raft.leaders()[:1]:
            if file is not None and file.sid:
                raft.kick(leader, file.sid)


def _rejoin(world: World, name: str) -> None:
    host = world.hosts[name]
    for database, slot in host.slots.items():
        if slot.server is None or slot.contained:
            continue
        for _leader, other in Raft(world, database).leaders()[:1]:
            if other.server is not None and other is not slot:
                remotes = tuple(other.server.data.servers.values())
                slot.file = File("joining", other.server.data.cid, world.fresh_id(), host.address, 0, EMPTY, remotes)
                slot.server = Server(slot.file, world.settings)


def _hold(value: bool) -> t.Callable[[World], None]:
    def act(world: World) -> None:
        for database in world.databases:
            world.config_map[database] = _held(world.config_map[database], value)
            for host, slot in world.slots(database):
                if host.on and host.reachable:
                    slot.record = _held(slot.record, value)

    return act


def _held(record: Record | None, value: bool) -> Record | None:
    return record.replace(hold=value) if record is not None else None


def _is_held(world: World, host: Host, slot: Slot) -> bool:
    """Whether the launcher reads a record on hold."""
    maps = [world.config_map[database] for database, its in host.slots.items() if its is slot]
    record = maps[0] if world.pods else slot.record
    return record is not None and record.hold


def _lose_record(world: World, host: Host, slot: Slot) -> None:
    slot.record = None


def _lose_all_records(world: World) -> None:
    for database in world.databases:
        world.config_map[database] = None
        for _host, slot in world.slots(database):
            slot.record = None


def _hold_one(world: World, host: Host, slot: Slot) -> None:
    if host.on and host.reachable:
        slot.record = _held(slot.record, True)


def _backup_record(world: World, host: Host, slot: Slot) -> None:
    slot.older_record = slot.record


def _restore_record(world: World, host: Host, slot: Slot) -> None:
    slot.record = slot.older_record


def _scale(world: World, size: int) -> None:
    world.declared = tuple(world.hosts)[:size]


def _replace_hosts(world: World, *names: str) -> None:
    world.declared = names


def _shrink(world: World, *names: str) -> None:
    """Where a scale in ends: nothing happens unless all that stay take part. It is no run of the product, so that its rules are tested without it."""
    stay = tuple(name for name in world.declared if name not in names)
    rafts = [Raft(world, database) for database in world.databases]
    for raft in rafts:
        leading = [host for host, _slot in raft.leaders() if host.name in stay]
        copies = [world.hosts[name].slots[raft.database].record for name in stay]
        peers = {host.name for host, _slot in raft.peers(leading[0]).values()} if leading else set()
        if not peers.issuperset(stay) or copies.count(copies[0]) != len(copies) or copies[0] is None or copies[0].hold:
            return
        if raft.changes(leading[0]) or not all(name in copies[0].members for name in names):
            return
    for raft in rafts:
        leader = next(host for host, _slot in raft.leaders() if host.name in stay)
        record = t.cast(Record, world.hosts[stay[0]].slots[raft.database].record)
        for name in names:
            sid = record.members[name].sid
            if sid is None or not raft.kick(leader, sid):
                return
            world.retired[raft.database] |= {sid}
            record = record.with_member(
                name, state="absent", sid=None, past_sids=(*record.members[name].past_sids, sid)
            )
        record = record.replace(revision=record.revision + 1)
        for host, slot in world.slots(raft.database):
            if host.name in names and host.on:
                slot.end()
                slot.file = None
            if host.on and host.reachable:
                slot.record = record
    world.declared, world.former = stay, tuple(sorted({*world.former, *names}))


def _recreate(world: World) -> None:
    """Pods only: the StatefulSets are gone, and with them the pods."""
    world.replicas = dict.fromkeys(world.databases)


def _clock(world: World, seconds: int) -> None:
    world.now += seconds


def _write(world: World) -> None:
    for database in world.databases:
        Raft(world, database).write()


def _burst(world: World, name: str) -> None:
    for database in world.databases:
        for _write_number in range(3):
            Raft(world, database).write((name,))


def _nothing(world: World) -> None:
    pass


def _confirm(world: World, option: str) -> None:
    world.confirmed |= {option}


def _containers(world: World) -> None:
    """As somebody else has rolled out this cluster."""
    world.adopts = True
    for database in world.databases:
        world.config_map[database] = None
        for _host, slot in world.slots(database):
            slot.container, slot.volume, slot.enabled = "runs", None, False
            slot.record = slot.older_record = slot.settings = slot.witness = None
            slot.witnesses = ()
            if slot.server is not None:
                slot.server = slot.server._replace(settings=OF_CONTAINERS)


def _container(world: World, name: str) -> None:
    """With an empty volume it joins by itself, under a new id, as images do."""
    host = world.hosts[name]
    for database, slot in host.slots.items():
        if not host.on or slot.server is not None or slot.container not in ("down", "stopped"):
            continue
        if slot.volume is None:
            for _leader, other in Raft(world, database).leaders()[:1]:
                data = t.cast(Server, other.server).data
                remotes = tuple(data.servers.values())
                slot.volume = File("joining", data.cid, world.fresh_id(), host.address, 0, EMPTY, remotes)
        if slot.volume is not None and slot.volume.kind in ("member", "joining"):
            slot.start_container()


_ACTIONS: dict[str, t.Callable[..., None]] = {
    "write": _write,
    "burst": _burst,
    "crash": _each(_stop),
    "start": _boot,
    "down": _down,
    "boot": _boot,
    "lose": _each(_lose),
    "unmount": _each(_unmount),
    "mount": _mount,
    "unlink": _each(_unlink),
    "snapshot": _each(_snapshot),
    "restore": _restore,
    "clone": _clone,
    "move": _move,
    "damage": _each(_damage("broken")),
    "rot": _each(_rot),
    "cut_off_join": _each(_damage("dead-join")),
    "fill": _each(_flag("full", True)),
    "free": _each(_flag("full", False)),
    "slow": _each(_flag("slow", True)),
    "fast": _each(_flag("slow", False)),
    "trail": _each(_flag("trails", True)),
    "keep_up": _each(_flag("trails", False)),
    "cut": _cut,
    "deaf": _deaf,
    "mute": _mute,
    "half": _half,
    "heal": _heal,
    "flaky": _each(_flag("tool_fails", True)),
    "steady": _each(_flag("tool_fails", False)),
    "unreachable": _reachable(False),
    "reachable": _reachable(True),
    "wrong_address": _wrong_address,
    "right_address": _right_address,
    "bad_settings": _settings(False),
    "useless_settings": _settings(False, loads=False),
    "good_settings": _settings(True),
    "install": _install,
    "hesitate": _hesitant(True),
    "decide": _hesitant(False),
    "lead": _lead,
    "kick": _kick,
    "rejoin": _rejoin,
    "hold": _hold(True),
    "hold_one": _each(_hold_one),
    "release": _hold(False),
    "lose_record": _each(_lose_record),
    "lose_all_records": _lose_all_records,
    "backup_record": _each(_backup_record),
    "restore_record": _each(_restore_record),
    "scale": _scale,
    "shrink": _shrink,
    "replace_hosts": _replace_hosts,
    "recreate": _recreate,
    "clock": _clock,
    "time": _nothing,
    "confirm": _confirm,
    "containers": _containers,
    "container": _container,
}


def accept_rollback(world: World, database: str, names: t.Collection[str]) -> None:
    """What is remembered of these members is deleted: old copies start. What they lack is given up, and no write that all of them have."""
    for _host, slot in world.slots(database):
        copies = [slot.snapshot[0]] if slot.snapshot is not None else []  # put back before anything is remembered
        known = slot.witness
        if known is not None and slot.file is not None and known.sid == slot.file.sid:
            copies += [slot.file] if slot.file.position < known.position or known.disk != slot.disk else []
        for copy in copies:
            world.rolled_back |= {database}
            world.given_up[database] |= world.acknowledged[database] - (
                copy.writes if copy is not None else frozenset()
            )
    world.client[database] = world.client[database]._replace(index=0)  # whoever accepts that restarts the clients
    for name in names:
        slot = world.hosts[name].slots[database]
        slot.witness, slot.witnesses = None, ()
    settle(world)


def give_up_cluster(world: World, database: str) -> None:
    """The control plane of before is gone for good: the operator has said so, or nobody knows it any more."""
    world.clients[database], world.acknowledged[database] = frozenset(), frozenset()
    world.given_up[database], world.client[database] = frozenset(), Client()
    for host, slot in world.slots(database):
        if host.name not in world.declared:
            slot.end()
            slot.file = slot.volume = slot.record = slot.older_record = slot.snapshot = slot.witness = None
            slot.container = ""


def check(world: World) -> None:
    """Safety after every event: `Violation` if something is that must never be."""
    for database in world.databases:
        if len(world.clients[database]) > 1:
            raise Violation(
                f"clients of {database} were given two clusters: {', '.join(sorted(world.clients[database]))}"
            )
        raft = Raft(world, database)
        sids = [slot.server.data.sid for _host, slot in raft.running() if slot.server]
        twice = sorted({sid for sid in sids if sid and sids.count(sid) > 1})
        if twice:
            raise Violation(f"two servers of {database} run as {twice[0][:4]}")
        for host, slot in world.slots(database):
            if slot.file is not None and slot.volume is not None and slot.file.sid == slot.volume.sid:
                raise Violation(f"the file of a container lies in our place on {host.name}, too")
        leaders = raft.leaders()
        if leaders and database not in world.rolled_back:
            _check_logs(world, raft, leaders[0][0])
        for host, slot in leaders:
            writes = t.cast(Server, slot.server).data.writes
            if (
                world.clients[database]
                and raft.serves(slot)
                and raft.has_majority(host)
                and not world.acknowledged[database] - world.given_up[database] <= writes
            ):
                raise Violation(
                    f"clients of {database} are served by {host.name}, which lacks what was acknowledged to them"
                )
        if leaders:
            data = t.cast(t.Any, leaders[0][1].server).data
            lost = world.acknowledged[database] - world.given_up[database] - data.writes
            if lost:
                raise Violation(
                    f"{len(lost)} acknowledged write(s) of {database} are lost: {leaders[0][0].name} leads without them"
                )


def _check_logs(world: World, raft: Raft, leader: Host) -> None:
    """Raft takes entries of one term and index for the same: where they are not, members go on with different data for good."""
    logs = {host.name: t.cast(Server, slot.server).data.log for host, slot in raft.peers(leader).values()}
    differs = sorted(name for name, log in logs.items() if log.differs_unnoticed(logs[leader.name]))
    if differs:
        raise Violation(f"{differs[0]} has another entry at the same term and index than its leader {leader.name}")


def sentence(event: Event) -> str:
    name, *arguments = event
    return SENTENCES[name].format(*arguments)
