# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

Waiting: for pods, and for every hypervisor in the Southbound database.
"""

from __future__ import annotations

import time
import typing as t

from .._api.names import MANAGER, Object
from .._deadline import Deadline
from .._errors import OvnError, TimedOut, Unreachable
from .._kubernetes.client import Cluster
from .._kubernetes.workload_watch import watch_until
from .._progress import report_progress
from .desired import DesiredHypervisors
from .pods import COMPONENTS, components_of, explain, pod_problems, rolled_out
from .settings import Chassis
from .southbound import Registry, read_registry

_MOST_LISTED = 5
_PAUSE = 1.0  # between looks at the Southbound database


def our_pods(name: str) -> str:
    """Return the label selector of the pods of both DaemonSets."""
    parts = ",".join(COMPONENTS)
    return f"app.kubernetes.io/managed-by={MANAGER},app.kubernetes.io/instance={name},app.kubernetes.io/component in ({parts})"


def await_pods(
    cluster: Cluster,
    desired: DesiredHypervisors,
    known: t.Mapping[str, Object],
    chassis: t.Sequence[Chassis],
    deadline: Deadline,
) -> None:
    """Return when every pod is up to date and ready; `TimedOut` says why not. Nodes that are down do not count. `known`: DaemonSets as read last."""
    components = components_of(desired.spec.ovs.mode).values()
    down = sum(not one.node.ready for one in chassis)

    def good(state: t.Mapping[str, Object]) -> bool:
        done = all(name in state and rolled_out(state[name], len(chassis), down) for name in components)
        if not done:
            report_progress(f"wait for the pods: {_progress(state, components)}")
        return done

    labels, seconds = our_pods(desired.name), max(1.0, deadline.left())
    state = watch_until(cluster, "DaemonSet", desired.namespace, good, known=known, labels=labels, timeout=seconds)
    if good(state):
        return
    raise TimedOut(
        f"The pods of the hypervisors in namespace {desired.namespace} were not ready within {desired.wait_timeout:g} s: "
        f"{_progress(state, components)}. {why(cluster, desired, chassis)}Run again when that is repaired; nothing has to be undone."
    )


def _progress(state: t.Mapping[str, Object], daemon_sets: t.Iterable[str]) -> str:
    progress = []
    for name in daemon_sets:
        status = (state.get(name) or {}).get("status") or {}
        desired = status.get("desiredNumberScheduled", 0)
        progress.append(
            f"DaemonSet {name} has {status.get('numberReady', 0)} of {desired} ready, {status.get('updatedNumberScheduled', 0)} up to date"
        )
    return ", ".join(progress)


def why(cluster: Cluster, desired: DesiredHypervisors, chassis: t.Sequence[Chassis]) -> str:
    """Return what Kubernetes and the agents report, as sentences; empty if nothing is wrong."""
    try:
        pods = cluster.list("v1", "Pod", desired.namespace, labels=our_pods(desired.name))
        events = cluster.list("v1", "Event", desired.namespace)
    except OvnError as e:
        return f"(cause unknown: {e}) "
    problems = pod_problems(pods, [one.node for one in chassis], components=components_of(desired.spec.ovs.mode))
    text = explain(problems, pods, events)
    return f"{text}. " if text else ""


def await_registered(
    cluster: Cluster, desired: DesiredHypervisors, chassis: t.Sequence[Chassis], deadline: Deadline, *, owner: str
) -> Registry:
    """Return the registry when every hypervisor whose node is ready is registered; `TimedOut` names the missing ones. `owner`: the mark of our rows."""
    waited = [one for one in chassis if one.node.ready]
    missing: list[tuple[Chassis, str]] = []
    while True:
        try:
            found = read_registry(desired.asked, desired.tls, Deadline(min(15.0, max(2.0, deadline.left()))))
            registry = found._replace(owner=owner)
        except (Unreachable, TimedOut) as e:
            missing = [(one, str(e)) for one in waited[:1]]
        else:
            missing = [(one, reason) for one in waited if (reason := registry.registration_problem(one))]
            if not missing:
                return registry
        if deadline.left() <= _PAUSE:
            break
        report_progress(f"wait for {len(missing)} chassis to register in the Southbound database")
        time.sleep(_PAUSE)
    listed = "; ".join(
        f'chassis "{one.system_id}" of node {one.node.name}: {reason}' for one, reason in missing[:_MOST_LISTED]
    )
    more = f" and {len(missing) - _MOST_LISTED} more" if len(missing) > _MOST_LISTED else ""
    raise TimedOut(
        f"{len(missing)} of {len(waited)} hypervisors are not registered in the Southbound database after {desired.wait_timeout:g} s: {listed}{more}. "
        f"{why(cluster, desired, chassis)}See kubectl -n {desired.namespace} logs daemonset/ovn-controller --all-containers, then run again.",
        missing=[one.node.name for one, _reason in missing],
    )
