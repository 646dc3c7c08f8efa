"""The launcher's decision table, row by row as the shell script has it; test_launcher.py runs both on the same files."""

from __future__ import annotations

import typing as t

from ansible_collections.c5c3.ovn.plugins.module_utils._raft.record import FORMER, Record

from .log import EMPTY, Entry, File
from .world import Host, Raft, Server, Slot, Violation, Witness, World


class Decision(t.NamedTuple):
    """`decision` is start, create, join, ask, refuse or idle; `file_class` what the script calls the file."""

    decision: str
    file_class: str
    reason: str = ""


def decide(
    file: File | None,
    record: Record | None,
    member: str,
    address: str,
    witness: Witness | None = None,
    disk: int = 0,
    *,
    local: bool = True,
) -> Decision:
    """What the launcher of `member` does with this file; `address` is that of its settings."""
    mine = record.members.get(member) if record is not None else None
    state, my_sid = (mine.state, mine.sid) if mine is not None else ("", None)
    file_class = _class(file, witness, disk)
    given_up = witness is not None and state == "expected" and my_sid == witness.sid
    if file is None and witness is not None and witness.disk != disk and not given_up:
        file_class = "none" if state == "leaving" or state in FORMER else "disk-missing"  # R32
    sid = file.sid if file is not None else None
    my_address = mine.address if mine is not None else ""
    others = (
        [m.address for name, m in record.members.items() if name != member and m.state not in FORMER] if record else []
    )
    cid = record.cid if record is not None else None
    permit = record.permit.member if record is not None and record.permit else ""

    given_up = False
    if state == "expected" and my_sid:
        if file_class in ("empty", "unidentifiable"):
            given_up = True
        elif file_class == "broken":
            given_up = not (sid and sid != my_sid)
        else:
            given_up = sid == my_sid
    if record is not None and record.hold:
        return Decision("idle", file_class, "the record is on hold")
    if state in FORMER:
        return Decision("idle", file_class, f"the record says {state}")
    if not given_up:
        refused = _foreign(file, file_class, record, state, my_sid, my_address or address)
        if refused is not None:
            return refused
        if file_class in ("outdated-copy", "other-disk", "disk-missing"):
            return Decision("ask", file_class, f"the file is of the class {file_class}")
        if file_class in ("member", "joining") and state == "replacing":
            return Decision("ask", file_class, "the record says replacing")
        if file is not None and file_class in ("member", "joining"):
            if not cid and permit and permit != member:
                return Decision("ask", file_class, f"{permit} has the permit")
            if file_class == "joining" and (not file.cid or (others and not set(file.remotes) & set(others))):
                return Decision("ask", "joining-outdated", "none of its remotes is a member now")
            return Decision("start", file_class, "start from the file")
        if file_class in ("dead-join", "broken", "unidentifiable"):
            return Decision("ask", file_class, f"the file is {file_class}")
        if file_class == "left":
            if state == "leaving":
                return Decision("idle", file_class, "it has left")
            if state != "expected":
                return Decision("ask", file_class, f"it has left, the record says {state or 'nothing'}")
    if state == "leaving":
        return Decision("idle", file_class, "it is leaving and has no file")
    if state in ("confirmed", "replacing"):
        return Decision("ask", file_class, f"its database is lost, the record says {state}")
    if state != "expected":
        return Decision("ask", file_class, "the record does not name it")
    if my_address != address:
        return Decision("refuse", file_class, f"the record says {my_address}, the settings say {address}")
    if not local:
        return Decision("refuse", file_class, f"{address} is not an address of this host")
    if cid:
        return Decision("join", file_class) if others else Decision("ask", file_class, "nobody to join")
    if permit != member:
        return Decision("ask", file_class, f"the permit is given to {permit or 'nobody'}")
    return Decision("create", file_class)


def _class(file: File | None, witness: Witness | None, disk: int) -> str:
    """R25: a file that has less than its server is known to have had, or lies on another disk, is no member's."""
    if file is None:
        return "none"
    kind = "broken" if file.kind == "rotten" else file.kind  # R39: all records are read, not only the end of the file
    if kind not in ("member", "joining") or witness is None or witness.sid != file.sid:
        return kind
    if witness.disk != disk:
        return "other-disk"
    return "outdated-copy" if file.position < witness.position else kind


def _foreign(
    file: File | None, file_class: str, record: Record | None, state: str, my_sid: str | None, address: str
) -> Decision | None:
    if file is None or file_class in ("none", "empty", "unidentifiable"):
        return None
    if file_class == "standalone":
        return Decision("refuse", "standalone", "the file is a standalone database")
    if not file.sid:
        return None
    cid = record.cid if record is not None else None
    if file.cid and record is not None and file.cid in record.retired_cids:
        return Decision("refuse", "retired-cid", "the file belongs to a retired cluster")
    if file_class != "left" and record is not None and file.sid in record.retired_sids:
        return Decision("refuse", "retired-sid", "the file is of a server that left for good")
    if file.cid and cid and file.cid != cid:
        return Decision("refuse", "foreign-cid", f"the file belongs to cluster {file.cid}")
    if file_class not in ("member", "joining"):
        return None
    if file.address != address:
        return Decision(
            "refuse", "foreign-address", f"the file says {file.address}, the record or the settings say {address}"
        )
    if state != "expected" and my_sid and my_sid != file.sid:
        return Decision("refuse", "foreign-sid", f"the file has sid {file.sid}, the record says {my_sid}")
    return None


def launch(world: World, database: str, host: Host) -> Decision:
    """Start the unit or the pod: what the launcher does once. It changes nothing if a server runs or it may not start one."""
    slot = host.slots[database]
    decision = decide_for(world, database, host)
    if slot.server is not None:
        return decision
    if decision.decision == "create" and _vetoed(world, database, host):
        return Decision("refuse", decision.file_class, "no cluster is created, because there is one")
    if decision.decision in ("create", "join"):
        if slot.full:
            return Decision("failed", decision.file_class, "no space left on the disk")
        _new_file(world, slot, host, t.cast(Record, _record(world, database, slot)), decision)
    if decision.decision in ("create", "join", "start"):
        file = t.cast(File, slot.file)
        if file.address != host.address:
            return Decision("failed", decision.file_class, f"{file.address} is no address of this host")
        if not (slot.settings or world.settings).loads:
            return Decision("failed", decision.file_class, "the server does not start with these settings")
        slot.file = file.as_read()
        record = _record(world, database, slot)
        if record is not None and file.sid in record.retired_sids:
            raise Violation(f"the launcher on {host.name} starts a server although it knows that it left for good")
        known = slot.witness
        if known and known.sid == file.sid and (slot.file.position < known.position or known.disk != slot.disk):
            raise Violation(f"the launcher on {host.name} starts a copy although it knows a newer one or another disk")
        slot.server = Server(slot.file, slot.settings or world.settings)
    return decision


def decide_for(world: World, database: str, host: Host) -> Decision:
    slot = host.slots[database]
    record = _record(world, database, slot)
    # Pods have names, of which the launcher cannot tell whether they are its own.
    local = world.pods or world.address_of(host.name) == host.address
    # A pod remembers nothing of the pod before it: this is what Kubernetes keeps, by observer and runs.
    known = slot.witness
    return decide(slot.ours, record, host.name, world.address_of(host.name), known, slot.disk, local=local)


def _record(world: World, database: str, slot: Slot) -> Record | None:
    """What the launcher reads: the copy of its machine, or the ConfigMap that is mounted."""
    return world.config_map[database] if world.pods else slot.record


def _vetoed(world: World, database: str, host: Host) -> bool:
    """Whether a database server answers at the address of a declared peer."""
    return any(
        other is not host
        and not {(host.name, other.name), (other.name, host.name)} & world.cut
        and other.name in world.declared
        for other, _slot in Raft(world, database).running()
    )


def _new_file(world: World, slot: Slot, host: Host, record: Record, decision: Decision) -> None:
    if slot.file is not None:
        slot.aside += 1
    address = world.address_of(host.name)
    sid = world.fresh_id()
    if decision.decision == "create":
        slot.file = File(
            "member", world.fresh_id(), sid, address, 1, EMPTY.append(Entry(1, "servers", ((sid, address),)))
        )
    else:
        others = tuple(m.address for name, m in record.members.items() if name != host.name and m.state not in FORMER)
        slot.file = File("joining", record.cid, sid, address, 0, EMPTY, others)
