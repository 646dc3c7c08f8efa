# SPDX-License-Identifier: GPL-3.0-or-later
"""Waiting: for pods, and for every hypervisor in the Southbound database."""

from __future__ import annotations

import time
import typing as t

from .._api.names import MANAGER, Object
from .._base.deadline import Deadline, ProgressDeadline, report_progress
from .._base.errors import OvnError, TimedOut, Unreachable
from .._kubernetes.client import Cluster
from .._kubernetes.watcher import watch_until
from .desired import DesiredHypervisors
from .pods import COMPONENTS, components_of, describe_rollout, explain, pod_problems, rolled_out, rollout_counts
from .settings import Chassis
from .southbound import Registry, read_registry

_MOST_LISTED = 5
_PAUSE = 1.0  # between looks at the Southbound database


def our_pods(name: str, components: t.Iterable[str] | None = None) -> str:
    """Return the label selector of the DaemonSets of these components (None: Open vSwitch and ovn-controller), and of their pods."""
    parts = ",".join(COMPONENTS if components is None else components)
    return f"app.kubernetes.io/managed-by={MANAGER},app.kubernetes.io/instance={name},app.kubernetes.io/component in ({parts})"


def await_pods(
    cluster: Cluster,
    desired: DesiredHypervisors,
    known: t.Mapping[str, Object],
    chassis: t.Sequence[Chassis],
    uncertified: t.Container[str] = (),
    components: t.Mapping[str, str] | None = None,
) -> None:
    """Return when every pod is up to date and ready; `TimedOut` says why not. Nodes that are down or `uncertified` do not count.

    `known` are the DaemonSets as read last. `components`: others than Open vSwitch and ovn-controller, with a pod for each `chassis`.
    A rollout may take hours, one node after the other, so the time counts from the last progress.
    """
    awaited = components_of(desired.spec.ovs.mode) if components is None else components
    names = awaited.values()
    nodes, down = len(chassis), sum(not one.node.ready or one.node.name in uncertified for one in chassis)
    deadline = ProgressDeadline(desired.wait_timeout)

    def good(state: t.Mapping[str, Object]) -> bool:
        deadline.observe(rollout_counts(state.values()))
        done = all(name in state and rolled_out(state[name], nodes, down) for name in names)
        if not done:
            report_progress(f"wait for the pods: {describe_rollout(state, names, nodes, down)}")
        return done

    state, labels = known, our_pods(desired.name, awaited)
    while True:
        # A watch ends when there was no progress since it began, or when the API server ends it.
        seconds = max(1.0, deadline.left())
        state = watch_until(cluster, "DaemonSet", desired.namespace, good, known=state, labels=labels, timeout=seconds)
        if good(state):
            return
        if deadline.expired:
            break
        time.sleep(min(_PAUSE, deadline.left()))
    raise TimedOut(
        f"The pods of the hypervisors in namespace {desired.namespace} were not ready, with {deadline.stalled()}: "
        f"{describe_rollout(state, names, nodes, down)}. {why(cluster, desired, chassis, awaited)}"
        "Run again when that is repaired; nothing has to be undone."
    )


def why(
    cluster: Cluster, desired: DesiredHypervisors, chassis: t.Sequence[Chassis], components: t.Mapping[str, str]
) -> str:
    """Return what Kubernetes and the agents report, as sentences; empty if nothing is wrong."""
    try:
        pods = cluster.list("v1", "Pod", desired.namespace, labels=our_pods(desired.name, components))
        events = cluster.list("v1", "Event", desired.namespace)
    except OvnError as e:
        return f"(cause unknown: {e}) "
    problems = pod_problems(pods, [one.node for one in chassis], components=components)
    text = explain(problems, pods, events, components)
    return f"{text}. " if text else ""


def await_registered(
    cluster: Cluster, desired: DesiredHypervisors, chassis: t.Sequence[Chassis], *, owner: str
) -> Registry:
    """Return the registry when every hypervisor whose node is ready is registered; `TimedOut` names the missing ones. `owner`: the mark of our rows."""
    waited, deadline, failure = [one for one in chassis if one.node.ready], ProgressDeadline(desired.wait_timeout), ""
    missing = [(one, "the database has not answered") for one in waited]
    while True:
        try:
            found = read_registry(desired.asked, desired.tls, Deadline(min(15.0, max(2.0, deadline.left()))))
            registry, failure = found._replace(owner=owner), ""
        except (Unreachable, TimedOut) as e:
            failure = f"The last read of the Southbound database failed: {e} "
        else:
            missing = [(one, reason) for one in waited if (reason := registry.registration_problem(one))]
            if not missing:
                return registry
            deadline.observe({"registered": len(waited) - len(missing)})
        if deadline.left() <= _PAUSE:
            break
        report_progress(f"wait for {len(missing)} of {len(waited)} chassis to register in the Southbound database")
        time.sleep(_PAUSE)
    listed = "; ".join(
        f'chassis "{one.system_id}" of node {one.node.name}: {reason}' for one, reason in missing[:_MOST_LISTED]
    )
    more = f" and {len(missing) - _MOST_LISTED} more" if len(missing) > _MOST_LISTED else ""
    raise TimedOut(
        f"{len(missing)} of {len(waited)} hypervisors are not registered in the Southbound database, with {deadline.stalled()}: {listed}{more}. "
        f"{failure}{why(cluster, desired, chassis, components_of(desired.spec.ovs.mode))}"
        f"See kubectl -n {desired.namespace} logs daemonset/ovn-controller --all-containers, then run again.",
        missing=[one.node.name for one, _reason in missing],
    )
