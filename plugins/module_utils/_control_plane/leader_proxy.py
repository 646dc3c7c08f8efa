# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

When the address of the leader proxy is published, and when the proxy may be removed: nobody gets an address where nothing answers.
"""

from __future__ import annotations

import typing as t

from .._api.endpoints import proxy_endpoints
from .._api.names import PROXY_STATUS, Object, label_selector, leader_proxy_name, selector
from .._api.spec import ClusterSpec
from .._databases import DATABASES, Database
from .._deadline import Deadline
from .._errors import Refused
from .._kubernetes.client import Cluster
from .._kubernetes.rollout_progress import generation_observed
from .._kubernetes.workload_watch import watch_until

_NOBODY: dict[Database, str] = dict.fromkeys(DATABASES, "")
# Until it runs on all nodes, of which some may have to pull the image. Once it is published, nothing waits for it.
_FIRST_SECONDS, _LATER_SECONDS = 60.0, 15.0


def published_endpoints(
    cluster: Cluster, spec: ClusterSpec, before: t.Mapping[str, str], services: t.Iterable[Object] | None = None
) -> dict[Database, str]:
    """Return the endpoints of the proxy, empty texts if it is not published, or if it is new and does not run on all its nodes yet.

    `before` are the endpoints in the status of the OVNCluster. `services` are read if they are not given.
    """
    if not (spec.leader_proxy.enabled and spec.leader_proxy.published):
        return _NOBODY
    name = leader_proxy_name(spec.name)
    if services is None:
        ours = label_selector(selector(spec.name, "leader-proxy"))
        services = cluster.list("v1", "Service", spec.namespace, labels=ours)
    service = next((one for one in services if one["metadata"]["name"] == name), None)
    found = proxy_endpoints(spec, service or {})
    if all(before.get(PROXY_STATUS[database]) == endpoint for database, endpoint in found.items()):
        return found  # also while a node is away
    daemon_set = cluster.get("apps/v1", "DaemonSet", name, spec.namespace)
    return found if daemon_set is not None and runs_on_all_nodes(daemon_set) else _NOBODY


def runs_on_all_nodes(daemon_set: Object) -> bool:
    """Return whether there is an available pod on each node that shall have one, and at least one such node."""
    status = daemon_set.get("status") or {}
    scheduled = status.get("desiredNumberScheduled", 0)
    return bool(generation_observed(daemon_set) and 0 < scheduled <= status.get("numberAvailable", 0))


def await_leader_proxy(
    cluster: Cluster, spec: ClusterSpec, before: t.Mapping[str, str], deadline: Deadline
) -> tuple[dict[str, str], list[str]]:
    """Wait until it runs on all its nodes. Return its endpoints by their names in `Endpoints`, none if it does not, with a warning."""
    if not spec.leader_proxy.enabled:
        return {}, []
    name, is_published = leader_proxy_name(spec.name), any(before.get(field) for field in PROXY_STATUS.values())

    def reached(state: t.Mapping[str, Object]) -> bool:
        return name in state and runs_on_all_nodes(state[name])

    known = cluster.get("apps/v1", "DaemonSet", name, spec.namespace)
    state = watch_until(
        cluster,
        "DaemonSet",
        spec.namespace,
        reached,
        known={name: known} if known else {},
        fields=f"metadata.name={name}",
        timeout=min(_LATER_SECONDS if is_published else _FIRST_SECONDS, max(1.0, deadline.left())),
    )
    if not reached(state):
        return {}, [_unavailable(spec, state.get(name) or {}, is_published=is_published)]
    found = published_endpoints(cluster, spec, before)
    return {f"leader_proxy_{database}": endpoint for database, endpoint in found.items()}, []


def _unavailable(spec: ClusterSpec, daemon_set: Object, *, is_published: bool) -> str:
    name, status = leader_proxy_name(spec.name), daemon_set.get("status") or {}
    scheduled, available = status.get("desiredNumberScheduled", 0), status.get("numberAvailable", 0)
    if not scheduled:
        cause = "no node is chosen. Compare spec.leaderProxy.nodeSelector and tolerations with the labels and taints of the nodes."
    else:
        cause = (
            f"{available} of {scheduled} pods are available. See kubectl -n {spec.namespace} describe daemonset {name}."
        )
    if is_published:
        return f"DaemonSet {name} does not run on all its nodes: {cause} Clients on the other nodes reach no database through it."
    unpublished = (
        " Its address is published by a run that finds it on all of them." if spec.leader_proxy.published else ""
    )
    return f"DaemonSet {name} does not run on all its nodes: {cause}{unpublished}"


def refuse_published_removal(spec: ClusterSpec, resource: Object | None) -> None:
    """Raise `Refused` if the proxy is switched off while the status of the OVNCluster publishes its address: whoever has that would lose both databases."""
    endpoints = ((resource or {}).get("status") or {}).get("endpoints") or {}
    published = [endpoints[field] for field in PROXY_STATUS.values() if endpoints.get(field)]
    if spec.leader_proxy.enabled or not published:
        return
    raise Refused(
        f"spec.leaderProxy.enabled of OVNCluster {spec.name} is false, and its status publishes {' and '.join(published)}: clients with these addresses, such "
        "as Neutron, would lose both databases. Set spec.leaderProxy.published to false and enabled to true, have Neutron take other addresses "
        "(c5c3.ovn.neutron, or the operator), then set enabled to false. Nothing was changed."
    )
