# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

The whole ordered plan, for check mode: plays the rounds forward in a world where each step does what it says. Pure.
"""

from __future__ import annotations

import dataclasses
import typing as t
import uuid

from .._errors import OvnError
from .observation import Observation
from .plan import plan_round
from .step import Gate, History, Run, Step

_ROUNDS = 50


def simulate(
    run: Run, observations: t.Mapping[str, Observation], gate: Gate, history: History | None = None
) -> list[str]:
    """Return the reasons of all steps to come, in order. Gates are asked for the first step; later ones cannot be known yet."""
    return predict_rounds(run, observations, gate, history)[0]


def predict_rounds(
    run: Run, observations: t.Mapping[str, Observation], gate: Gate, history: History | None = None
) -> tuple[list[str], dict[str, Observation]]:
    """Return the same, and the predicted observations after the last of these steps."""
    predicted, reasons = dict(observations), list[str]()
    for _round in range(_ROUNDS):
        try:
            decided = plan_round(run, predicted, gate, history)
        except OvnError as e:
            if not reasons:
                raise
            return [*reasons, str(e)], predicted  # this stops a later round, not the one that comes now
        if decided.record:
            predicted = {name: dataclasses.replace(o, record=decided.record.as_dict()) for name, o in predicted.items()}
        if decided.refusal is not None:
            if not reasons:
                raise decided.refusal
            return [*reasons, str(decided.refusal)], predicted
        if decided.step is None:
            return reasons, predicted
        reasons.append(decided.step.reason)
        if decided.step.action == "wait" or _too_few(decided.step, predicted):
            return reasons, predicted
        predicted = _after(decided.step, predicted)
        gate = _open
    return reasons, predicted


def _too_few(step: Step, predicted: t.Mapping[str, Observation]) -> bool:
    """Return whether a recorded cluster has no quorum even after this start: then what comes next is unknown."""
    record = next((o.record for o in predicted.values() if o.record), None) or {}
    members = [name for name, member in (record.get("members") or {}).items() if member["state"] != "expected"]
    running = {name for name, o in predicted.items() if o.running} | set(step.members)
    return step.action == "start" and bool(record.get("cid")) and 2 * len(running.intersection(members)) <= len(members)


def _open(name: str, observations: t.Sequence[Observation], member: str | None) -> str:
    return ""


def _after(step: Step, predicted: dict[str, Observation]) -> dict[str, Observation]:
    if step.action == "kick":
        removed = (step.sid or "")[:4]
        return {
            name: _relisted(o, {k: v for k, v in o.listed.items() if k != removed}) for name, o in predicted.items()
        }
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
        first = running[0]
        predicted[first.member] = dataclasses.replace(first, leader=True, listed=predicted[first.member].listed)
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
