# SPDX-License-Identifier: GPL-3.0-or-later
"""When the address of the leader proxy is published, and when the proxy may go from nodes: nobody gets, or keeps, an address where nothing answers."""

from __future__ import annotations

import json
import time
import typing as t

from .._api.endpoints import proxy_endpoints
from .._api.names import PROXY_STATUS, Object, label_selector, leader_proxy_name, selector
from .._api.spec import ClusterSpec
from .._base.databases import DATABASES, Database
from .._base.deadline import Deadline, report_progress
from .._base.errors import Refused, TimedOut
from .._kubernetes.client import Cluster
from .._kubernetes.rollout_progress import (
    RELAY,
    generation_observed,
    has_relay,
    is_database_container_ready,
    is_outdated,
)
from .._kubernetes.watcher import watch_until
from .._ovsdb.wire import ask_all
from .._raft.observation import Observation

# The relays beside the members of the Southbound in a rolling change: chassis that lose one need another, so the next pod is restarted when the last one
# serves them again. A member that is mended waits for nobody's relay.

if t.TYPE_CHECKING:
    from .pod_steps import Pod, PodMembers

READY = ("sh", "/scripts/ovn-relay-launcher", "ready")
_SECONDS = 120.0  # for a copy of the whole database
_POLL_SECONDS = 1.0
_CHECK_SECONDS = 5.0


class Handover(t.Protocol):
    """What has to be there before pods are restarted that serve chassis by a relay from then on. Both raise `Refused` if it cannot be."""

    def open_port(self, deadline: Deadline) -> bool:
        """Have members listen where relays connect; return whether that was missing."""

    def move_clients(self, pods: t.Mapping[str, Pod], deadline: Deadline) -> bool:
        """Have clients that relays cannot serve leave the port of chassis; return whether they had to."""


def is_rollout(members: t.Iterable[str], observations: t.Mapping[str, Observation]) -> bool:
    """Return whether these members are restarted although they take part; else the restart is to mend them. Pure."""
    found = [observations.get(member) for member in members]
    return all(one is not None and one.connected and one.restart_reason for one in found)


def relays_to_await(pods: t.Mapping[str, Pod], restarted: t.Collection[str], revision: str) -> list[str]:
    """Return the other pods whose relays chassis have while the `restarted` ones are away. Pure.

    One of an older template than `revision` is not waited for, since its own restart may mend it, nor one whose member serves nobody.
    """
    return [
        name
        for name, pod in pods.items()
        if name not in restarted
        and has_relay(pod)
        and not is_outdated(pod, revision)
        and is_database_container_ready(pod)
    ]


class Relays:
    """The relays in the pods of a database."""

    def __init__(self, members: PodMembers) -> None:
        self.members = members
        self._checked = 0.0

    def wait(self, names: t.Collection[str], deadline: Deadline) -> bool:
        """Wait until the relays in these pods serve chassis, and return whether that took time. `Refused` if one of them never will."""
        if not names:
            return False
        deadline, waited = deadline.within(_SECONDS), False
        while True:
            pods = self.members.pods()
            missing = self._missing([name for name in names if name in pods and has_relay(pods[name])])
            if not missing:
                return waited
            name, why = next(iter(missing.items()))
            if not waited:
                report_progress(f"wait until the relay in pod {', '.join(missing)} serves chassis")
            waited = True
            self._refuse_unrecoverable(list(missing), pods)
            if deadline.expired:
                raise TimedOut(
                    f"The relay in pod {', '.join(missing)} serves no chassis after {deadline.seconds:.0f} s, so this run restarts no other pod: {why} "
                    f"See kubectl -n {self.members.namespace} logs {name} -c {RELAY}, then run again."
                )
            time.sleep(min(_POLL_SECONDS, deadline.left()))

    def _missing(self, names: t.Sequence[str]) -> dict[str, str]:
        """Return the pods whose relays do not serve chassis, and why."""
        answers = dict(zip(names, ask_all(list(names), self._why_not)))
        return {name: f"{str(why).rstrip('.')}." for name, why in answers.items() if why != ""}

    def _why_not(self, name: str) -> str:
        result = self.members.cluster.exec(self.members.namespace, name, RELAY, list(READY), timeout=15)
        return "" if result.code == 0 else (result.stderr.strip()[-300:] or f"its probe ended with code {result.code}")

    def _refuse_unrecoverable(self, names: t.Sequence[str], pods: t.Mapping[str, Pod]) -> None:
        if time.monotonic() - self._checked < _CHECK_SECONDS:
            return
        self._checked = time.monotonic()
        for name, startup in self.members.assess_startups(names, pods).items():
            if startup.unrecoverable:
                raise Refused(
                    f"The relay in pod {name} does not start, and waiting does not change that, so this run restarts no other pod. "
                    f"Kubernetes says: {startup.message}. Correct that, then run again."
                )


_NOBODY: dict[Database, str] = dict.fromkeys(DATABASES, "")
_FIRST_SECONDS = 60.0  # until it runs on all its nodes, of which some may have to pull the image; once it is published, no run waits for it


def published_endpoints(
    spec: ClusterSpec, before: t.Mapping[str, str], services: t.Iterable[Object]
) -> dict[Database, str]:
    """Return the endpoints of the proxy that the status of the OVNCluster publishes, else empty texts. Pure.

    `before` are the endpoints in that status. They count no longer if the proxy is not to be published, or if its Service has another address.
    """
    if not (spec.leader_proxy.enabled and spec.leader_proxy.published):
        return _NOBODY
    name = leader_proxy_name(spec.name)
    service = next((one for one in services if one["metadata"]["name"] == name), None)
    found = proxy_endpoints(spec, service or {})
    # Also while a node is away
    return found if all(before.get(PROXY_STATUS[d]) == endpoint for d, endpoint in found.items()) else _NOBODY


def publishable_endpoints(
    cluster: Cluster, spec: ClusterSpec, before: t.Mapping[str, str], services: t.Iterable[Object] | None = None
) -> dict[Database, str]:
    """Return the endpoints of the proxy that are published, or may be from now on, because it runs on all its nodes; else empty texts.

    For a run, which writes them to the status: the proxy is kept for who has an address that the status has. `services` are read if they are not given.
    """
    if not (spec.leader_proxy.enabled and spec.leader_proxy.published):
        return _NOBODY
    if services is None:
        ours = label_selector(selector(spec.name, "leader-proxy"))
        services = cluster.list("v1", "Service", spec.namespace, labels=ours)
    services = list(services)
    if any((published := published_endpoints(spec, before, services)).values()):
        return published
    name = leader_proxy_name(spec.name)
    daemon_set = cluster.get("apps/v1", "DaemonSet", name, spec.namespace)
    if daemon_set is None or not runs_on_all_nodes(daemon_set):
        return _NOBODY
    return proxy_endpoints(spec, next((one for one in services if one["metadata"]["name"] == name), {}))


def runs_on_all_nodes(daemon_set: Object) -> bool:
    """Return whether there is an available pod on each node that shall have one, and at least one such node."""
    status = daemon_set.get("status") or {}
    scheduled = status.get("desiredNumberScheduled", 0)
    return bool(generation_observed(daemon_set) and 0 < scheduled <= status.get("numberAvailable", 0))


def await_leader_proxy(
    cluster: Cluster, spec: ClusterSpec, before: t.Mapping[str, str], deadline: Deadline
) -> tuple[dict[str, str], list[str]]:
    """Wait until it runs on all its nodes, unless it is published. Return its endpoints by their names in `Endpoints`, none if it does not, with a warning."""
    if not spec.leader_proxy.enabled:
        return {}, []
    name, is_published = leader_proxy_name(spec.name), any(before.get(field) for field in PROXY_STATUS.values())

    def reached(state: t.Mapping[str, Object]) -> bool:
        return name in state and runs_on_all_nodes(state[name])

    known = cluster.get("apps/v1", "DaemonSet", name, spec.namespace)
    state = {name: known} if known else {}
    if not is_published:
        state = watch_until(
            cluster,
            "DaemonSet",
            spec.namespace,
            reached,
            known=state,
            fields=f"metadata.name={name}",
            timeout=min(_FIRST_SECONDS, max(1.0, deadline.left())),
        )
    if not reached(state):
        message = _unavailable(spec, state.get(name) or {}, is_published=is_published)
        return {}, [message] if message else []
    found = publishable_endpoints(cluster, spec, before)
    return {f"leader_proxy_{database}": endpoint for database, endpoint in found.items()}, []


def _unavailable(spec: ClusterSpec, daemon_set: Object, *, is_published: bool) -> str:
    """Return what keeps it from all its nodes; an empty text for a new version of one that is published, while the former one still runs on all."""
    name, status = leader_proxy_name(spec.name), daemon_set.get("status") or {}
    scheduled, available = status.get("desiredNumberScheduled", 0), status.get("numberAvailable", 0)
    if is_published and 0 < scheduled <= available:
        return ""
    if not daemon_set:
        cause = "it does not exist. Run again."
    elif not generation_observed(daemon_set) and not scheduled:
        cause = "the controller of DaemonSets has not looked at it yet."
    elif not scheduled:
        cause = "no node is chosen. Compare spec.leaderProxy.nodeSelector and tolerations with the labels and taints of the nodes."
    else:
        cause = (
            f"{available} of {scheduled} pods are available. See kubectl -n {spec.namespace} describe daemonset {name}."
        )
    if is_published:
        return f"DaemonSet {name} does not run on all its nodes: {cause} Clients on the nodes without one reach no database through it."
    unpublished = (
        f" Its address is published by a run that finds it on all of them.{_no_other_address(spec)}"
        if spec.leader_proxy.published
        else ""
    )
    return f"DaemonSet {name} does not run on all its nodes: {cause}{unpublished}"


def unpublished_warning(spec: ClusterSpec) -> str:
    """Return that clients have no other address to go to, if the proxy is not to be published; else an empty text."""
    text = _no_other_address(spec) if spec.leader_proxy.enabled and not spec.leader_proxy.published else ""
    return text and f"spec.leaderProxy.published of OVNCluster {spec.name} is false.{text}"


def _no_other_address(spec: ClusterSpec) -> str:
    if spec.has_unrestricted_services or not spec.tls.enabled:
        return ""
    return (
        " The Southbound is exposed for chassis alone, so Neutron in this cluster has no other address of it, only names of pods, which it cannot resolve. "
        "Name its networks in spec.neutronIntegration.sbConnection.allowedCidrs, which exposes the port without a role to them."
    )


def refuse_published_removal(spec: ClusterSpec, resource: Object | None, daemon_set: Object | None) -> None:
    """Raise `Refused` if nodes would lose the proxy while the status of the OVNCluster publishes its address: clients there would lose both databases.

    `daemon_set` is that of the proxy as it is. Its controller deletes the pods of nodes that no longer match at once.
    """
    endpoints = ((resource or {}).get("status") or {}).get("endpoints") or {}
    published = [endpoints[field] for field in PROXY_STATUS.values() if endpoints.get(field)]
    if not published:
        return
    addresses = " and ".join(published)
    way_out = "have Neutron take other addresses (c5c3.ovn.neutron, or the operator)"
    if not spec.leader_proxy.enabled:
        raise Refused(
            f"spec.leaderProxy.enabled of OVNCluster {spec.name} is false, and its status publishes {addresses}: clients with these addresses, such "
            f"as Neutron, would lose both databases. Set spec.leaderProxy.published to false and enabled to true, {way_out}, then set enabled to false. "
            "Nothing was changed."
        )
    if losses := _lost_nodes(spec, daemon_set):
        raise Refused(
            f"spec.leaderProxy of OVNCluster {spec.name} takes the proxy away from nodes ({' and '.join(losses)}), and its status publishes {addresses}: "
            f"clients there, such as Neutron, would lose both databases. Keep what DaemonSet {leader_proxy_name(spec.name)} has and set "
            f"spec.leaderProxy.published to false, {way_out}, then choose other nodes and publish it again. Nothing was changed."
        )


def _lost_nodes(spec: ClusterSpec, daemon_set: Object | None) -> list[str]:
    """Return by what nodes that have the proxy now would not be chosen any more."""
    if daemon_set is None:
        return []
    pod = daemon_set["spec"]["template"]["spec"]
    former = pod.get("nodeSelector") or {}
    losses = [
        f"nodeSelector asks for {key}={value}"
        for key, value in spec.leader_proxy.node_selector.items()
        if former.get(key) != value
    ]
    for one in pod.get("tolerations") or ():
        if not any(tolerates_as_much(new, one) for new in spec.leader_proxy.tolerations):
            losses.append(f"tolerations lack {json.dumps(one, sort_keys=True)}")
    return losses


def tolerates_as_much(toleration: t.Mapping[str, t.Any], former: t.Mapping[str, t.Any]) -> bool:
    """Return whether a toleration accepts each taint that the former one accepts, for at least as long."""
    seconds, was = toleration.get("tolerationSeconds"), former.get("tolerationSeconds")
    if seconds is not None and (was is None or seconds < was):
        return False
    if toleration.get("effect") and toleration["effect"] != former.get("effect"):
        return False
    exists = toleration.get("operator") == "Exists"
    if not toleration.get("key"):
        return exists
    if toleration["key"] != former.get("key"):
        return False
    is_equal = former.get("operator") != "Exists" and toleration.get("value", "") == former.get("value", "")
    return exists or is_equal
