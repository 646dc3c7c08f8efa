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
from .desired import DesiredHypervisors
from .pods import COMPONENTS, explain, pod_troubles, rolled_out
from .settings import Chassis
from .southbound import Registry, read_registry

_TOLD = 5
_PAUSE = 1.0  # between looks at the Southbound database


def our_pods(name: str) -> str:
    """Label selector."""
    parts = ",".join(COMPONENTS)
    return f"app.kubernetes.io/managed-by={MANAGER},app.kubernetes.io/instance={name},app.kubernetes.io/component in ({parts})"


def await_pods(
    cluster: Cluster,
    desired: DesiredHypervisors,
    known: t.Mapping[str, Object],
    chassis: t.Sequence[Chassis],
    deadline: Deadline,
) -> None:
    """Return when every pod runs what it should and is ready; nodes that are down are not waited for. `known`: DaemonSets as last seen."""
    down = sum(not one.node.ready for one in chassis)
    state = dict(known)

    def good() -> bool:
        return all(name in state and rolled_out(state[name], len(chassis), down) for name in COMPONENTS.values())

    if good():
        return
    labels = our_pods(desired.name)
    events = cluster.watch("apps/v1", "DaemonSet", desired.namespace, labels=labels, timeout=max(1.0, deadline.left()))
    for kind, daemon_set in events:
        name = daemon_set["metadata"]["name"]
        if kind == "DELETED":
            state.pop(name, None)
        elif name in COMPONENTS.values():
            state[name] = daemon_set
        if good():
            return
    raise TimedOut(
        f"The pods of the hypervisors in namespace {desired.namespace} were not ready within {desired.wait_timeout:g} s: "
        f"{_progress(state)}. {why(cluster, desired, chassis)}Run again when that is repaired; nothing has to be undone."
    )


def _progress(state: t.Mapping[str, Object]) -> str:
    words = []
    for name in COMPONENTS.values():
        status = (state.get(name) or {}).get("status") or {}
        desired = status.get("desiredNumberScheduled", 0)
        words.append(
            f"DaemonSet {name} has {status.get('numberReady', 0)} of {desired} ready, {status.get('updatedNumberScheduled', 0)} up to date"
        )
    return ", ".join(words)


def why(cluster: Cluster, desired: DesiredHypervisors, chassis: t.Sequence[Chassis]) -> str:
    """What Kubernetes and the agents say, as sentences; empty if nothing is wrong."""
    try:
        pods = cluster.list("v1", "Pod", desired.namespace, labels=our_pods(desired.name))
        events = cluster.list("v1", "Event", desired.namespace)
    except OvnError as e:
        return f"(cause unknown: {e}) "
    troubles = pod_troubles(pods, [one.node for one in chassis])
    text = explain(troubles, pods, events)
    return f"{text}. " if text else ""


def await_registered(
    cluster: Cluster, desired: DesiredHypervisors, chassis: t.Sequence[Chassis], deadline: Deadline, *, owner: str
) -> Registry:
    """The Southbound database with every hypervisor in it, whose node is up, with its tunnel ends. `owner`: what our rows carry."""
    waited = [one for one in chassis if one.node.ready]
    missing: list[tuple[Chassis, str]] = []
    while True:
        try:
            found = read_registry(desired.asked, desired.tls, Deadline(min(15.0, max(2.0, deadline.left()))))
            registry = found._replace(owner=owner)
        except (Unreachable, TimedOut) as e:
            missing = [(one, str(e)) for one in waited[:1]]
        else:
            missing = [(one, reason) for one in waited if (reason := registry.registered(one))]
            if not missing:
                return registry
        if deadline.left() <= _PAUSE:
            break
        time.sleep(_PAUSE)
    told = "; ".join(f'chassis "{one.system_id}" of node {one.node.name}: {reason}' for one, reason in missing[:_TOLD])
    more = f" and {len(missing) - _TOLD} more" if len(missing) > _TOLD else ""
    raise TimedOut(
        f"{len(missing)} of {len(waited)} hypervisors are not registered in the Southbound database after {desired.wait_timeout:g} s: {told}{more}. "
        f"{why(cluster, desired, chassis)}See kubectl -n {desired.namespace} logs daemonset/ovn-controller --all-containers, then run again.",
        missing=[one.node.name for one, _reason in missing],
    )
