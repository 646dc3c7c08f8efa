# SPDX-License-Identifier: GPL-3.0-or-later
"""What a run does next with one database: the decision table of the bootstrap rule. A cluster on record is a matter of maintenance.py.

Pure. One call plans one round: a record to write (if any), then at most one acting step, then the run observes again. No step counter is kept:
a run that was killed is continued from what the next one observes.
"""

from __future__ import annotations

import dataclasses
import typing as t

from .._base.errors import Refused
from .._base.ip_addresses import literal
from .._ovsdb.endpoint import one_spelling, parse_endpoint
from .maintenance import Maintenance
from .observation import DISK_MISSING, OTHER_THAN_KNOWN, STARTABLE, Observation, newest_leader
from .record import Member, Permit, Record, latest
from .record_checks import refuse_by_record, refuse_cluster
from .recorded_members import find_away, judge_retired, refuse_away, refuse_silent, stop_retired, wait_for
from .simulate import predict, predicted_gate
from .step import (
    UNUSABLE,
    Gate,
    History,
    Round,
    Run,
    Step,
    Unexamined,
    changed_address_message,
    find_cluster_ids,
    find_unexamined,
    launcher_reason,
    members_of,
    next_revision,
    refuse_missing_disks,
    refuse_unusable_files,
    returns_members,
    split_message,
    undeclared_member_message,
)


def plan_round(
    run: Run, observations: t.Mapping[str, Observation], gate: Gate, history: History | None = None
) -> Round:
    """Return the next round; `Refused` if a rule forbids to go on. `observations` lacks the members that could not be examined.

    Called by `rounds.next_round`, which knows what rounds before have shown; by itself it plans from one observation. A refusal that would follow
    after some of the steps comes before the first of them (R27), except before one that only brings members back.
    """
    known = history or History()
    decided = _plan_one(run, observations, gate, known)
    if decided.step is None or decided.step.action == "wait" or decided.founding or returns_members(decided.step):
        return decided
    refusal = predict(_plan_one, run, observations, decided, known).refusal if _is_doubtful(observations) else None
    return decided if refusal is None else _plan_one(run, observations, gate, History(refusal=refusal))


def _is_doubtful(observations: t.Mapping[str, Observation]) -> bool:
    """Return whether a member shows what may end the run later: prediction takes longer than planning, and most runs need none."""
    return any(
        o.start_problem
        or o.replace_reason
        or o.file_class in UNUSABLE
        or o.file_class == DISK_MISSING
        or (
            o.connected
            and not (o.recorded and o.member in o.recorded.members and o.recorded.members[o.member].sid == o.sid)
        )
        for o in observations.values()
    )


def predict_rounds(
    run: Run, observations: t.Mapping[str, Observation], gate: Gate
) -> tuple[list[str], dict[str, Observation]]:
    """Return the reasons of all steps to come, in order, and the observations after them, for check mode; `Refused` as `plan_round`.

    `gate` is asked for the first step only; a refusal after steps that only bring members back is the last of the reasons.
    """
    decided = plan_round(run, observations, gate)
    if decided.refusal is not None:
        raise decided.refusal
    found = predict(_plan_one, run, observations, decided, History())
    return [*found.reasons, *([] if found.refusal is None else [str(found.refusal)])], found.observations


def _plan_one(run: Run, observations: t.Mapping[str, Observation], gate: Gate, history: History) -> Round:
    decided = _plan_round(run, observations, gate, history)
    if not run.accept_lost_disk:
        return decided
    lost = {o.member: o.file_sid for o in observations.values() if o.file_class == DISK_MISSING and not o.running}
    return _give_up_disks(decided, lost)


def _give_up_disks(decided: Round, lost: t.Mapping[str, str | None]) -> Round:
    """Return the round with accepted losses recorded. `lost` maps each member to the server id whose file was on its missing disk.

    The launcher waits for the disk until the record gives up exactly this id (R32): a server that joins later is not given up with it. While the leader
    still lists the id, `hold_back` keeps the member from joining, and the next round removes it from the list.
    """
    record = decided.record or decided.recorded
    if record is None:
        return decided
    given_up = record
    for name, member in record.members.items():
        if member.state == "expected" and lost.get(name):
            given_up = given_up.with_member(name, sid=lost[name])
    if given_up == record:
        return decided
    return dataclasses.replace(decided, record=given_up if decided.record else next_revision(given_up))


def _plan_round(run: Run, observations: t.Mapping[str, Observation], gate: Gate, history: History) -> Round:
    _check_declared(run)
    observed = _counted(run, observations)
    run = _with_known_spelling(run, observed)
    if run.accept_rollback:
        if not run.accept_lost_disk:
            _refuse_forgotten_disks(run, observed)
        observed = [
            dataclasses.replace(o, file_class="member") if o.file_class in OTHER_THAN_KNOWN else o for o in observed
        ]
    if run.accept_lost_disk:
        observed = [
            dataclasses.replace(o, file_class="none", file_sid=None) if o.file_class == DISK_MISSING else o
            for o in observed
        ]
    record = _read_record(run, observed)
    if record is not None:
        stop = stop_retired(run, record, list(observations.values()))
        if stop is not None:  # without the record, its launcher would start it again
            stale = any(observations[name].recorded != record for name in stop.members)
            return Round(next_revision(record) if stale else None, stop, recorded=record, stale_copies=stale)
        observed = [judge_retired(record, o) for o in observed if o.member in members_of(run, record)]
    away = find_away(run, record, observed)
    if away and record is not None:
        return Round(step=wait_for(run, away), recorded=record)
    refuse_away(run, record, observed, away)
    if record is None:
        return _found(run, observed, gate, history)
    if record.cid is None:
        return _resume_bootstrap(run, record, observed, gate, history)
    former = [o for o in observations.values() if o.member in record.members.keys() - record.present.keys()]
    behind = any(o.recorded != record for o in former)  # one that is only down would start by an older copy
    return Maintenance(run, record, observed, gate, history, changed=behind).round()


def _counted(run: Run, observations: t.Mapping[str, Observation]) -> list[Observation]:
    """Return the observations of declared members, and of those that are leaving according to one of these: other ones are asked for nothing."""
    declared = [observations[name] for name in run.declared if name in observations]
    leaving = [name for name in _leaving(declared) if name not in run.declared and name in observations]
    return [*declared, *(observations[name] for name in leaving)]


def _leaving(observed: t.Iterable[Observation]) -> list[str]:
    records = [o.recorded for o in observed if o.recorded]
    return list(dict.fromkeys(n for record in records for n, m in record.members.items() if m.state == "leaving"))


def _read_record(run: Run, observed: t.Sequence[Observation]) -> Record | None:
    """Return what the copies of the record say together; `Refused` if this run may not work with it."""
    record = latest({o.member: o.recorded for o in observed}, len({*run.declared, *_leaving(observed)}))
    refuse_by_record(run, record, [o.member for o in observed if o.recorded and o.recorded.hold])
    return record


def _refuse_forgotten_disks(run: Run, observed: t.Sequence[Observation]) -> None:
    """Raise `Refused` before what tells a missing disk from a lost one is deleted with the rest of the witness (R32)."""
    missing = ", ".join(o.member for o in observed if o.file_class == DISK_MISSING)
    if missing:
        raise Refused(
            f"No rollback of {run.database} is accepted, because the disk of {missing} is not mounted, and would count as lost. "
            f"Mount it, then run again, or accept its loss with {run.texts.accept_lost_disk}."
        )
    unknown = "; ".join(
        f"on {o.member} {launcher_reason(o) or 'the directory cannot be read'}"
        for o in observed
        if o.file_class == "unknown"
    )
    if unknown:
        raise Refused(
            f"No rollback of {run.database} is accepted, because a file cannot be examined, and its disk would count as lost if it is away: {unknown}. "
            "Correct that, then run again."
        )


def check_before_changes(run: Run, observations: t.Mapping[str, Observation]) -> Round:
    """Return the first round as far as it is known before anything is installed; `Refused` if this run has to end before it changes a byte (R27).

    What the run itself may put right does not count yet: tools that are missing, settings and certificates of the past.
    """
    _check_declared(run)
    every = [dataclasses.replace(o, start_problem=o.host_problem) for o in observations.values()]
    observed = _counted(run, {o.member: o for o in every})
    run = _with_known_spelling(run, observed)
    record = _read_record(run, observed)
    if record is not None and (stop := stop_retired(run, record, every)) is not None:
        return Round(step=stop, recorded=record)
    refuse_away(run, record, observed, find_away(run, record, observed))
    if any(o.file_class in ("unexamined", "unknown") and not o.connected for o in observed):
        cids = find_cluster_ids(observed)
        if len(cids) > 1:
            raise Refused(split_message(run, cids))
        refuse_unusable_files(run, observed)
        refuse_silent(run, record, observed)
        return Round()
    checked = run if run.witnesses is not None else dataclasses.replace(run, witnesses=())

    def plan(members: t.Iterable[Observation]) -> Round:
        return plan_round(checked, {o.member: o for o in members}, predicted_gate)

    decided = plan(every)
    # A launcher judges its file by its own copy of the record: where that is older, this run writes it again, and the next round knows more.
    if decided.refusal is not None and (refusal := plan(_judged_by(record, o) for o in every).refusal) is not None:
        raise refusal
    return decided


def _judged_by(record: Record | None, o: Observation) -> Observation:
    """Return the observation without the judgement of a launcher whose copy of the record is older."""
    if o.file_class not in ("foreign-sid", "foreign-address") or o.recorded == record:
        return o
    return dataclasses.replace(o, file_class="member" if o.file_sid or o.connected else "none")


def _check_declared(run: Run) -> None:
    count = len(run.declared)
    if count == 0 or count % 2 == 0:
        raise Refused(
            f"{count} {run.texts.places} are declared for {run.database}. "
            "Use 1, 3 or 5: an even number tolerates no more failures than the odd number below it."
        )
    addresses: dict[str, str] = {}
    for name, address in run.declared.items():
        if address in addresses:
            raise Refused(
                f"{name} and {addresses[address]} have the same {run.database} address {address}. Give each central host its own ovn_address."
            )
        addresses[address] = name


def _with_known_spelling(run: Run, observed: t.Sequence[Observation]) -> Run:
    """Return the run with each address as its member has it: one address has several spellings, and launchers compare texts."""
    found: dict[str, None] = {}
    for o in observed:
        recorded = o.recorded.members.values() if o.recorded else ()
        found |= dict.fromkeys([*o.listed.values(), *[m.address for m in recorded if m.state == "confirmed"]])
    known = {one_spelling(address): address for address in reversed(found)}  # the first one counts
    declared = {name: known.get(one_spelling(address), address) for name, address in run.declared.items()}
    return run if declared == run.declared else dataclasses.replace(run, declared=declared)


def _check_literals(run: Run) -> None:
    """Refuse names: one can mean loopback on its own host and something else elsewhere, and the address is the member's identity for good."""
    for name, address in run.declared.items():
        if not (run.allow_names or literal(parse_endpoint(address).host)):
            raise Refused(
                f"The {run.database} address of {name} would be {address}, a name. Set ovn_address to its IP address on the control-plane network; "
                "with ovn_central_permit=names names of your DNS are used. Nothing was created."
            )


def _found(run: Run, observed: list[Observation], gate: Gate, history: History) -> Round:
    """Return the round without any copy of a record: create the cluster, or adopt one that is there."""
    missing = find_unexamined(run, observed)
    if missing:
        raise Unexamined(
            f"No state record of {run.database} exists, and {', '.join(missing)} could not be examined. A cluster is created once, ever: "
            f"all members have to be examined first. {run.texts.reach} Nothing was created."
        )
    cids = find_cluster_ids(observed)
    if len(cids) > 1:
        raise Refused(split_message(run, cids))
    if cids:
        return _adopt(run, observed, next(iter(cids)), gate, history)
    refuse_unusable_files(run, observed)
    refuse_missing_disks(run, observed)
    unknown = [o.member for o in observed if o.file_class == "unexamined"]
    if unknown:
        raise Refused(
            f"{run.database} has files on {', '.join(unknown)}, but no state record exists and nothing is installed there that could examine them. "
            "Check mode cannot predict what a run would do; a run installs the launcher first, and adopts or refuses then. Nothing was changed."
        )
    occupied = [o.member for o in observed if o.installed and o.file_class != "none"]
    if occupied:
        classes = ", ".join(o.file_class for o in observed)
        raise Refused(
            f"{run.database} has database files on {', '.join(occupied)} ({classes}), but no cluster id can be read from them "
            "and no state record exists. Nothing was created. Move the files away if they hold nothing, or restore the record."
        )
    _refuse_expected(run)
    _check_literals(run)
    if not run.bootstrap or run.adopt:
        raise Refused(f"{run.database} does not exist yet, and {run.texts.bootstrap}")
    _refuse_witnesses(run)
    _refuse_start_problems(run, observed)
    first = next(iter(run.declared))
    members = {name: Member(address) for name, address in run.declared.items()}
    record = Record(run.database, members, revision=1, permit=Permit(first, run.name, run.time), formed=False)
    return Round(record, _create(run, first, observed), founding=True)


def _refuse_expected(run: Run) -> None:
    """Raise `Refused` before a cluster is created in the place of the expected one."""
    if run.expected_cid:
        raise Refused(
            f"Cluster {run.expected_cid} of {run.database} is expected, but there is neither a database nor a "
            f"state record of it on {run.texts.any_place}. Restore them; nothing was created."
        )


def _refuse_witnesses(run: Run) -> None:
    """Raise `Refused` if witnesses outside the members know of an older control plane (R30)."""
    if run.witnesses is None and not run.new_cluster:
        raise Refused(
            f"{run.database} is not created, because no older control plane was searched for: a database file could not be examined at first. "
            "Run again. Nothing was created."
        )
    if run.witnesses and not run.new_cluster:
        raise Refused(
            f"{run.database} is not created, because there may be an older control plane: {'; '.join(w.rstrip('.') for w in run.witnesses)}. "
            f"Use the inventory that has its members, or restore their state records. If that control plane is gone for good, "
            f"{run.texts.new_cluster} creates a new, empty one. Nothing was created."
        )


def _adopt(run: Run, observed: list[Observation], cid: str, gate: Gate, history: History) -> Round:
    refuse_cluster(run, cid, "no state record was found, the members name")
    members = {name: Member(address) for name, address in run.declared.items()}
    record = Record(run.database, members, cid=cid)
    leader = newest_leader(observed)
    sources = observed if leader is None else [leader]
    listed = {short: address for o in sources for short, address in o.listed.items()}
    for o in observed:
        sid = o.sid or o.file_sid
        # A server goes on without its database after it was removed; one that only began to join has neither a vote nor an address of its own.
        is_joiner = o.file_class == "joining" and not o.connected
        is_member = (
            bool(sid) and not is_joiner and ((o.running and o.file_class != "left") or o.file_class in STARTABLE)
        )
        address = listed.get(sid[:4]) if sid else None
        # A damaged file may be a copy of another member's: then that one is declared with the address.
        if address and address != run.declared[o.member] and (is_member or address not in run.declared.values()):
            raise Refused(changed_address_message(run, o.member, address, run.declared[o.member]))
        if is_member:
            record = record.with_member(o.member, state="confirmed", sid=sid)
    known = {sid[:4] for o in observed for sid in (o.sid, o.file_sid) if sid}
    for o in sources:
        for short, address in sorted(o.listed.items()):
            # Recorded without it, the members that are declared would look like all there are.
            if short not in known and address not in run.declared.values():
                unled = (
                    ""
                    if leader is not None
                    else " No member leads: start the members that have their files first, none can be removed before."
                )
                raise Refused(
                    undeclared_member_message(run, f"member {short}, which {o.member} lists,", address) + unled
                )
    warning = f"{run.database}: no state record was found; the existing cluster {cid} was adopted."
    adopted = Maintenance(run, record, observed, gate, history, changed=True).round()
    return dataclasses.replace(adopted, warnings=(warning, *adopted.warnings), recorded=None)


def _with_founder(record: Record, cid: str, founder: Observation) -> Record:
    """Return the record with the cluster that exists now and the member that created it; the permit is used up."""
    sid = founder.sid or founder.file_sid
    return record.with_member(founder.member, state="confirmed", sid=sid).replace(cid=cid, permit=None)


def _resume_bootstrap(run: Run, record: Record, observed: list[Observation], gate: Gate, history: History) -> Round:
    """Return the round of a record with a permit and without a cluster id: the first run is under way, or was interrupted."""
    permit = record.permit
    if permit is None or permit.member not in run.declared:
        raise Refused(
            f"The state record of {run.database} has neither a cluster id nor a usable permit. {run.texts.remove_record}"
        )
    cids = find_cluster_ids(observed)
    if len(cids) > 1:
        raise Refused(split_message(run, cids))
    if cids:
        cid, members = next(iter(cids.items()))
        refuse_cluster(run, cid, "the first run was cut off, the members name")
        if permit.member not in members:
            raise Refused(
                f"Cluster {cid} answers on {', '.join(members)}, but only {permit.member} was allowed to create one. Nothing was changed."
            )
        named = _with_founder(record, cid, next(o for o in observed if o.member == permit.member))
        return dataclasses.replace(
            Maintenance(run, named, observed, gate, history, changed=True).round(), recorded=record
        )
    if run.adopt or not run.bootstrap:
        raise Refused(
            f"The first run on {run.database} was cut off before the cluster existed, and {run.texts.bootstrap} Nothing was created."
        )
    _refuse_expected(run)
    missing = find_unexamined(run, observed)
    if missing:
        raise Unexamined(
            f"The first run on {run.database} was cut off, and {', '.join(missing)} could not be examined. {run.texts.reach}"
        )
    # No member has joined under an address of the run before, so without a file that address says nothing.
    refuse_unusable_files(run, [o for o in observed if o.file_class != "foreign-address" or o.running or o.file_sid])
    refuse_missing_disks(run, observed)
    _refuse_start_problems(run, observed)
    expected = {name: Member(address) for name, address in run.declared.items()}
    changed = permit.run != run.name or {name: m.address for name, m in record.members.items()} != run.declared
    renewed = next_revision(record.replace(permit=Permit(permit.member, run.name, run.time), members=expected))
    return Round(
        renewed if changed else None,
        _create(run, permit.member, observed),
        recorded=record,
        founding=True,
    )


def _refuse_start_problems(run: Run, observed: t.Sequence[Observation]) -> None:
    """Raise `Refused` while a member could not start: addresses become the identity of members for good (R33)."""
    problems = [f"on {o.member} {o.start_problem.rstrip('.')}" for o in observed if o.start_problem]
    if problems:
        raise Refused(
            f"{run.database} is not created, because a member would not start: {'; '.join(problems)}. Correct that, then run again. Nothing was created."
        )


def _create(run: Run, member: str, observed: t.Sequence[Observation]) -> Step:
    target = next(o for o in observed if o.member == member)
    return Step("start", (member,), f"create the {run.database} cluster on {member}", expects={member: target.target()})
