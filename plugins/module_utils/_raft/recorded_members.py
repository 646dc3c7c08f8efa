# SPDX-License-Identifier: GPL-3.0-or-later
"""What a round writes down of the members of a recorded cluster before it takes a step, and members that forbid every step. Pure."""

from __future__ import annotations

import dataclasses
import typing as t

from .._base.errors import Refused
from .observation import DISK_MISSING, Observation, newest_leader
from .record import FORMER, Member, Record
from .recorded_cluster import RecordedCluster, status_of
from .step import (
    UNUSABLE,
    Run,
    Step,
    Unexamined,
    changed_address_message,
    find_cluster_ids,
    find_stopped,
    refuse_unusable_files,
    split_message,
    undeclared_member_message,
)

# An adoption and members that do not run, or do not answer: whether they are only down, and what a person has to do. Pure.

# Nothing lies in our place that could be started.
_WITHOUT_FILE = ("none", "empty", DISK_MISSING)


def find_away(run: Run, record: Record | None, observed: t.Sequence[Observation]) -> list[str]:
    """Return the members of which an adoption must not take what lies in our place for what they are: they may only be down. `Refused` for a file that
    somebody has put there while a run had stopped the member.

    The file of a container is where nobody finds it then, and what lies in our place may be older (R8). That a member was stopped by this run or one before
    is known from the record, or from our unit.
    """
    if not run.adopt or not any(o.running for o in observed):
        return []
    states = {name: member.state for name, member in record.members.items()} if record is not None else {}
    put = [
        o.member
        for o in observed
        if not (o.running or o.ours)
        and o.file_class not in (*_WITHOUT_FILE, "unknown")
        and states.get(o.member) in ("replacing", "expected")
    ]
    if put:
        raise Refused(
            f"A file of {run.database} lies in our place on {', '.join(put)}, and no run has put it there: a run has stopped the member, whose file is in its "
            "container, so this one may be a copy of it that is older. Nothing more was changed. Move the file away, then run again."
        )
    away = [
        o.member
        for o in observed
        if not (o.running or o.ours)
        and o.file_class != "unknown"
        and states.get(o.member) not in ("replacing", "expected")
        and not (run.accept_lost_disk and o.file_class in _WITHOUT_FILE)
    ]
    return [*away, *find_stopped(run, record, observed)] if away else []


def refuse_away(run: Run, record: Record | None, observed: t.Sequence[Observation], away: t.Sequence[str]) -> None:
    if not away:
        return
    listed = {address for o in observed for address in o.listed.values()}
    strangers = [
        name for name in away if (record is None or name not in record.members) and run.declared[name] not in listed
    ]
    members = [name for name in away if name not in strangers]
    advice = []
    if members:
        advice.append(
            f"Start what ran it on {', '.join(members)}, then run again; if that is gone for good, move a file in our place away, if there is one, and "
            f"{run.texts.accept_lost_disk} replaces the member."
        )
    if strangers:
        advice.append(
            f"{', '.join(strangers)} is no member of the cluster: take it out of ovn_central, and c5c3.ovn.site adds it afterwards."
        )
    raise Refused(
        f"{run.database} does not run on {', '.join(away)}, and runs on other hosts. Nothing was changed. An adoption takes over members that run: one that "
        f"is down, in a container for example, would come back beside ours. {' '.join(advice)}"
    )


def wait_for(run: Run, away: t.Sequence[str]) -> Step:
    """Return the wait of the rounds: what runs a member may start it again in a moment."""
    reason = (
        f"wait until {run.database} runs again on {', '.join(away)}: start what ran it, or move a file in our place away and accept its loss with "
        f"{run.texts.accept_lost_disk}"
    )
    return Step("wait", tuple(away), reason)


def refuse_silent(run: Run, record: Record | None, observed: t.Sequence[Observation]) -> None:
    """Raise `Unexamined` before an adoption beside a server that says nothing of itself."""
    silent = [o.member for o in observed if o.file_class == "unknown" and o.running and not o.connected]
    if not (run.adopt and silent):
        return
    stopped = find_stopped(run, record, observed)
    needed = f" Nobody leads: start what ran {', '.join(stopped)}, which a run has stopped, as well." if stopped else ""
    raise Unexamined(
        f"{run.database} on {', '.join(silent)} runs and could not be examined. Nothing was changed. Repair it, then run again.{needed}"
    )


def stop_retired(run: Run, record: Record, observed: t.Sequence[Observation]) -> Step | None:
    """Return the stop of a server that runs although it left for good: that comes first, and nothing else that it shows counts (R37).

    `Refused` if the leader lists such a server, running or not: it would have a vote, so the list or the record is from the past.
    """
    retired = [o for o in observed if o.running and _is_retired(record, o)]
    others = [o for o in observed if o not in retired]
    leader = newest_leader(others)
    current = {sid[:4] for sid in (*(o.sid for o in others), *(m.sid for m in record.present.values())) if sid}
    past = {sid[:4]: sid for sid in record.retired_sids if sid[:4] not in current}
    for short, address in sorted((leader.listed if leader else {}).items()):
        if short in past:
            raise Refused(
                f"The leader of {run.database} lists the server {past[short]} at {address}, which left the cluster for good according to the state record. "
                "Nothing was changed. Find out which of both is an older copy and restore the newer one, then run again."
            )
    if not retired:
        return None
    o = retired[0]
    reason = f"stop {run.database} on {o.member}: its server left the cluster for good"
    return Step("stop", (o.member,), reason, expects={o.member: o.target()})


def _is_retired(record: Record, o: Observation) -> bool:
    member = record.members.get(o.member)
    is_former = member is not None and member.state in FORMER
    return is_former or (o.sid or o.file_sid) in record.retired_sids or (o.cid or o.file_cid) in record.retired_cids


def judge_retired(record: Record, o: Observation) -> Observation:
    """Return the observation with the class of the file by this record: the launcher of a stopped member may have an older copy of it."""
    member = record.members.get(o.member)
    if o.running or o.file_class == "left":
        return o
    if o.file_cid in record.retired_cids:
        kind, what = "retired-cid", f"belongs to the retired cluster {o.file_cid}"
    elif o.file_sid in record.retired_sids and (member is None or member.sid != o.file_sid):
        kind, what = "retired-sid", f"is of the server {o.file_sid}, which left the cluster for good"
    else:
        return o
    return dataclasses.replace(o, file_class=kind, file_reason=f"its file {what}. Move it away, then run again")


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
    if not cluster.record.formed and all(m.state == "confirmed" for m in cluster.record.present.values()):
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
