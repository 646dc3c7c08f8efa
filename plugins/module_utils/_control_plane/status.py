# SPDX-License-Identifier: GPL-3.0-or-later
"""The status of the OVNCluster as this run observed it last. From then on the observer in the cluster keeps it up to date."""

from __future__ import annotations

import json
import time
import typing as t

from .._api.names import API_VERSION, Object
from .._api.status import cluster_status
from .._base.databases import DATABASES, Database
from .._base.deadline import Deadline
from .._base.errors import Conflict, OvnError
from .._kubernetes.client import Cluster
from .._kubernetes.rollout_progress import is_available, pending_items
from .ask_northd import ask_northds
from .desired import DesiredCluster
from .endpoints import Endpoints
from .observed_members import ObservedDatabase

_TAKE_OVER_SECONDS = 5.0  # until one of the available northds has acquired the lock of the Southbound database
_ATTEMPTS, _PAUSE = 5, 0.2


class StatusFacts(t.NamedTuple):
    """What a run observed last: both databases, their endpoints, and the Deployments (None: not known)."""

    databases: t.Mapping[Database, ObservedDatabase]
    endpoints: Endpoints
    northd: Object | None
    observer: Object | None


def write_status(
    cluster: Cluster,
    desired: DesiredCluster,
    resource: Object | None,
    facts: StatusFacts,
    now: str,
    *,
    generation: int,
    warn: t.Callable[[str], None],
) -> Object | None:
    """Write the status if it differs, and return the resource with its status. `generation` of the specification is the one that was rolled out."""
    if resource is None:
        return None
    changed = [one for one in facts.databases.values() if one.changed]
    for one in changed:
        one.read_members()
    northd = _active_northd(cluster, desired, resource, facts)
    for attempt in range(_ATTEMPTS):
        if attempt:
            time.sleep(_PAUSE)
        if changed or attempt:  # the observer has written, too, while we were busy
            resource = cluster.get(API_VERSION, "OVNCluster", desired.name, desired.namespace) or resource
        status = _status(resource, facts, generation, northd, now)
        if json.dumps(status, sort_keys=True) == json.dumps(resource.get("status") or {}, sort_keys=True):
            return resource
        try:
            return cluster.apply_status(_status_manifest(desired, resource, status))
        except Conflict:
            continue
    warn(
        f"The status of OVNCluster {desired.name} was not written: another client changed it each time. Run again, or let the observer write it."
    )
    return resource


def _status_manifest(desired: DesiredCluster, resource: Object, status: Object) -> Object:
    """Return the status as it is applied: with the version of the resource, or what the observer has written meanwhile would be undone."""
    version = resource["metadata"]["resourceVersion"]
    metadata = {"name": desired.name, "namespace": desired.namespace, "resourceVersion": version}
    return {"apiVersion": API_VERSION, "kind": "OVNCluster", "metadata": metadata, "status": status}


def _status(
    resource: Object, facts: StatusFacts, generation: int, northd: list[str] | None, now: str
) -> dict[str, t.Any]:
    previous = resource.get("status") or {}
    pods = {name: pod for one in facts.databases.values() for name, pod in one.pods.items()}
    return cluster_status(
        generation=generation,
        declared=resource["metadata"]["generation"],
        previous=previous,
        verdicts={d: facts.databases[d].verdict() for d in DATABASES},
        endpoints=facts.endpoints.as_status(),
        chassis=None,
        now=now,
        northd=northd,
        left=pending_items(
            {facts.databases[d].set_name: facts.databases[d].set for d in DATABASES},
            facts.northd,
            pods,
            {facts.databases[d].set_name: len(facts.databases[d].run.declared) for d in DATABASES},
            in_effect=previous.get("observedGeneration") == generation,
        ),
        schemas={d: facts.databases[d].schemas for d in DATABASES},
    )


def _active_northd(cluster: Cluster, desired: DesiredCluster, resource: Object, facts: StatusFacts) -> list[str] | None:
    """Return the active northd's pods; None if an observer is available, which keeps that up to date, or if no northd could be asked."""
    conditions = {c["type"] for c in (resource.get("status") or {}).get("conditions") or ()}
    if "NorthdReady" in conditions and facts.observer is not None and is_available(facts.observer):
        return None
    patience = Deadline(_TAKE_OVER_SECONDS if desired.wait else 0)
    while True:
        try:
            answers = ask_northds(cluster, desired.namespace, desired.name)
        except OvnError:
            return None
        active = [pod for pod, said in answers.items() if said["state"] == "active"]
        if active or patience.expired:
            answered = any(said["state"] != "unreachable" for said in answers.values())
            return active if answered or not answers else None
        time.sleep(0.5)
