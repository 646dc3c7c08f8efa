# SPDX-License-Identifier: GPL-3.0-or-later
"""The terms of a plan, and what both halves of it read from the observations: bootstrap (plan.py) and maintenance (maintenance.py). Pure."""

from __future__ import annotations

import dataclasses
import typing as t

from .._base.deadline import Deadline
from .._base.errors import Changed, Refused, TimedOut, Unreachable
from .answer import Answer
from .gates import Name
from .observation import DISK_MISSING, STARTABLE, Observation, newest_leader
from .record import Record
from .view import freshness

# How a step on a member can fail, and the messages for it: the same for machines and pods. Pure.


def not_joined_error(database: str, member: str, deadline: Deadline, last: str) -> TimedOut:
    return TimedOut(
        f"The {database} member {member} did not join its cluster within {deadline.seconds:g} s: {last}. "
        "See that most of the members run, open the Raft port between them and compare the certificates, then run again."
    )


def still_listed_error(database: str, server_id: str, deadline: Deadline) -> TimedOut:
    return TimedOut(
        f"The {database} cluster still lists {server_id} {deadline.seconds:g} s after it was asked to remove it. "
        "Run again when the cluster is quiet."
    )


def is_listed(database: str, leader: Answer, server_id: str, place: str) -> bool:
    """Return whether the leader has the server in its list. The list of a follower is no evidence, so the leadership must not have moved."""
    if leader.status is None:
        raise Unreachable(f"{place} does not answer. Run again.")
    if leader.status.role != "leader":
        raise Refused(
            f"The {database} leadership moved away from {leader.member}. Nothing was changed by this step; run again."
        )
    return any(server.sid == server_id[:4] for server in leader.status.servers)


def check_unresponsive(database: str, leader: Answer, server_id: str) -> None:
    """Raise `Changed` if the leader has heard the server a moment ago: it came back since its removal was planned."""
    status = leader.status
    if status is None:
        return
    limit = freshness(status.election_timer)
    for server in status.servers:
        if server.sid == server_id[:4] and server.last_message is not None and server.last_message < limit:
            raise Changed(
                f"The {database} server {server.sid} is not removed: the leader heard it {server.last_message} ms ago."
            )


def read_progress(answer: Answer) -> tuple[t.Any, ...]:
    """Return the part of an answer that changes when the member makes progress."""
    return (
        answer.server and (answer.server.connected, answer.server.leader),
        answer.status and (answer.status.role, answer.status.status, len(answer.status.servers)),
    )


Action = t.Literal["start", "stop", "kick", "restart", "wait"]
# Files that the launcher never starts and never moves aside: the operator has to decide.
UNUSABLE = frozenset(
    {"standalone", "foreign-cid", "retired-cid", "retired-sid", "foreign-name", "foreign-sid", "foreign-address"}
)
Gate = t.Callable[[Name, t.Sequence[Observation], "str | None"], str]
"""`gate(name, observations, member)` is empty when the gate is open, else the reason why it is not."""


class Unexamined(Refused):
    """A rule needs members that could not be examined; no other rule forbids making that possible."""


@dataclasses.dataclass(frozen=True)
class Step:
    """One act. `members` act at the same time; `sid` is the server to kick.

    `expects` maps each of the members to `Observation.target()`: the step is only right for members that are still like that.
    """

    action: Action
    members: tuple[str, ...]
    reason: str
    sid: str | None = None
    expects: dict[str, dict[str, t.Any]] = dataclasses.field(default_factory=dict, compare=False)


@dataclasses.dataclass(frozen=True)
class Round:
    """`record` is to be written everywhere before `step` is taken; both None: nothing is left to do.

    `recorded` is the record before this round, and `stale_copies` means that some copy of it differs. `founding`: this round, or the one that
    was cut off, creates the cluster. `ahead` is the highest log index that a witness knows and the leader has not. `refusal` forbids all but
    `record`, and so does the round after this one.
    """

    record: Record | None = None
    step: Step | None = None
    warnings: tuple[str, ...] = ()
    recorded: Record | None = None
    stale_copies: bool = False
    founding: bool = False
    ahead: int | None = None
    refusal: Refused | None = None

    @property
    def is_empty(self) -> bool:
        return self.record is None and self.step is None

    @property
    def title(self) -> str:
        """Return what the round does, for messages and for the lock."""
        return self.step.reason if self.step else "write the state record"

    def as_dict(self) -> dict[str, t.Any]:
        return {
            "record": self.record.as_dict() if self.record else None,
            "step": {**dataclasses.asdict(self.step), "members": list(self.step.members)} if self.step else None,
            "warnings": list(self.warnings),
            "founding": self.founding,
        }


@dataclasses.dataclass(frozen=True)
class History:
    """What a single observation does not show.

    `leaderless`: for how many seconds no observation has shown a leader. `ahead`: `Round.ahead` of the round before. `refusal`: what would end
    this run after some of its steps.
    """

    leaderless: float = 0.0
    ahead: int | None = None
    refusal: Refused | None = None


@dataclasses.dataclass(frozen=True)
class MessageTexts:
    """The names of places and options in messages; the backends differ."""

    places: str = "central hosts"
    any_place: str = "any central host"
    declaration: str = "the inventory"
    add: str = "put the host back into the group ovn_central"
    own: str = "Put its host into the group ovn_central"
    reach: str = "Make every central host reachable (and don't use --limit), then run again."
    bootstrap: str = "ovn_central_bootstrap is false. Set it to true for the first run."
    outage: str = "ovn_central_permit=outage"
    remove_record: str = "Remove it on every central host if no database exists."
    new_cluster: str = "ovn_central_permit=new_cluster"
    accept_rollback: str = "ovn_central_permit=rollback"
    accept_lost_disk: str = "ovn_central_permit=lost_disk"


PODS = MessageTexts(
    places="replicas",
    any_place="any volume or in the namespace",
    declaration="the specification",
    add="set replicas to the old number again, for a run cannot remove any yet",
    own="Raise replicas if it is one of yours",
    reach="See why with kubectl describe, put it right, then run again.",
    bootstrap="bootstrap is forbid. Set it to auto for the first run.",
    outage="allow_outage=true",
    remove_record="Delete the ConfigMap if no database exists.",
    new_cluster="new_cluster=true",
    accept_rollback="accept_rollback=true",
    accept_lost_disk="accept_lost_disk=true",
)


@dataclasses.dataclass(frozen=True)
class Run:
    """The options of the run. `declared` maps member to Raft address, in the order of the inventory.

    `witnesses` are sentences about an older control plane, found outside the members (R30); None: not searched.
    `wait_timeout`: for how many seconds the same step may be due.
    """

    database: str
    declared: dict[str, str]
    name: str
    time: str
    bootstrap: bool = True
    restart: bool = True
    allow_outage: bool = False
    allow_names: bool = False
    expected_cid: str | None = None
    texts: MessageTexts = MessageTexts()
    witnesses: tuple[str, ...] | None = ()
    new_cluster: bool = False
    accept_rollback: bool = False
    accept_lost_disk: bool = False
    wait_timeout: float = 120.0
    adopt: bool = False  # members that others run are taken over, and nothing is created


def returns_members(step: Step) -> bool:
    """Return whether a step does no more than bring back members with their files, which no refusal may keep from it (R29)."""
    return step.action in ("start", "restart") and all(
        not target["connected"] if target["running"] else target["file_class"] in STARTABLE
        for target in step.expects.values()
    )


def members_of(run: Run, record: Record | None) -> dict[str, str]:
    """Return the members that this run has to know, each with its address: those that are declared, and those that leave and have not left yet."""
    recorded = record.members if record is not None else {}
    return {**{name: m.address for name, m in recorded.items() if m.state == "leaving"}, **run.declared}


def find_unexamined(run: Run, observed: t.Sequence[Observation], record: Record | None = None) -> list[str]:
    """Return the members that could not be examined: they were not reached, or a tool failed (R28)."""
    known = {o.member for o in observed if o.file_class != "unknown" or o.connected}
    return [name for name in members_of(run, record) if name not in known]


def find_stopped(run: Run, record: Record | None, observed: t.Sequence[Observation]) -> list[str]:
    """Return the members that an adoption has stopped and not removed yet, if nobody leads: they have their files where no run looks, and may be needed."""
    if not run.adopt or record is None or newest_leader(observed) is not None:
        return []
    listed = {short for o in observed if o.running for short in o.listed}
    members = {o.member: record.members.get(o.member) for o in observed if not o.running and o.file_class == "none"}
    return [
        name
        for name, member in members.items()
        if member is not None and member.state == "replacing" and member.sid and member.sid[:4] in listed
    ]


def next_revision(record: Record) -> Record:
    return record.replace(revision=record.revision + 1)


def find_cluster_ids(observed: t.Sequence[Observation]) -> dict[str, list[str]]:
    """Return the cluster ids that members answer with or that their files name, each with these members."""
    cids: dict[str, list[str]] = {}
    for o in observed:
        cid = o.cid or (o.file_cid if o.file_class not in ("joining", "retired-cid") else None)
        if cid:
            cids.setdefault(cid, []).append(o.member)
    return cids


def changed_address_message(run: Run, member: str, recorded: str, declared: str) -> str:
    """Return the message for a member that is declared under another address than it has."""
    return (
        f"{member} has the {run.database} address {recorded}, {run.texts.declaration} says {declared}. "
        "The address is part of a member's identity: change it back, or declare the host that its disk came from, then run again. "
        "If the old address is gone, docs/troubleshooting.md has the steps by hand. "
        "Nothing was changed."
    )


def undeclared_member_message(run: Run, member: str, address: str) -> str:
    """Return the message for a server of the cluster that this run does not know of."""
    return (
        f"{run.database} has a {member} at {address} that {run.texts.declaration} does not name. "
        f"{run.texts.own}, or remove it with cluster/leave or cluster/kick. Nothing was changed."
    )


def split_message(run: Run, cids: t.Mapping[str, t.Sequence[str]]) -> str:
    sides = "; ".join(f"{cid} on {', '.join(members)}" for cid, members in sorted(cids.items()))
    return (
        f"{run.database} is split: its members belong to different clusters ({sides}). Nothing was changed. Back up each side with ovsdb-client backup, decide "
        "which one holds the data, and move the other side's files away."
    )


def refuse_missing_disks(run: Run, observed: t.Sequence[Observation]) -> None:
    """Raise `Refused` before a cluster is created beside a disk that may hold one (R32)."""
    missing = [f"on {o.member} {o.file_reason.rstrip('.')}" for o in observed if o.file_class == DISK_MISSING]
    if missing:
        raise Refused(
            f"{run.database} is not created, because a disk that held it is not mounted: {'; '.join(missing)}. Mount it, then run again, or accept the loss "
            f"with {run.texts.accept_lost_disk}. Nothing was created."
        )


def launcher_reason(o: Observation) -> str:
    """Return what the launcher says of a file, without a full stop. It refers operators to the playbook, whose message this becomes."""
    return o.file_reason.partition(" Run the playbook")[0].rstrip(".")


def refuse_unusable_files(run: Run, observed: t.Sequence[Observation]) -> None:
    for o in observed:
        if o.file_class in UNUSABLE:
            reason = launcher_reason(o) or o.file_class
            advice = " Move it away, then run again." if o.file_class == "foreign-sid" else ""
            raise Refused(f"{run.database} on {o.member}: {reason}.{advice} Nothing was changed.")
