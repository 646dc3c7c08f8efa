# SPDX-License-Identifier: GPL-3.0-or-later
"""The part of the status of an OVNCluster that the operator writes, beside what runs and observers write. Pure."""

from __future__ import annotations

import typing as t

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
