# SPDX-License-Identifier: GPL-3.0-or-later
"""Conditions of an OVNCluster beside those of its databases. What was not observed keeps its previous condition, if it had one. Pure."""

from __future__ import annotations

import typing as t

from .._base.databases import DATABASES, TITLES
from .._daemons.schema_update import Schemas, schema_gap
from .._kubernetes.rollout_progress import PendingItem

# The part of the status of an OVNCluster that the operator writes, beside what runs and observers write. Pure.

RECONCILED = "Reconciled"
HYPERVISOR_CLUSTERS = "hypervisorClusters"


class TargetOutcome(t.NamedTuple):
    """What became of the last run over one place: the control plane, or one hypervisor cluster."""

    ready: bool
    reason: str
    message: str

    def as_entry(self, name: str) -> dict[str, t.Any]:
        """Return the entry of `hypervisorClusters` in the status."""
        return {"name": name, "ready": self.ready, "reason": self.reason, "message": self.message}


def operator_status(
    previous: t.Mapping[str, t.Any],
    control_plane: TargetOutcome,
    clusters: t.Mapping[str, TargetOutcome],
    *,
    generation: int,
    now: str,
) -> dict[str, t.Any]:
    """Return the whole status with the part of the operator in it; all else is as in `previous`. Equal outcomes give an equal status, independent of `now`."""
    conditions = list(previous.get("conditions") or ())
    before = next((one for one in conditions if one["type"] == RECONCILED), None)
    outcome = _sum(control_plane, clusters)
    status = "True" if outcome.ready else "False"
    condition = {
        "type": RECONCILED,
        "status": status,
        "reason": outcome.reason,
        "message": outcome.message,
        "lastTransitionTime": before["lastTransitionTime"] if before and before["status"] == status else now,
        "observedGeneration": generation,
    }
    return {
        **{key: value for key, value in previous.items() if key != HYPERVISOR_CLUSTERS},
        "conditions": [*(one for one in conditions if one["type"] != RECONCILED), condition],
        **({HYPERVISOR_CLUSTERS: [one.as_entry(name) for name, one in sorted(clusters.items())]} if clusters else {}),
    }


def _sum(control_plane: TargetOutcome, clusters: t.Mapping[str, TargetOutcome]) -> TargetOutcome:
    """Return the condition of all: the first place that is not as declared, the control plane before all."""
    if not control_plane.ready:
        return control_plane
    failed = {name: one for name, one in sorted(clusters.items()) if not one.ready}
    if not failed:
        also = f", and so are the hypervisors of {len(clusters)} of {len(clusters)} clusters" if clusters else ""
        return TargetOutcome(True, "AsDeclared", f"The control plane is as declared{also}.")
    name, first = next(iter(failed.items()))
    more = f" Not ready, too: {', '.join(list(failed)[1:])}." if len(failed) > 1 else ""
    return TargetOutcome(False, first.reason, f"Hypervisor cluster {name}: {first.message}{more}")


# A condition in a status. Pure.


class StatusCondition(t.NamedTuple):
    """A condition without its history."""

    kind: str
    status: str  # True | False | Unknown
    reason: str
    message: str


def repeat_condition(before: t.Mapping[str, t.Any]) -> StatusCondition:
    """Return a condition of the previous status as it is."""
    return StatusCondition(before["type"], before["status"], before["reason"], before["message"])


UP_TO_DATE, SCHEMA, CLAIMS = "UpToDate", "SchemaCurrent", "ClaimsConsistent"
LONGEST = 1000  # of a message
_NAMES = 5  # of chassis or conflicts in a message


class ChassisCount(t.NamedTuple):
    """How many chassis are registered, and the names of those that have not answered the last heartbeat; None: they are configured not to answer."""

    registered: int
    late: tuple[str, ...] | None


def up_to_date_condition(
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
        return StatusCondition(UP_TO_DATE, "False", reason, " ".join(one.message for one in left)[:LONGEST])
    return StatusCondition(UP_TO_DATE, "True", "RolledOut", f"All pods are of generation {generation}.")


def schema_condition(schemas: t.Mapping[str, Schemas], before: t.Mapping[str, t.Any] | None) -> StatusCondition | None:
    """Return the condition of both schemas, or the previous one if a database could not be asked."""
    if not all(name in schemas and None not in schemas[name] for name in DATABASES):
        return repeat_condition(before) if before else None
    gaps = [gap for name in DATABASES if (gap := schema_gap(name, schemas[name]))]
    if gaps:
        return StatusCondition(SCHEMA, "False", "OtherThanImage", " ".join(gaps))
    message = ", ".join(f"{TITLES[name]} {schemas[name].database}" for name in DATABASES)
    return StatusCondition(SCHEMA, "True", "AsImage", f"{message}.")


def northd_condition(active: t.Sequence[str] | None, before: t.Mapping[str, t.Any] | None) -> StatusCondition:
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


def controllers_condition(
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


def claims_condition(conflicts: t.Sequence[str] | None, before: t.Mapping[str, t.Any] | None) -> StatusCondition | None:
    if conflicts is None:
        return repeat_condition(before) if before else None
    if not conflicts:
        return StatusCondition(CLAIMS, "True", "NoConflicts", "No chassis claims what is another one's.")
    more = f" And {len(conflicts) - _NAMES} more." if len(conflicts) > _NAMES else ""
    return StatusCondition(CLAIMS, "False", "ConflictingClaims", f"{' '.join(conflicts[:_NAMES])}{more}"[:LONGEST])
