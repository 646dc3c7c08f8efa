# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

Waits until northd runs, and no longer than that can help. The databases are judged by their own verdicts, never by what a controller says about pods.
"""

from __future__ import annotations

import contextlib
import time
import typing as t

from .._api.names import Object, northd_name, observer_name
from .._deadline import Deadline
from .._errors import OvnError, TimedOut
from .._kubernetes.client import Cluster
from .._kubernetes.pod_startup import PATIENCE, assess_startup
from .._kubernetes.pods import list_events
from .._kubernetes.rollout_progress import is_available, is_terminating
from .._kubernetes.stuck_pods import backs_off, delete_stuck_pod, has_started
from .._kubernetes.wait_tracker import ASKED_ANNOTATION
from .._raft_pods.diagnosis import describe
from .desired import DesiredCluster

_SLICE = 5.0
_OBSERVER_SECONDS = 15.0  # nothing depends on it: a warning is enough
_REVISION = "deployment.kubernetes.io/revision"


def await_workloads(
    cluster: Cluster,
    wanted: DesiredCluster,
    seen: Object | None,
    deadline: Deadline,
    now: t.Callable[[], float] = time.time,
) -> Object:
    """northd's Deployment, available. `seen` is as it was last, None if it has to be read again; `now` is the API server's clock."""
    name = northd_name(wanted.name)
    if seen is not None and is_available(seen):
        return seen
    hopes = _DeploymentStartup(cluster, wanted.namespace, name, now)
    unrecoverable = ""
    while not unrecoverable:
        # A slice: why pods do not come is not told by the Deployment itself.
        seen = _await(cluster, wanted.namespace, name, min(_SLICE, max(1.0, deadline.left()))) or seen
        if seen is not None and is_available(seen):
            return seen
        if deadline.expired:
            break
        unrecoverable = hopes.lost()
    ready = ((seen or {}).get("status") or {}).get("availableReplicas", 0)
    when = ", and waiting does not change that" if unrecoverable else " when the time was up"
    raise TimedOut(
        f"{ready} of {wanted.spec.northd.replicas} pods of Deployment {name} were available{when}. "
        f"{describe(cluster, wanted.namespace, name, _names(cluster, wanted.namespace, name))} "
        f"See kubectl -n {wanted.namespace} logs deployment/{name}, then run again."
    )


def observer_trouble(cluster: Cluster, wanted: DesiredCluster, seen: Object | None) -> str:
    """A warning if nobody keeps the status true between runs, empty if somebody does."""
    name = observer_name(wanted.name)
    if seen is None or not is_available(seen):
        seen = _await(cluster, wanted.namespace, name, _OBSERVER_SECONDS)
    if seen is not None and is_available(seen):
        return ""
    why = describe(cluster, wanted.namespace, name, _names(cluster, wanted.namespace, name))
    return f"Deployment {name} is not available, so nobody keeps the status of OVNCluster {wanted.name} and the leader labels true. {why}".rstrip()


def _await(cluster: Cluster, namespace: str, name: str, seconds: float) -> Object | None:
    """The Deployment as soon as it is available, else as it is when the time is up."""
    seen: Object | None = None
    for kind, deployment in cluster.watch(
        "apps/v1", "Deployment", namespace, fields=f"metadata.name={name}", timeout=seconds
    ):
        seen = None if kind == "DELETED" else deployment
        if seen is not None and is_available(seen):
            break
    return seen


class _DeploymentStartup:
    """Whether the pods of a Deployment may come yet, judged by those of its newest template: pods of older ones are on their way out."""

    def __init__(self, cluster: Cluster, namespace: str, name: str, now: t.Callable[[], float]) -> None:
        self.cluster, self.namespace, self.name, self.now = cluster, namespace, name, now
        self._begun = time.monotonic()
        self._since: float | None = None
        self._asked: float | None = None
        self._hurried = False

    def lost(self) -> str:
        """What keeps the pods away for good, empty if they may come."""
        if self._since is None:
            self._since = self.now() - (time.monotonic() - self._begun)
        newest = _newest(self.cluster, self.namespace, self.name)
        if newest is None:
            return ""
        if not self._hurried:
            self._hurried = True
            self._hurry(newest)
        return self._refused(newest) or self._pods_stay_away(newest)

    def _hurry(self, newest: Object) -> None:
        """Pods whose kubelets pause before they pull the image again are recreated, once: it may be there by now."""
        for pod in _pods(self.cluster, self.namespace, newest):
            if backs_off(pod) and not has_started(pod):
                with contextlib.suppress(OvnError):  # then they come later
                    delete_stuck_pod(self.cluster, pod)

    def _refused(self, newest: Object) -> str:
        """Its controller pauses up to a quarter of an hour after a refusal, so it is asked to try again before it is believed."""
        for condition in (newest.get("status") or {}).get("conditions") or ():
            if condition["type"] == "ReplicaFailure" and condition["status"] == "True":
                if self._asked is None:
                    self._ask()
                    self._asked = time.monotonic()
                elif time.monotonic() - self._asked > PATIENCE:
                    return str(condition.get("message") or condition.get("reason") or "its pods are refused")
        return ""

    def _ask(self) -> None:
        """The Deployment's controller hands annotations on to the newest ReplicaSet, so that the controller of that one looks, too."""
        patch = {"metadata": {"annotations": {ASKED_ANNOTATION: f"{self.now():.0f}"}}}
        with contextlib.suppress(OvnError):  # then it tries again by itself, only later
            self.cluster.patch("apps/v1", "Deployment", self.name, self.namespace, patch)

    def _pods_stay_away(self, newest: Object) -> str:
        if time.monotonic() - self._begun <= PATIENCE:
            return ""
        events = list_events(self.cluster, self.namespace)
        owner = newest["metadata"]["name"]
        for pod in _pods(self.cluster, self.namespace, newest):
            if not is_terminating(pod):
                seen = assess_startup(pod["metadata"]["name"], owner, pod, events, self.now(), self._since)
                if seen.unrecoverable:
                    return seen.words
        return ""


def _newest(cluster: Cluster, namespace: str, name: str) -> Object | None:
    """The ReplicaSet of the Deployment's newest template."""
    sets = [
        one
        for one in cluster.list("apps/v1", "ReplicaSet", namespace)
        if any(o["kind"] == "Deployment" and o["name"] == name for o in one["metadata"].get("ownerReferences") or ())
    ]
    return max(sets, key=_revision, default=None)


def _revision(replica_set: Object) -> int:
    told = (replica_set["metadata"].get("annotations") or {}).get(_REVISION, "")
    return int(told) if told.isdecimal() else 0


def _pods(cluster: Cluster, namespace: str, replica_set: Object) -> list[Object]:
    """By what makes them its own: names of other Deployments may begin like this one's."""
    uid = replica_set["metadata"]["uid"]
    return [
        pod
        for pod in cluster.list("v1", "Pod", namespace)
        if any(owner["uid"] == uid for owner in pod["metadata"].get("ownerReferences") or ())
    ]


def _names(cluster: Cluster, namespace: str, name: str) -> list[str]:
    """Of what a trouble of this Deployment would be told about."""
    newest = _newest(cluster, namespace, name)
    if newest is None:
        return []
    return [newest["metadata"]["name"], *(pod["metadata"]["name"] for pod in _pods(cluster, namespace, newest))]
