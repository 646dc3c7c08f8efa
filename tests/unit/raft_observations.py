"""A Northbound of three members as a run observes it, to be bent into every situation. For tests of the plan."""

from __future__ import annotations

import dataclasses
import typing as t

from ansible_collections.c5c3.ovn.plugins.module_utils._raft.observation import Observation
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.record import Member, Permit, Record
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.step import Run

CID = "aaaaaaaa-0000-4000-8000-000000000000"
OTHER = "bbbbbbbb-0000-4000-8000-000000000000"
NAMES = ("c1", "c2", "c3")
SIDS = {name: f"{i}{i}{i}{i}0000-0000-4000-8000-000000000000" for i, name in enumerate(NAMES, 1)}
ADDRESSES = {name: f"ssl:192.0.2.{i}:6643" for i, name in enumerate(NAMES, 1)}
LISTED = {SIDS[name][:4]: ADDRESSES[name] for name in NAMES}
RUN = Run("northbound", ADDRESSES, name="this run", time="2026-01-01T00:00:00Z")
RECORD = Record("northbound", {n: Member(ADDRESSES[n], "confirmed", SIDS[n]) for n in NAMES}, revision=7, cid=CID)
EXPECTED = Record("northbound", {n: Member(ADDRESSES[n]) for n in NAMES}, revision=1)
PERMIT = EXPECTED.replace(permit=Permit("c1", "an older run", "2025-01-01T00:00:00Z"))


def blank(name: str, record: Record | None = None) -> Observation:
    """A fresh machine; in check mode it stays without launcher."""
    return Observation(name, installed=False, record=record.as_dict() if record else None)


def up(name: str, record: Record | None = RECORD, **changes: t.Any) -> Observation:
    base = Observation(
        name,
        file_class="member",
        file_cid=CID,
        file_sid=SIDS.get(name),
        record=record.as_dict() if record else None,
        running=True,
        connected=True,
        leader=name == "c2",
        cid=CID,
        sid=SIDS.get(name),
        listed=LISTED,
    )
    return dataclasses.replace(base, **changes)


def down(name: str, record: Record | None = RECORD, **changes: t.Any) -> Observation:
    off = {"running": False, "connected": False, "leader": False, "cid": None, "sid": None, "listed": {}}
    return up(name, record, **{**off, **changes})


def lost(name: str, record: Record = RECORD, **changes: t.Any) -> Observation:
    return down(name, record, **{"file_class": "none", "file_cid": None, "file_sid": None, **changes})


WITHOUT_C3 = {SIDS[name][:4]: ADDRESSES[name] for name in ("c1", "c2")}


def cut_off(name: str, file_class: str, **changes: t.Any) -> Observation:
    """It has never been a member, but has a file."""
    record = with_state(name, "expected", None)
    return down(name, record, **{"file_class": file_class, **changes})


def with_state(name: str, state: str, sid: str | None) -> Record:
    """The next revision of the record, with another state of one member."""
    return RECORD.with_member(name, state=state, sid=sid).replace(revision=RECORD.revision + 1)
