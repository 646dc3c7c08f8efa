"""Liveness: faults stop, then a few runs have to lead to a healthy cluster, or a refusal has to name a remedy that leads there."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.c5c3.ovn.plugins.module_utils._raft.record import Record

from . import events
from .canonical import canonical
from .log import File
from .runs import Outcome, SimulatedRun, guarded, healthy
from .state import fingerprint
from .world import PAUSE_SECONDS, Raft, Violation, World

# Runs after the last fault, remedies included.
MOST_RUNS = 16


def stop_faults(world: World) -> None:
    """Everything that an operator repairs without knowing Raft: power, network, disks that are full, tools, variables."""
    world.now += PAUSE_SECONDS
    world.cut, world.hesitant = frozenset(), False
    world.wrong_address = frozenset()
    world.confirmed |= {"allow_outage"}
    if not (world.settings.good and world.settings.loads):
        events.apply(world, ("good_settings",))
    for host in world.hosts.values():
        host.reachable = True
        for slot in host.slots.values():
            slot.slow = slot.full = slot.tool_fails = False
    booted = [name for name, host in world.hosts.items() if not host.on]
    for name in booted:
        events.apply(world, ("boot", name))
    events.apply(world, ("release",))
    for name in booted:  # their launchers wait for the release
        events.apply(world, ("start", name))
    for name, host in world.hosts.items():  # those that a run has stopped stay down
        if any(slot.container == "down" for slot in host.slots.values()):
            events.apply(world, ("container", name))
    events.settle(world)
    events.settle(world)


class Remedy(t.NamedTuple):
    """`apply` does what the message that matches `words` names; it returns False if there is nothing of that kind to do."""

    words: str
    apply: t.Callable[[World, re.Match[str]], bool]


def _remove_file(world: World, match: re.Match[str]) -> bool:
    """The message names the member whose file is in the way; the operator stops our server on it, and moves it aside."""
    name = match["member"]
    if name not in world.hosts:
        return False
    changed, slots = False, world.hosts[name].slots
    named = [slot for database, slot in slots.items() if f"{database} on {name}" in match.string]
    for slot in named or slots.values():
        if slot.file is not None and not slot.contained:
            slot.end()
            slot.file, changed = None, True
    return changed


def _start_containers(world: World, names: t.Iterable[str]) -> bool:
    """What ran these members runs them again; one whose volume holds nothing useful gets an empty one."""
    changed = False
    for name in names:
        for slot in world.hosts[name].slots.values():
            if slot.server is None and slot.container and slot.volume is not None and slot.volume.kind != "member":
                slot.volume = None
            before = slot.server
            events.apply(world, ("container", name))
            changed = changed or slot.server is not before
    return changed


def _start_what_ran(world: World, match: re.Match[str]) -> bool:
    """Whoever starts containers looks at the others as well: at those that gave up when their disk was full."""
    named = [name for name in match["members"].split(", ") if name in world.hosts]
    restarted = _restart_failed(world, match)
    return _start_containers(world, named) or restarted or _end_adoption(world)


def _stop_container(world: World, match: re.Match[str]) -> bool:
    """A member of ours is the one that counts: the container ends, and our unit starts. What is no member's is moved aside."""
    host = world.hosts[match["member"]]
    for slot in host.slots.values():
        file = slot.ours
        if (
            slot.contained
            and file is not None
            and (file.kind not in ("member", "joining") or file.address != host.address)
        ):
            slot.volume = None
        elif slot.contained:
            slot.end()
            slot.container = "stopped"
    events.apply(world, ("start", match["member"]))
    return True


def _start_stopped(world: World, match: re.Match[str]) -> bool:
    """What a run has stopped and not replaced yet takes part again."""
    return _start_containers(world, [name for name in match["members"].split(", ") if name in world.hosts])


def _repair_container(world: World, match: re.Match[str]) -> bool:
    """A container whose server was removed is made again, with an empty volume."""
    every = [pair for database in world.databases for pair in world.slots(database)]
    gone = [host.name for host, slot in every if slot.contained and slot.server and slot.server.data.kind == "left"]
    return _restart_containers(world, gone)


def _restart_failed(world: World, match: re.Match[str]) -> bool:
    """Containers whose servers gave up when their disks were full; no launcher does that for them."""
    every = [pair for database in world.databases for pair in world.slots(database)]
    return _restart_containers(
        world, [host.name for host, slot in every if slot.contained and slot.server and slot.server.failed]
    )


def _restart_containers(world: World, names: t.Collection[str]) -> bool:
    """One that has to join again can only do so when somebody leads: until then it is down."""
    for name in names:
        for slot in world.hosts[name].slots.values():
            if slot.contained:
                slot.end()
    events.settle(world)
    return _start_containers(world, names) or bool(names)


def _restart_units(world: World, match: re.Match[str]) -> bool:
    """No adoption restarts all members at once: whoever corrected the settings restarts the units that have old ones."""
    changed = False
    for name, host in world.hosts.items():
        for slot in host.slots.values():
            due = slot.server is not None and not slot.contained and slot.server.settings != world.settings
            if world.adopts and due:
                slot.end()
                slot.settings, changed = world.settings, True
        if changed:
            events.apply(world, ("start", name))
    return changed


def _end_adoption(world: World) -> bool:
    """Every member was taken over: c5c3.ovn.site goes on from there."""
    slots = [slot for database in world.databases for _host, slot in world.slots(database)]
    changed = world.adopts and all(slot.enabled and not slot.contained for slot in slots)
    world.adopts = world.adopts and not changed
    return changed


def _put_back(world: World, match: re.Match[str]) -> bool:
    """Members that are recorded are declared again."""
    names = [name for name in match["members"].split(", ") if name in world.hosts]
    declared = tuple(name for name in world.hosts if name in {*world.declared, *names})
    if declared == world.declared:
        return False
    world.declared = declared
    return True


def _undo_shrink(world: World, match: re.Match[str]) -> bool:
    """Members went back to copies from before some of them left, as the operator has accepted: so does the record, and they are declared again."""
    changed = False
    for database in world.databases:
        for _host, slot in world.slots(database):
            for name, member in slot.record.members.items() if slot.record is not None else ():
                if slot.record is not None and member.past_sids:
                    sid = member.past_sids[-1]
                    slot.record = slot.record.with_member(name, state="confirmed", sid=sid, past_sids=())
                    world.retired[database] -= {sid}
                    changed = True
    world.declared = tuple(name for name in world.hosts if name in {*world.declared, *world.former})
    world.former = ()
    return changed


def _declare_address(world: World, match: re.Match[str]) -> bool:
    """A living member that is not declared: its host goes into the inventory."""
    names = [name for name, host in world.hosts.items() if host.address == match["address"]]
    return _declare(world, {*world.declared, *names})


def _declare(world: World, names: t.Collection[str]) -> bool:
    """These, and one more where that makes the number odd; False if all hosts are too many by one."""
    declared = tuple(name for name in world.hosts if name in names)
    if declared == world.declared:
        return False
    if len(declared) % 2 == 0:
        another = next((name for name in world.hosts if name not in declared), None)
        if another is None:
            return False
        declared = tuple(name for name in world.hosts if name in {*declared, another})
    world.declared = declared
    return True


def _leave_out_one(world: World, match: re.Match[str]) -> bool:
    """An even number of hosts: one that no record names leaves the inventory."""
    records = [slot.record for database in world.databases for _host, slot in world.slots(database)]
    spare = {*world.declared}.difference(*(record.members for record in records if record is not None))
    world.declared = tuple(name for name in world.declared if name != max(spare, default=""))
    return bool(spare)


def _all_members(world: World, match: re.Match[str]) -> bool:
    """Members that run and are not declared: they are the ones to bring back."""
    running = {host.name for database in world.databases for host, slot in world.slots(database) if slot.server}
    return _declare(world, {*world.declared, *running})


def _smaller_side(world: World, match: re.Match[str]) -> bool:
    """A split: the operator keeps the side with the acknowledged writes, and moves the files of the other away."""
    changed = False
    for database in world.databases:
        keep = {
            slot.file.cid
            for _host, slot in world.slots(database)
            if slot.file and world.acknowledged[database] and world.acknowledged[database] <= slot.file.writes
        }
        record = world.config_map[database]
        if not keep:  # nothing was ever acknowledged
            served = {slot.server.data.cid for _host, slot in world.slots(database) if slot.server}
            keep = {record.cid} if record is not None and record.cid else served
        for _host, slot in world.slots(database):
            if keep and slot.file is not None and slot.file.cid not in keep:
                slot.end()
                slot.file, slot.record, changed = None, None, True
    return changed


def _remove_records(world: World, match: re.Match[str]) -> bool:
    """Copies of the record that name another cluster than the files with the acknowledged writes."""
    changed = False
    for database in world.databases:
        cids = {
            s.file.cid for _h, s in world.slots(database) if s.file and world.acknowledged[database] <= s.file.writes
        }
        for _host, slot in world.slots(database):
            if slot.record is not None and slot.record.cid and slot.record.cid not in cids:
                slot.record, changed = None, True
    return changed


def _right_copy(world: World, match: re.Match[str]) -> bool:
    """Of two copies that differ, the one goes that calls a server confirmed which the leader does not list, if the other does not."""
    database = match["database"]
    slots = [world.hosts[match[name]].slots[database] for name in ("one", "other")]
    for _leader, leading in Raft(world, database).leaders()[:1]:
        listed = leading.server.data.servers if leading.server else {}
        wrong = [
            slot
            for slot in slots
            if slot.record and any(m.state == "confirmed" and m.sid not in listed for m in slot.record.members.values())
        ]
        if len(wrong) == 1:
            wrong[0].record = None
            return True
    return False


def _its_members(world: World, match: re.Match[str]) -> bool:
    """The inventory names the hosts of the control plane that clients know."""
    addresses: set[str] = set()
    for database in world.databases:
        files = [slot.file for _host, slot in world.slots(database) if slot.file is not None]
        known = [file for file in files if file.cid in world.clients[database]]
        addresses |= set(max(known, key=lambda file: file.position).servers.values()) if known else set()
    names = {name for name, host in world.hosts.items() if host.address in addresses}
    return bool(names) and _declare(world, names)


def _accept_lost_disk(world: World, match: re.Match[str]) -> bool:
    """The disk does not come back: the operator says so."""
    changed = "accept_lost_disk" not in world.confirmed
    world.confirmed |= {"accept_lost_disk"}
    return changed


REMEDIES: tuple[Remedy, ...] = (
    Remedy(r"lists the server (?P<sid>\S+) at \S+, which left the cluster for good", _undo_shrink),
    Remedy(r"does not run on (?P<members>[\w, -]+), and runs on other hosts", _start_what_ran),
    Remedy(r"lies in our place on (?P<member>[\w-]+)[,\w -]* and no run has put it there", _remove_file),
    Remedy(r"runs again on (?P<members>[\w, -]+): start what ran it", _start_what_ran),
    Remedy(r"start what ran (?P<members>[\w, -]+), which a run has stopped", _start_stopped),
    Remedy(r"could not write: free space on its disk", _restart_failed),
    Remedy(r"wait for \S+ to elect a leader", _restart_units),
    Remedy(r"could not be examined", _repair_container),
    Remedy(r"runs in a container of (?P<member>[\w-]+), and a file lies in our place", _stop_container),
    Remedy(r" runs in a container, which no run starts again", _restart_failed),
    Remedy(r"disk-missing|Mount its disk|gone for good, .*lost_disk\S* replaces the member", _accept_lost_disk),
    Remedy(r"(?P<members>[\w, -]+?) is a recorded member of", _put_back),
    Remedy(r" on (?P<member>[\w-]+): (?!.* is not (re)?started).*(file|belongs|database)", _remove_file),
    Remedy(r"central hosts are declared for \S+\. Use 1, 3 or 5", _leave_out_one),
    Remedy(r"Use the inventory that has its members", _its_members),
    Remedy(r"has a member \w+( \(\w+\)|, which [\w-]+ lists,)? at (?P<address>\S+) that", _declare_address),
    Remedy(r"has the \w+ address (?P<address>\S+), .* declare the host that its disk came from", _declare_address),
    Remedy(r" is split: ", _smaller_side),
    Remedy(r" has no quorum: ", _all_members),
    Remedy(r" has no quorum: ", _its_members),
    Remedy(r"name different clusters", _remove_records),
    Remedy(r"state record of (?P<database>\w+) on (?P<one>\S+) and (?P<other>\S+) are both revision \d+", _right_copy),
)


def _is_foreign(record: Record | None, name: str, file: File) -> bool:
    """A member that was made by hand in the place of a recorded one: without a leader nobody says that it is one, and its launcher refuses it."""
    member = record.members.get(name) if record is not None else None
    return member is not None and member.state == "confirmed" and member.sid != file.sid


def recoverable(world: World) -> bool:
    """Whether a quorum of good files is there, so that nothing but runs should be needed."""
    for database in world.databases:
        records = [world.config_map[database], *(slot.record for _h, slot in world.slots(database))]
        known = max((one for one in records if one is not None), key=lambda one: one.revision, default=None)
        files = [
            slot.file
            for host, slot in world.slots(database)
            if slot.file is not None
            and slot.file.kind == "member"
            and not _is_foreign(known, host.name, slot.file)
            and slot.file.address == host.address
            and (
                slot.witness is None or slot.witness.sid != slot.file.sid or slot.file.position >= slot.witness.position
            )
            and (slot.witness is None or slot.witness.sid != slot.file.sid or slot.witness.disk == slot.disk)
        ]
        files += [
            slot.volume
            for _host, slot in world.slots(database)
            if slot.volume is not None and slot.volume.kind == "member" and not slot.contained
        ]
        ever = bool(world.clients[database] or world.acknowledged[database])
        if not files:
            recorded = world.config_map[database] is not None and world.config_map[database].cid
            if ever or recorded or any(slot.record or slot.file for _h, slot in world.slots(database)):
                return False
            continue
        newest = max(files, key=lambda file: file.position)
        if any(record is not None and record.cid not in (None, newest.cid) for record in records):
            return False
        good = {file.sid for file in files if file.cid == newest.cid} & set(newest.servers)
        if 2 * len(good) <= len(newest.servers):
            return False
        if not world.acknowledged[database] <= newest.writes:
            return False
    return True


Known = dict[t.Hashable, Outcome]


def check(world: World, known: Known, identity: t.Callable[[World], t.Hashable] = fingerprint) -> Outcome:
    """Runs on a copy of the world; `Violation` if neither runs nor named remedies help. Returns the last outcome.

    `known` are worlds without faults that were found to be live: what comes next depends on nothing else, so they are not played again.
    """
    world = world.copy()
    stop_faults(world)
    canonical(world)
    mark = identity(world)
    if mark not in known:
        outcome = _play_on(world)
        known[mark] = outcome._replace(remembered=True)
        return outcome
    return known[mark]


def _play_on(world: World) -> Outcome:
    able = recoverable(world)
    messages: list[str] = []
    for _run in range(MOST_RUNS):
        outcome = guarded(SimulatedRun(world))
        events.check(world)
        events.settle(world)
        why = healthy(world)
        if not why:
            return outcome
        if outcome.word == "done":
            raise Violation(f"a run says that all is done, but {why}")
        # Each database may stop one run for the same reason.
        if messages[-2:] == [outcome.message] * 2 and not _remedy(world, outcome.message):
            break
        messages.append(outcome.message)
        world.now += PAUSE_SECONDS
    if outcome.word == "done":
        return outcome
    if able:
        raise Violation(f"no run makes progress although a quorum of good files is there: {messages[-1]}")
    return outcome


def _remedy(world: World, message: str) -> bool:
    for remedy in REMEDIES:
        match = re.search(remedy.words, message)
        if match and remedy.apply(world, match):
            events.settle(world)
            return True
    return _end_adoption(world)
