# SPDX-License-Identifier: GPL-3.0-or-later
"""The status of each OVNChassis, as a run has observed it last."""

from __future__ import annotations

import contextlib
import datetime
import json
import typing as t

from .._api.chassis_status import OVS_CONNECTED, READY, ChassisFacts, chassis_status
from .._api.names import API_VERSION, Object
from .._base.errors import Conflict, OvnError
from .._kubernetes.client import Cluster
from .desired import DesiredHypervisors
from .pods import components_of, pod_problems, rolled_out
from .resources import KIND, chassis_facts
from .settings import Chassis
from .southbound import Registry
from .wait import our_pods


def read_pod_problems(
    cluster: Cluster,
    desired: DesiredHypervisors,
    daemon_sets: t.Mapping[str, Object],
    chassis: t.Sequence[Chassis],
    *,
    awaited: bool,
    not_awaited: t.Container[str] = (),
) -> dict[str, str] | None:
    """Return what is wrong with the pods, by node; None if there are no pods yet.

    `daemon_sets`: those that are as they were read. `awaited`: the run has waited for all pods on nodes that are ready and not `not_awaited`, and they are
    ready, too.
    """
    if awaited and all(one.node.ready and one.node.name not in not_awaited for one in chassis):
        return {}
    components = components_of(desired.spec.ovs.mode)
    if len(daemon_sets) == len(components) and all(rolled_out(one, len(chassis)) for one in daemon_sets.values()):
        return {}
    if not awaited and not any((d.get("status") or {}).get("observedGeneration") for d in daemon_sets.values()):
        return None
    pods = cluster.list("v1", "Pod", desired.namespace, labels=our_pods(desired.name))
    try:
        events = cluster.list("v1", "Event", desired.namespace)
    except OvnError:  # a right that a run can do without
        events = []
    return pod_problems(pods, [one.node for one in chassis], events, components)


def write_statuses(
    cluster: Cluster,
    chassis: t.Sequence[Chassis],
    registry: Registry | None,
    resources: t.Mapping[str, Object],
    problems: t.Mapping[str, str] | None,
    interval: float,
    *,
    has_agents: bool,
    on_machines: bool = False,
    unreachable: str = "",
) -> None:
    """Write each status that differs. `resources` are the OVNChassis by node, `problems` those of pods, `interval` the seconds between two heartbeats.

    `has_agents`: agents write these statuses between runs. `on_machines`: they are machines, which have no pods. `unreachable`: why there is no
    `registry`, if that is to be written.
    `resources` may be as old as the run: if they differ, all are read again. What an agent has written since then is newer than what is known here, and stays.
    """
    if problems is None and registry is None and not unreachable:
        return
    now = datetime.datetime.now(datetime.timezone.utc)
    facts = {
        one.node.name: chassis_facts(
            one, registry, problems, now=now, interval=interval, has_agent=has_agents, on_machine=on_machines
        )._replace(unreachable=unreachable)
        for one in chassis
    }
    if not changed_statuses(resources, facts, now):
        return
    fresh = {resource["metadata"]["name"]: resource for resource in cluster.list(API_VERSION, KIND)}
    for manifest in changed_statuses(fresh, facts, now):
        with contextlib.suppress(Conflict):
            cluster.apply_status(manifest)


def changed_statuses(
    resources: t.Mapping[str, Object], facts: t.Mapping[str, ChassisFacts], now: datetime.datetime
) -> list[Object]:
    """Return the manifest of each status that differs, which is applied over that very version of the OVNChassis alone."""
    manifests = []
    for node, known in facts.items():
        resource = resources.get(node)
        if resource is None:
            continue
        metadata, previous = resource["metadata"], resource.get("status") or {}
        status = chassis_status(previous, known, generation=metadata.get("generation", 1), now=now)
        # Other conditions stay: what is applied does not have them.
        ours = [one for one in previous.get("conditions") or [] if one.get("type") in (READY, OVS_CONNECTED)]
        if json.dumps(status, sort_keys=True) != json.dumps({**previous, "conditions": ours}, sort_keys=True):
            version = {"name": node, "resourceVersion": metadata["resourceVersion"]}
            manifests.append({"apiVersion": API_VERSION, "kind": KIND, "metadata": version, "status": status})
    return manifests
