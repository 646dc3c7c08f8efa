# SPDX-License-Identifier: GPL-3.0-or-later
"""The whole ordered plan: plays the rounds forward in a world where each step does what it says. Pure."""

from __future__ import annotations

import dataclasses
import typing as t
import uuid

from .._base.errors import Refused
from .gates import OF_STOPS, Name
from .observation import Observation, newest_leader
from .record import FORMER, Record
from .step import Gate, History, Round, Run, Step
from .view import majority

_ROUNDS = 50


class Prediction(t.NamedTuple):
    """`reasons` of all steps to come, in order, the observations after the last of them, and the refusal that ends the plan, if one does."""

    reasons: list[str]
    observations: dict[str, Observation]
    refusal: Refused | None = None


def predict(
    plan: t.Callable[[Run, t.Mapping[str, Observation], Gate, History], Round],
    run: Run,
    observations: t.Mapping[str, Observation],
    decided: Round,
    history: History,
) -> Prediction:
    """Return what follows from the round that was decided; later ones are planned with `predicted_gate`."""
    predicted, reasons = dict(observations), list[str]()
    for _round in range(_ROUNDS):
        if decided.record:
            copy = decided.record.as_dict()
            predicted = {name: _recorded(o, decided.record, copy) for name, o in predicted.items()}
        if decided.refusal is not None or decided.step is None:
            return Prediction(reasons, predicted, decided.refusal)
        reasons.append(decided.step.reason)
        if decided.step.action == "wait" or _too_few(decided.step, predicted):
            break
        predicted = _after(decided.step, predicted)
        try:
            decided = plan(run, predicted, predicted_gate, history)
        except Refused as e:
            return Prediction(reasons, predicted, e)
    return Prediction(reasons, predicted)


def _recorded(o: Observation, record: Record, copy: dict[str, t.Any]) -> Observation:
    """Return the observation with a copy of the record, by which the launcher knows a file that an older copy has called foreign."""
    member = record.members.get(o.member)
    is_own = o.connected or (member is not None and member.sid == o.file_sid)
    known = is_own and o.file_class in ("foreign-sid", "foreign-address")
    return dataclasses.replace(o, record=copy, file_class="member" if known else o.file_class)


def _too_few(step: Step, predicted: t.Mapping[str, Observation]) -> bool:
    """Return whether a start brings back too few members, so that what comes next is unknown."""
    record = next((o.record for o in predicted.values() if o.record), None) or {}
    members = [
        name for name, member in (record.get("members") or {}).items() if member["state"] not in {"expected", *FORMER}
    ]
    running = {name for name, o in predicted.items() if o.running} | set(step.members)
    return (
        step.action == "start"
        and bool(record.get("cid"))
        and len(running.intersection(members)) < majority(len(members))
    )


def predicted_gate(name: Name, observations: t.Sequence[Observation], member: str | None) -> str:
    """Stand for gates that cannot be known yet: all are open, but for a stop that leaves no majority of the leader's list."""
    leader = newest_leader(observations)
    if name not in OF_STOPS or leader is None or not leader.listed:
        return ""
    left = len({o.sid[:4] for o in observations if o.running and o.sid and o.member != member} & set(leader.listed))
    size = len(leader.listed)
    return "" if left >= majority(size) else f"without {member} only {left} of {size} members are left"


def _after(step: Step, predicted: dict[str, Observation]) -> dict[str, Observation]:
    if step.action == "kick":
        removed = (step.sid or "")[:4]
        return {
            name: _relisted(o, {k: v for k, v in o.listed.items() if k != removed}) for name, o in predicted.items()
        }
    former = newest_leader(predicted.values())
    acted = {name: _acted(step, predicted[name], predicted) for name in step.members}
    predicted = {**predicted, **acted}
    running = [o for o in predicted.values() if o.connected]
    if step.action == "stop":  # what a server has said of it as of one that it hears does not hold any more
        predicted = {name: dataclasses.replace(o, answer={}) for name, o in predicted.items()}
    if step.action == "start" and running:
        listed = {k: v for o in running if o.leader for k, v in o.listed.items()}
        listed.update({o.sid[:4]: _address(o) for o in acted.values() if o.sid})
        predicted = {name: _relisted(o, listed) for name, o in predicted.items()}
    if running and not any(o.leader for o in running):  # the others elect one
        first = predicted[running[0].member]
        known = former.listed if former is not None else first.listed  # one that is behind is not elected
        predicted[first.member] = dataclasses.replace(first, leader=True, listed=known)
    return predicted


def _relisted(o: Observation, listed: dict[str, str]) -> Observation:
    return dataclasses.replace(o, listed=listed) if o.running else o


def _address(o: Observation) -> str:
    return str(((o.record or {}).get("members") or {}).get(o.member, {}).get("address", ""))


def _acted(step: Step, o: Observation, predicted: t.Mapping[str, Observation]) -> Observation:
    if step.action == "restart":
        # The answer of a server after a failed write does not hold for the one that is started.
        if o.write_failed:
            o = dataclasses.replace(o, connected=True, answer={})
        return dataclasses.replace(o, restart_reason="", leader=False)
    if step.action == "stop":
        if o.replace_reason:  # its file is not ours, and stays where it is
            o = dataclasses.replace(o, replace_reason="", file_class="none", file_cid=None, file_sid=None)
        return dataclasses.replace(o, running=False, connected=False, leader=False, cid=None, sid=None, listed={})
    record = o.record or {}
    member = (record.get("members") or {}).get(o.member, {})
    keeps_file = o.file_sid is not None and not (member.get("state") == "expected" and member.get("sid") == o.file_sid)
    sid = o.file_sid if keeps_file else str(uuid.uuid4())
    cid = record.get("cid") or next((other.cid for other in predicted.values() if other.cid), None) or str(uuid.uuid4())
    alone = not any(other.leader for other in predicted.values())
    return dataclasses.replace(
        o,
        installed=True,
        file_class="member",
        file_cid=cid,
        file_sid=sid,
        running=True,
        connected=True,
        leader=alone and o.member == step.members[0],
        cid=cid,
        sid=sid,
    )
