# SPDX-License-Identifier: GPL-3.0-or-later
"""The status of one OVNChassis. Runs, the agent of the node and the observer make it by the same rules, so that none undoes what another has written. Pure."""

from __future__ import annotations

import datetime
import typing as t

from .._chassis.datapath import IN_PODS, judge_datapath, reason_of
from .._kubernetes.timestamps import format_timestamp, known_time
from .names import Object

READY, OVS_CONNECTED, DATAPATH_HEALTHY = "Ready", "OVSConnected", "DatapathHealthy"
REGISTERED, NOT_REGISTERED, NO_HEARTBEAT = "Registered", "NotRegistered", "NoHeartbeat"
# Of the reasons, those that come from the Southbound database, or say why not. Pods that are ready say less, as long as an agent keeps these true.
_OF_SOUTHBOUND = (REGISTERED, NOT_REGISTERED, NO_HEARTBEAT, "SouthboundUnreachable", "NotConfigured")
_LOOK_AT_POD = "Look at the log of the pod ovn-controller on this node; if it stays so, delete the pod."
_LOOK_ON_MACHINE = "Look at `journalctl -u c5c3-ovn-controller` on this machine; if it stays so, restart that unit."
LOSES_PACKETS = "The datapath loses packets: "  # with this the message of DatapathHealthy begins if it is false
_STALE = datetime.timedelta(minutes=5)  # a heartbeat that is younger is not worth a request of a run
_AHEAD = datetime.timedelta(minutes=1)  # clocks may differ by that much; what is later comes from one that was wrong


_LATER = 0.75  # of an interval: answers to one heartbeat are written less far apart, and those to the next one further


class ObservedAnswer(t.NamedTuple):
    """The lastHeartbeat of one OVNChassis. Times are seconds of the observer's clock: clocks of nodes may be wrong."""

    heartbeat: str
    since: float  # when the observer has seen it first
    moved: bool = False  # whether it has replaced an earlier one then
    overtaken: float | None = None  # since when another chassis has answered a later heartbeat

    def is_late(self, now: float, grace: float) -> bool:
        """Return whether this chassis had `grace` seconds for the heartbeat that another one has answered."""
        return self.overtaken is not None and now - self.overtaken >= grace


def observe_answers(
    known: t.Mapping[str, ObservedAnswer], heartbeats: t.Mapping[str, str], now: float, interval: float
) -> dict[str, ObservedAnswer]:
    """Return what is known now of each chassis of a cluster. `heartbeats` are the values of lastHeartbeat, `interval` is in seconds.

    If no chassis answers, none is overtaken: then nobody sends heartbeats.
    """
    answers = {}
    for name, heartbeat in heartbeats.items():
        answer = known.get(name)
        if answer is None or answer.heartbeat != heartbeat:
            answer = ObservedAnswer(heartbeat, now, moved=answer is not None)
        answers[name] = answer
    latest = max((one.since for one in answers.values() if one.moved), default=float("-inf"))
    for name, one in answers.items():
        if one.overtaken is None and latest - one.since >= _LATER * interval:
            answers[name] = one._replace(overtaken=now)
    return answers


class ChassisFacts(t.NamedTuple):
    """What is known of one chassis; None: not known."""

    registered: bool | None
    alive: bool | None
    heartbeat: datetime.datetime | None
    pods: str | None  # what is wrong with its pods; empty for nothing
    unreachable: str = ""  # why the node itself could not ask the Southbound database
    unprepared: str = ""  # what the node itself lacks for that: a certificate that works, or the address
    has_agent: bool = False  # that writes the status between runs
    on_machine: bool = False  # it is no pod


def chassis_status(
    previous: Object,
    facts: ChassisFacts,
    *,
    generation: int,
    now: datetime.datetime,
    stale: datetime.timedelta = _STALE,
) -> Object:
    """Return the new status; conditions that did not change keep their times, and so does a heartbeat that differs by less than `stale`."""
    status: Object = {"observedGeneration": generation}
    beat = _heartbeat(previous, facts, now, stale)
    ready = _ready(previous, facts, beat)
    status["conditions"] = [
        _condition(previous, kind, *judged, generation=generation, now=now)
        for kind, judged in ((READY, ready), (OVS_CONNECTED, _connected(facts)))
    ]
    registered = facts.registered or (facts.registered is None and ready[0] == "True")
    since = previous.get("registeredAt") or (format_timestamp(now) if registered else None)
    if since:
        status["registeredAt"] = since
    if beat:
        status["lastHeartbeat"] = beat
    return status


def status_of_agent(
    previous: Object, facts: ChassisFacts, *, generation: int, now: datetime.datetime, stale: datetime.timedelta
) -> Object:
    """Return the new status as the agent knows it, which does not see what Kubernetes says of pods: other conditions stay as they are."""
    status = chassis_status(previous, facts, generation=generation, now=now, stale=stale)
    ready = condition_of(status, READY)
    others = [condition for condition in previous.get("conditions") or [] if condition.get("type") != READY]
    status["conditions"] = [ready, *others]
    return status


def judge_datapath_condition(facts: t.Mapping[str, t.Any] | None) -> tuple[str, str, str] | None:
    """Return status, reason and message of DatapathHealthy; None if there is nothing to compare the counters with: then it stays as it is."""
    if problems := judge_datapath(facts, IN_PODS):
        texts = " ".join(f"{one.cause}. {one.next_step}." for one in problems)
        return "False", reason_of(problems[0].code), f"{LOSES_PACKETS}{texts}"
    if not facts or not facts["lookups"]:
        return "Unknown", "NotSeen", "ovs-vswitchd does not answer, or has no bridge. Look at its log on this node."
    return None if facts["lost"] is None else ("True", "NoPacketsLost", "Its datapath loses no packets.")


def with_datapath(status: Object, judged: tuple[str, str, str], *, generation: int, now: datetime.datetime) -> Object:
    """Return the status with this DatapathHealthy. Other conditions, and the order of all, stay as they are."""
    made = _condition(status, DATAPATH_HEALTHY, *judged, generation=generation, now=now)
    conditions = {one.get("type"): one for one in status.get("conditions") or []}
    return {**status, "conditions": [*{**conditions, DATAPATH_HEALTHY: made}.values()]}


def _heartbeat(previous: Object, facts: ChassisFacts, now: datetime.datetime, stale: datetime.timedelta) -> str | None:
    """Return lastHeartbeat. It also moves back: the clock of a node may have been ahead when it answered."""
    text: str | None = previous.get("lastHeartbeat")
    known = known_time(text)
    if facts.heartbeat is None or (known and known <= now + _AHEAD and abs(facts.heartbeat - known) < stale):
        return text
    return format_timestamp(facts.heartbeat)


def condition_of(status: Object, kind: str) -> Object:
    """Return the condition of this type, empty without one."""
    found: Object = next((c for c in status.get("conditions") or [] if c.get("type") == kind), {})
    return found


def _ready(previous: Object, facts: ChassisFacts, beat: str | None) -> tuple[str, str, str]:
    if facts.registered is None:
        known = condition_of(previous, READY)
        if facts.unreachable:
            asking = "control node" if facts.on_machine else "node"
            return (
                "Unknown",
                "SouthboundUnreachable",
                f"The {asking} cannot ask the Southbound database whether its ovn-controller answers: {facts.unreachable} "
                f"Look at the Southbound database, and at the network between it and the {asking}.",
            )
        if facts.unprepared:
            return (
                "Unknown",
                "NotConfigured",
                f"The node cannot ask the Southbound database yet whether its ovn-controller answers: {facts.unprepared} "
                "Look at the log of the container agent in the pod ovn-controller on this node.",
            )
        if facts.has_agent and not facts.pods and known.get("reason") in _OF_SOUTHBOUND:
            return known["status"], known["reason"], known["message"]
        if facts.pods is None:
            return "Unknown", "NotSeen", "Neither the Southbound database nor the pods could be asked."
        # ovn-controller's readiness is its connection to the Southbound database.
        return ("False", "PodsNotReady", facts.pods) if facts.pods else ("True", "PodsReady", "Its pods are ready.")
    if not facts.registered:
        return "False", NOT_REGISTERED, "The Southbound database does not have it with its tunnel addresses."
    if not facts.alive:
        return (
            "False",
            NO_HEARTBEAT,
            f"ovn-controller does not answer heartbeats{f', last at {beat}' if beat else ''}: it is frozen, busy, or cut off from the Southbound database. "
            f"{_LOOK_ON_MACHINE if facts.on_machine else _LOOK_AT_POD}",
        )
    return "True", REGISTERED, "It is registered and answers."


def _connected(facts: ChassisFacts) -> tuple[str, str, str]:
    if facts.on_machine:
        return (
            ("True", REGISTERED, "Its ovn-controller answers, and could not without Open vSwitch.")
            if facts.alive
            else ("Unknown", "NotSeen", "Only an ovn-controller that answers tells it of a machine.")
        )
    if facts.pods is None:
        return "Unknown", "NotSeen", "Its pods could not be read."
    return (
        ("False", "PodsNotReady", facts.pods)
        if facts.pods
        else ("True", "PodsReady", "Open vSwitch and its controller run.")
    )


def _condition(
    previous: Object, kind: str, status: str, reason: str, message: str, *, generation: int, now: datetime.datetime
) -> Object:
    old = condition_of(previous, kind)
    since = old.get("lastTransitionTime") if old.get("status") == status else None
    return {
        "type": kind,
        "status": status,
        "reason": reason,
        "message": message,
        "lastTransitionTime": since or format_timestamp(now),
        "observedGeneration": generation,
    }
