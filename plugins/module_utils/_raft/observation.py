# SPDX-License-Identifier: GPL-3.0-or-later
"""What a run sees of one member of one database on its own host: the file, the copy of the record, the running process. `ovn_raft_member`
makes it, the plan reads it; in between it travels as plain data.
"""

from __future__ import annotations

import dataclasses
import functools
import typing as t

from .answer import Answer
from .record import Record, parse_record

# The launcher's names for what is on the disk. Only a database file of these classes starts.
STARTABLE = frozenset({"member", "joining"})
# Of this member, but not what it had acknowledged last, or on another disk (R25).
OTHER_THAN_KNOWN = frozenset({"outdated-copy", "other-disk"})
# Nothing of the cluster's data can come back from these; the member has to join again.
LOST = OTHER_THAN_KNOWN | {"none", "empty", "unidentifiable", "joining-outdated", "dead-join", "broken", "left"}
# No file, but another file system than the one that held it (R32): it may only not be mounted, so nothing is lost until the operator says so.
DISK_MISSING = "disk-missing"


@dataclasses.dataclass(frozen=True)
class Observation:
    """One member. `listed` maps the first four digits of each server id in this member's list to the address; only the leader's list counts.

    `file_sid` is the server id in the file, and if the disk is missing that of the server whose file was on it.

    `starting`: the server has just started and needs time to find the others, so that it may take part without any step.
    `last_term` and `last_index` belong to the last log entry of the file, `witness_index` is the highest index that this member is known to have
    had. `witnesses` maps the first four digits of each server id to the highest committed index that this host has recorded of it.
    `witness_entry` are term and index of the last entry that this member is known to have had committed.
    `replace_reason` says why a member that runs has to give way to a new one on its host: another program has its file, and would start it again.
    `ours`: False for one that is down where no unit of this collection was ever enabled for it, so that something else may start it again.
    `start_problem` says why a start with the present settings and files would fail, `host_problem` why it would fail with whatever a run writes: the
    declared address is not here, the disk is full. Sizes are in bytes. None: not known.
    """

    member: str
    installed: bool = True
    file_class: str = "none"
    file_cid: str | None = None
    file_sid: str | None = None
    file_reason: str = ""
    record: dict[str, t.Any] | None = None
    running: bool = False
    connected: bool = False
    leader: bool = False
    cid: str | None = None
    sid: str | None = None
    listed: dict[str, str] = dataclasses.field(default_factory=dict)
    restart_reason: str = ""
    replace_reason: str = ""
    ours: bool = True
    starting: bool = False
    last_term: int | None = None
    last_index: int | None = None
    witness_index: int | None = None
    witnesses: dict[str, int] = dataclasses.field(default_factory=dict)
    witness_entry: tuple[int, int] | None = None
    start_problem: str = ""
    host_problem: str = ""
    file_bytes: int | None = None
    free_bytes: int | None = None
    answer: dict[str, t.Any] = dataclasses.field(default_factory=dict)

    def as_dict(self) -> dict[str, t.Any]:
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, data: t.Mapping[str, t.Any]) -> Observation:
        known = {field.name for field in dataclasses.fields(cls)}
        return cls(**{key: value for key, value in data.items() if key in known})

    @property
    def is_lost(self) -> bool:
        """Return whether the disk no longer has this member's data. A server may still run on a deleted file; it is lost with the next restart."""
        return self.file_class in LOST

    @functools.cached_property
    def write_failed(self) -> bool:
        """Return whether the server could not write its file, which it never tries again (`failed` in OVS' raft.c): only a restart brings it back.

        Some time later it closes the database, and knows no cluster of that name any more.
        """
        if not self.running or self.connected or self.reported_answer is None:
            return False
        if self.reported_answer.status is not None:
            return self.reported_answer.status.status == "failed"
        return (
            self.file_class == "member"
            and self.reported_answer.server is not None
            and any(problem.code == "no_database" for problem in self.reported_answer.problems)
        )

    @functools.cached_property
    def reported_answer(self) -> Answer | None:
        """Return the answer of the server, None if it was not asked."""
        return Answer.from_dict(self.answer) if self.answer else None

    @property
    def term(self) -> int:
        """Return the Raft term that the server is in, 0 if it did not say."""
        return (
            self.reported_answer.status.term
            if self.reported_answer is not None and self.reported_answer.status is not None
            else 0
        )

    @functools.cached_property
    def recorded(self) -> Record | None:
        """Return this host's copy of the state record, None if it has none; `InvalidInput` if it cannot be read."""
        return parse_record(self.record) if self.record else None

    def target(self) -> dict[str, t.Any]:
        """Return what a step relies on when this member is its target, as plain data."""
        target: dict[str, t.Any] = {"running": self.running, "connected": self.connected, "leader": self.leader}
        if self.running:
            return {**target, "sid": self.sid}
        # A member whose disk is missing has no file: once the loss is accepted, the step relies on no more than that.
        return {**target, "file_class": "none" if self.file_class == DISK_MISSING else self.file_class}


def newest_leader(observed: t.Iterable[Observation]) -> Observation | None:
    """Return the leader of the latest term that takes part, None without one.

    An isolated leader calls itself so for some time after the others have elected one of a later term.
    """
    return max((o for o in observed if o.leader and o.connected), key=lambda o: o.term, default=None)
