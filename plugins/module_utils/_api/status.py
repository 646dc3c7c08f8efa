# SPDX-License-Identifier: GPL-3.0-or-later
"""The status of an OVNCluster from the verdicts about its databases. Modules and the observer write it, so both use this. Pure.

Only what both can see is in it: the observer asks the members from outside and never sees a member list, a term or a timer.
"""

from __future__ import annotations

import re
import typing as t

from .._base.databases import DATABASES, TITLES
from .._base.ip_addresses import literal
from .._daemons.schema_update import Schemas
from .._kubernetes.rollout_progress import PendingItem
from .._raft.answer import host_of
from .._raft.verdict import Verdict
from .._raft.view import majority
from .certificate_status import CERTIFICATE, ObservedCertificates, certificate_condition, first_end
from .names import leader_of
from .status_conditions import (
    CLAIMS,
    HYPERVISOR_CLUSTERS,
    LONGEST,
    RECONCILED,
    SCHEMA,
    UP_TO_DATE,
    ChassisCount,
    StatusCondition,
    claims_condition,
    controllers_condition,
    northd_condition,
    repeat_condition,
    schema_condition,
    up_to_date_condition,
)

# The condition of the relays, to which chassis connect. Pure.

RELAYS = "RelaysReady"


def relays_condition(
    problems: t.Mapping[str, str] | None, before: t.Mapping[str, t.Any] | None
) -> StatusCondition | None:
    """Return the condition; none without relays. `problems` has why the relay of an endpoint does not serve, empty if it does; None: nobody has asked."""
    if problems is None:
        return repeat_condition(before) if before else None
    if not problems:
        return None
    absent = {endpoint: why for endpoint, why in problems.items() if why}
    message = f"{len(problems) - len(absent)} of {len(problems)} relays serve chassis."
    if not absent:
        return StatusCondition(RELAYS, "True", "AllServe", message)
    listed = " ".join(f"{endpoint} does not: {why}." for endpoint, why in sorted(absent.items()))
    advice = "Look at the container relay of that pod, and run c5c3.ovn.central if members of before the relays serve."
    return StatusCondition(RELAYS, "False", "NotServing", f"{message} {advice} {listed}"[:LONGEST])


# Those that Ready stands for: chassis come and go, and old pods or an old schema serve as well.
_CONTROL_PLANE = ("NorthboundReady", "SouthboundReady", "NorthdReady")

_REASONS = {
    "healthy": "Healthy",
    "degraded": "Degraded",
    "no_quorum": "NoQuorum",
    "split": "Split",
    "diverged": "Diverged",
    "forming": "Forming",
    "unreachable": "Unreachable",
}
_UUID_LENGTH = 36

# Numbers that differ in each observation and mean no change.
_RESTLESS = re.compile(r"\b\d+(?:\.\d+)?(?= (?:s ago|log entries))")


def cluster_status(
    *,
    generation: int,
    previous: t.Mapping[str, t.Any],
    verdicts: t.Mapping[str, Verdict],
    endpoints: t.Mapping[str, str],
    chassis: ChassisCount | None,
    now: str,
    northd: t.Sequence[str] | None = None,
    declared: int | None = None,
    left: t.Sequence[PendingItem] | None = None,
    schemas: t.Mapping[str, Schemas] | None = None,
    certificates: ObservedCertificates | None = None,
    claims: t.Sequence[str] | None = None,
    relays: t.Mapping[str, str] | None = None,
) -> dict[str, t.Any]:
    """Return the whole status. What the caller does not know is None, and keeps its previous value: `chassis`, `northd` (active pods),
    `left` (what is pending until the pods are as the objects desire), `schemas`, `certificates` (without an endpoint: no TLS),
    `claims` (conflicts between chassis), `relays` (why each endpoint of chassis does not serve, empty if it does).

    `generation` of the specification is the one that a run last made objects of, `declared` the one that there is now: more than it, and a run
    is due. `previous` is the status until now; equal conditions give an equal status, independent of `now`.
    """
    known = _by_type(previous)
    conditions: list[StatusCondition | None] = [
        *(_database(name, verdicts[name], endpoints[name]) for name in DATABASES),
        northd_condition(northd, known.get("NorthdReady")),
        controllers_condition(chassis, verdicts["southbound"].writable, known.get("ControllersReady")),
        up_to_date_condition(generation, declared or generation, left, known.get(UP_TO_DATE)),
        schema_condition(schemas or {}, known.get(SCHEMA)),
        certificate_condition(certificates, known.get(CERTIFICATE), now),
        claims_condition(claims, known.get(CLAIMS)),
        relays_condition(relays, known.get(RELAYS)),
    ]
    status: dict[str, t.Any] = {
        "conditions": [
            *({**condition, "observedGeneration": generation} for condition in _with_history(conditions, known, now)),
            *([dict(known[RECONCILED])] if RECONCILED in known else []),
        ],
        "endpoints": dict(endpoints),
        **({HYPERVISOR_CLUSTERS: previous[HYPERVISOR_CLUSTERS]} if HYPERVISOR_CLUSTERS in previous else {}),
        **_observed(previous, verdicts, chassis, certificates),
    }
    observed = previous.get("observedGeneration") if left is None or left else generation
    if observed is not None:
        status["observedGeneration"] = observed
    return status


def machines_status(
    *,
    previous: t.Mapping[str, t.Any],
    verdicts: t.Mapping[str, Verdict],
    endpoints: t.Mapping[str, str],
    chassis: ChassisCount | None,
    certificates: ObservedCertificates | None,
    claims: t.Sequence[str] | None,
    now: str,
) -> dict[str, t.Any]:
    """Return the same for a control plane on machines, where no object has a generation and each northd is known to its own host alone."""
    known = _by_type(previous)
    conditions = [
        *(_database(name, verdicts[name], endpoints[name]) for name in DATABASES),
        controllers_condition(chassis, verdicts["southbound"].writable, known.get("ControllersReady")),
        certificate_condition(certificates, known.get(CERTIFICATE), now),
        claims_condition(claims, known.get(CLAIMS)),
    ]
    return {
        "conditions": _with_history(conditions, known, now),
        "endpoints": dict(endpoints),
        **_observed(previous, verdicts, chassis, certificates),
    }


def _by_type(status: t.Mapping[str, t.Any]) -> dict[str, t.Mapping[str, t.Any]]:
    return {condition["type"]: condition for condition in status.get("conditions", ())}


def _observed(
    previous: t.Mapping[str, t.Any],
    verdicts: t.Mapping[str, Verdict],
    chassis: ChassisCount | None,
    certificates: ObservedCertificates | None,
) -> dict[str, t.Any]:
    status: dict[str, t.Any] = {name: _members(verdicts[name], previous.get(name, {})) for name in DATABASES}
    if chassis is not None:
        active = None if chassis.late is None else chassis.registered - len(chassis.late)
        counts = {"chassisCount": chassis.registered, "activeControllers": active}  # None deletes it in a merge patch
    else:
        counts = {key: previous[key] for key in ("chassisCount", "activeControllers") if key in previous}
    end = first_end(certificates.ends) if certificates is not None else previous.get("certificateNotAfter")
    return {**status, **counts, **({"certificateNotAfter": end} if end else {})}


def serves(verdict: Verdict) -> bool:
    """Return whether clients can rely on the database. A cluster of which only a minority has joined so far is not yet one."""
    if verdict.verdict != "forming":
        return verdict.writable
    members = members_of(verdict)
    return verdict.writable and _taking_part(members) >= majority(len(members))


def _database(name: str, verdict: Verdict, endpoints: str) -> StatusCondition:
    members = members_of(verdict)
    message = f"{_taking_part(members)} of {len(members)} members take part, {pod_of(leader_of(verdict) or 'no member')} leads."
    problems = [reason.message for reason in verdict.reasons if reason.severity == "problem"]
    return StatusCondition(
        f"{TITLES[name]}Ready",
        "True" if serves(verdict) else "False",
        _REASONS[verdict.verdict],
        " ".join([message, *_unresponsive_addresses(members, endpoints), *dict.fromkeys(problems)])[:LONGEST],
    )


def _unresponsive_addresses(members: t.Mapping[str, t.Mapping[str, t.Any]], endpoints: str) -> list[str]:
    """Return a message with the outside addresses of members that take no part."""
    known = endpoints.split(",") if endpoints else []
    if len(known) != len(members):
        return []
    unresponsive = [endpoint for endpoint, name in zip(known, members) if not members[name]["connected"]]
    outside = [one for one in unresponsive if pod_of(one) not in members]  # addresses inside are the names of pods
    return [f"Clients get no answer at {', '.join(outside)}."] if outside else []


def members_of(verdict: Verdict) -> dict[str, t.Mapping[str, t.Any]]:
    """Return the members of the verdict by pod: an unresponsive one may be in it twice, as the place that was asked and as an address in the leader's list."""
    members: dict[str, t.Mapping[str, t.Any]] = {}
    for member in verdict.members:
        name = pod_of(member["member"])
        if name not in members or member["reachable"]:
            members[name] = member
    return dict(sorted(members.items(), key=lambda item: _in_order(item[0])))


def _in_order(name: str) -> list[str | int]:
    """Return a key that sorts `…-10` after `…-9`: the order of ordinals, and of published endpoints."""
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)]


def pod_of(place: str) -> str:
    """Return the pod that a place names: its Raft address and its endpoint begin with its name."""
    host = host_of(place)
    return host if literal(host) else host.partition(".")[0]


def _taking_part(members: t.Mapping[str, t.Mapping[str, t.Any]]) -> int:
    return sum(1 for member in members.values() if member["connected"])


def rolled_out(status: t.Mapping[str, t.Any]) -> int:
    """Return the generation that a run last rolled out to objects, though maybe not yet to pods; 0 if none ever was."""
    condition: t.Mapping[str, t.Any] = next((c for c in status.get("conditions", ()) if c["type"] == UP_TO_DATE), {})
    return int(condition.get("observedGeneration") or status.get("observedGeneration") or 0)


def _ready(conditions: t.Sequence[StatusCondition]) -> StatusCondition:
    """Return the condition of the control plane: databases and northd. Chassis come and go, they have a condition of their own."""
    missing = [f for f in conditions if f.kind in _CONTROL_PLANE and f.status != "True"]
    if missing:
        first = min(missing, key=lambda f: f.status != "False")
        return StatusCondition("Ready", first.status, f"{first.kind[: -len('Ready')]}NotReady", first.message)
    return StatusCondition("Ready", "True", "ControlPlaneReady", "Both databases take writes.")


def _with_history(
    conditions: t.Iterable[StatusCondition | None], known: t.Mapping[str, t.Mapping[str, t.Any]], now: str
) -> list[dict[str, t.Any]]:
    """Return the conditions that there are, after the one that sums them up."""
    current = [condition for condition in conditions if condition is not None]
    return [_since(condition, known.get(condition.kind), now) for condition in (_ready(current), *current)]


def _since(condition: StatusCondition, before: t.Mapping[str, t.Any] | None, now: str) -> dict[str, t.Any]:
    message, since = condition.message, now
    if before is not None:
        if before["status"] == condition.status:
            since = before["lastTransitionTime"]
        if _settled(before["message"]) == _settled(message):
            message = before["message"]
    return {
        "type": condition.kind,
        "status": condition.status,
        "reason": condition.reason,
        "message": message,
        "lastTransitionTime": since,
    }


def _settled(message: str) -> str:
    return _RESTLESS.sub("N", message)


def _members(verdict: Verdict, previous: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    return {
        "verdict": verdict.verdict,
        "writable": verdict.writable,
        # The cluster id stays known while all members are down.
        "clusterId": verdict.cluster_id or previous.get("clusterId", ""),
        "leader": pod_of(leader_of(verdict) or ""),
        "members": [
            {
                "name": name,
                # Of a member that does not answer, others know only the first four digits.
                "serverId": member["server_id"] if len(member["server_id"] or "") == _UUID_LENGTH else "",
                "role": (member["role"] or "") if member["connected"] else "",
                "connected": bool(member["connected"]),
            }
            for name, member in members_of(verdict).items()
        ],
    }
