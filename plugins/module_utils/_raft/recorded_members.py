# SPDX-License-Identifier: GPL-3.0-or-later
"""What a round writes down of the members of a recorded cluster before it takes a step, and members that forbid every step. Pure."""

from __future__ import annotations

import typing as t

from .._base.errors import Refused
from .record import Member
from .recorded_cluster import RecordedCluster, status_of
from .step import (
    UNUSABLE,
    changed_address_message,
    find_cluster_ids,
    refuse_unusable_files,
    split_message,
    undeclared_member_message,
)


def refuse_strangers(cluster: RecordedCluster) -> None:
    """Raise `Refused` if a member belongs to another cluster, or a file cannot be used and nothing of the record explains it."""
    cid = t.cast(str, cluster.record.cid)
    others = {
        other: members
        for other, members in find_cluster_ids(list(cluster.observations.values())).items()
        if other != cid
    }
    if others:
        raise Refused(split_message(cluster.run, {cid: ["the state record"], **others}))
    known = (
        *(cluster.is_failed_join, cluster.has_joined_again, cluster.has_older_record, cluster.is_recorded_elsewhere),
        *(cluster.is_awaiting_leader, cluster.has_joined_beside),
    )
    doubtful = [o for o in cluster.observations.values() if o.file_class in UNUSABLE]
    refuse_unusable_files(cluster.run, [o for o in doubtful if not any(fact(o) for fact in known)])


def update_record(cluster: RecordedCluster) -> None:
    """Record declared members and those that have joined; `Refused` if the address of a member was changed."""
    for name, address in cluster.run.declared.items():
        member = cluster.record.members.get(name)
        if member is None or (member.address != address and cluster.has_never_joined(name, member)):
            cluster.record = cluster.record.replace(members={**cluster.record.members, name: Member(address)})
        elif member.address != address:
            refusal = changed_address_message(cluster.run, name, member.address, address)
            if cluster.leader is not None or member.state not in ("expected", "replacing"):
                raise Refused(refusal)
            # Only a leader knows whether it has ever joined, and a member that is down may be what keeps one from being elected (R29).
            cluster.undecided = refusal
    for o in cluster.observations.values():
        member = cluster.record.members[o.member]
        if cluster.can_be_confirmed(o, member) or cluster.has_joined_again(o):
            sid = o.sid or o.file_sid
            listed = cluster.listed_address(sid)
            if listed and listed != member.address:
                raise Refused(changed_address_message(cluster.run, o.member, listed, cluster.run.declared[o.member]))
            cluster.record = cluster.record.with_member(o.member, state="confirmed", sid=sid)
        elif cluster.has_joined_beside(o):
            cluster.record = cluster.record.with_member(o.member, state="confirmed", sid=o.file_sid)
        elif cluster.has_joined_while_held_back(o, member):
            cluster.record = cluster.record.with_member(o.member, state="expected")
    if not cluster.record.formed and all(m.state == "confirmed" for m in cluster.record.members.values()):
        cluster.record = cluster.record.replace(formed=True)


def refuse_undeclared(cluster: RecordedCluster) -> None:
    """Raise `Refused` for a member that this run does not know of: decisions without it may be wrong. A leader is named by its followers."""
    listed = dict(cluster.listed)
    if cluster.leader is None:
        for status in (status_of(o) for o in cluster.observations.values() if o.connected):
            listed |= {
                s.sid: s.address for s in (status.servers if status else ()) if status and s.sid == status.leader_sid
            }
    known = {sid[:4] for o in cluster.observations.values() for sid in (o.sid, o.file_sid) if sid}
    known |= {m.sid[:4] for m in cluster.record.members.values() if m.sid}
    for short, address in sorted(listed.items()):
        if short not in known and address not in cluster.run.declared.values():
            state = "responding" if short in cluster.heard_sids() or cluster.leader is None else "unresponsive"
            raise Refused(undeclared_member_message(cluster.run, f"member {short} ({state})", address))
