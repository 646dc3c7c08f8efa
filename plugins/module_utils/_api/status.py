# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

The status of an OVNCluster from the verdicts about its databases. Modules and the observer write it, so both use this. Pure.

Only what both can see is in it: the observer asks the members from outside and never sees a member list, a term or a timer.
"""

from __future__ import annotations

import ipaddress
import re
import typing as t

from .._database.schema_update import Schemas, schema_gap
from .._databases import DATABASES, TITLES
from .._kubernetes.rollout_progress import PendingItem
from .._raft.answer import host_of
from .._raft.verdict import Verdict
from .._raft.view import majority
from .certificate_status import CERTIFICATE, certificate_condition, first_end
from .conditions import StatusCondition, repeat_condition
from .leader_labels import leader_of

UP_TO_DATE, SCHEMA, CLAIMS = "UpToDate", "SchemaCurrent", "ClaimsConsistent"
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
_LONGEST = 1000  # of a message
_NAMES = 5  # of chassis or conflicts in a message

# Numbers that differ in each observation and mean no change.
_RESTLESS = re.compile(r"\b\d+(?:\.\d+)?(?= (?:s ago|log entries))")


class ChassisCount(t.NamedTuple):
    """How many chassis are registered, and the names of those that have not answered the last heartbeat; None: they are configured not to answer."""

    registered: int
    late: tuple[str, ...] | None


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
    certificates: t.Mapping[str, float] | None = None,
    claims: t.Sequence[str] | None = None,
) -> dict[str, t.Any]:
    """Return the whole status. What the caller does not know is None, and keeps its previous value: `chassis`, `northd` (active pods),
    `left` (what is pending until the pods are as the objects desire), `schemas`, `certificates` (when the one that each endpoint
    serves ends, in seconds since 1970; empty without TLS), `claims` (conflicts between chassis).

    `generation` of the specification is the one that a run last made objects of, `declared` the one that there is now: more than it, and a run
    is due. `previous` is the status until now; equal conditions give an equal status, independent of `now`.
    """
    known = {condition["type"]: condition for condition in previous.get("conditions", ())}
    databases = [_database(name, verdicts[name], endpoints[name]) for name in DATABASES]
    southbound_serves = verdicts["southbound"].writable
    conditions: list[StatusCondition | None] = [
        *databases,
        _northd(northd, known.get("NorthdReady")),
        _controllers(chassis, southbound_serves, known.get("ControllersReady")),
        _up_to_date(generation, declared or generation, left, known.get(UP_TO_DATE)),
        _schema(schemas or {}, known.get(SCHEMA)),
        certificate_condition(certificates, known.get(CERTIFICATE), now),
        _claims(claims, known.get(CLAIMS)),
    ]
    current = [condition for condition in conditions if condition is not None]
    current.insert(0, _ready(current))
    status: dict[str, t.Any] = {
        "conditions": [_with_history(condition, known.get(condition.kind), generation, now) for condition in current],
        "endpoints": {name: endpoints[name] for name in DATABASES},
        **{name: _members(verdicts[name], previous.get(name, {})) for name in DATABASES},
    }
    observed = previous.get("observedGeneration") if left is None or left else generation
    if observed is not None:
        status["observedGeneration"] = observed
    if chassis is not None:
        active = (
            None if chassis.late is None else chassis.registered - len(chassis.late)
        )  # None deletes it in a merge patch
        counts = {"chassisCount": chassis.registered, "activeControllers": active}
    else:
        counts = {key: previous[key] for key in ("chassisCount", "activeControllers") if key in previous}
    end = first_end(certificates) if certificates is not None else previous.get("certificateNotAfter")
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
        " ".join([message, *_unresponsive_addresses(members, endpoints), *dict.fromkeys(problems)])[:_LONGEST],
    )


def _unresponsive_addresses(members: t.Mapping[str, t.Mapping[str, t.Any]], endpoints: str) -> list[str]:
    """Return a message with the outside addresses of members that take no part."""
    known = endpoints.split(",")
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
    return dict(sorted(members.items()))


def pod_of(place: str) -> str:
    """Return the pod that a place names: its Raft address and its endpoint begin with its name."""
    host = host_of(place)
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return host.partition(".")[0]
    return host


def _taking_part(members: t.Mapping[str, t.Mapping[str, t.Any]]) -> int:
    return sum(1 for member in members.values() if member["connected"])


def rolled_out(status: t.Mapping[str, t.Any]) -> int:
    """Return the generation that a run last rolled out to objects, though maybe not yet to pods; 0 if none ever was."""
    condition: t.Mapping[str, t.Any] = next((c for c in status.get("conditions", ()) if c["type"] == UP_TO_DATE), {})
    return int(condition.get("observedGeneration") or status.get("observedGeneration") or 0)


def _up_to_date(
    generation: int, declared: int, left: t.Sequence[PendingItem] | None, before: t.Mapping[str, t.Any] | None
) -> StatusCondition:
    if declared > generation:
        message = f"Generation {declared} of the specification is not rolled out. A run of ovn_cluster does that."
        return StatusCondition(UP_TO_DATE, "False", "NotRolledOut", message)
    if left is None:
        message = "The pods of this specification have not been observed yet."
        return repeat_condition(before) if before else StatusCondition(UP_TO_DATE, "Unknown", "NotObserved", message)
    if left:
        reason = "RestartsDue" if any(one.kind == "restart" for one in left) else "PodsMissing"
        return StatusCondition(UP_TO_DATE, "False", reason, " ".join(one.message for one in left)[:_LONGEST])
    return StatusCondition(UP_TO_DATE, "True", "RolledOut", f"All pods are of generation {generation}.")


def _schema(schemas: t.Mapping[str, Schemas], before: t.Mapping[str, t.Any] | None) -> StatusCondition | None:
    """Return the condition of both schemas, or the previous one if a database could not be asked."""
    if not all(name in schemas and None not in schemas[name] for name in DATABASES):
        return repeat_condition(before) if before else None
    gaps = [gap for name in DATABASES if (gap := schema_gap(name, schemas[name]))]
    if gaps:
        return StatusCondition(SCHEMA, "False", "OtherThanImage", " ".join(gaps))
    message = ", ".join(f"{TITLES[name]} {schemas[name].database}" for name in DATABASES)
    return StatusCondition(SCHEMA, "True", "AsImage", f"{message}.")


def _northd(active: t.Sequence[str] | None, before: t.Mapping[str, t.Any] | None) -> StatusCondition:
    if active is None:
        return (
            repeat_condition(before)
            if before
            else StatusCondition("NorthdReady", "Unknown", "NotObserved", "northd has not been observed yet.")
        )
    if active:
        return StatusCondition(
            "NorthdReady", "True", "Active", f"{', '.join(active)} translates the Northbound database."
        )
    return StatusCondition(
        "NorthdReady", "False", "NobodyActive", "No ovn-northd says that it is active: changes reach no chassis."
    )


def _controllers(
    chassis: ChassisCount | None, southbound_serves: bool, before: t.Mapping[str, t.Any] | None
) -> StatusCondition:
    kind = "ControllersReady"
    if not southbound_serves:
        return StatusCondition(
            kind,
            "Unknown",
            "SouthboundNotReady",
            "The Southbound database does not serve, so it is unknown which chassis are alive.",
        )
    if chassis is None:
        unknown = StatusCondition(kind, "Unknown", "NotObserved", "The chassis have not been observed yet.")
        return repeat_condition(before) if before and before["reason"] != "SouthboundNotReady" else unknown
    if not chassis.registered:
        return StatusCondition(kind, "False", "NoChassis", "No chassis is registered.")
    if chassis.late is None:
        message = "NB_Global.options:enable_chassis_nb_cfg_update is false: chassis do not answer heartbeats."
        return StatusCondition(kind, "Unknown", "HeartbeatsDisabled", message)
    message = f"{chassis.registered - len(chassis.late)} of {chassis.registered} chassis answer."
    if chassis.late:
        more = f" and {len(chassis.late) - _NAMES} more" if len(chassis.late) > _NAMES else ""
        message = f"{message} No answer: {', '.join(sorted(chassis.late)[:_NAMES])}{more}."
        return StatusCondition(kind, "False", "ChassisUnresponsive", message)
    return StatusCondition(kind, "True", "AllAnswer", message)


def _claims(conflicts: t.Sequence[str] | None, before: t.Mapping[str, t.Any] | None) -> StatusCondition | None:
    if conflicts is None:
        return repeat_condition(before) if before else None
    if not conflicts:
        return StatusCondition(CLAIMS, "True", "NoConflicts", "No chassis claims what is another one's.")
    more = f" And {len(conflicts) - _NAMES} more." if len(conflicts) > _NAMES else ""
    return StatusCondition(CLAIMS, "False", "ConflictingClaims", f"{' '.join(conflicts[:_NAMES])}{more}"[:_LONGEST])


def _ready(conditions: t.Sequence[StatusCondition]) -> StatusCondition:
    """Return the condition of the control plane: databases and northd. Chassis come and go, they have a condition of their own."""
    missing = [f for f in conditions if f.kind in _CONTROL_PLANE and f.status != "True"]
    if missing:
        first = min(missing, key=lambda f: f.status != "False")
        return StatusCondition("Ready", first.status, f"{first.kind[: -len('Ready')]}NotReady", first.message)
    return StatusCondition("Ready", "True", "ControlPlaneReady", "Both databases take writes.")


def _with_history(
    condition: StatusCondition, before: t.Mapping[str, t.Any] | None, generation: int, now: str
) -> dict[str, t.Any]:
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
        "observedGeneration": generation,
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
