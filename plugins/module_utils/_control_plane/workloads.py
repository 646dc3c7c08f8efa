# SPDX-License-Identifier: GPL-3.0-or-later
"""Waits until northd runs, and no longer than that can help. The databases are judged by their own verdicts, never by what a controller says about pods."""

from __future__ import annotations

import contextlib
import time
import typing as t

from .._api.names import Object, label_selector, northd_name, observer_name, selector
from .._base.deadline import Deadline
from .._base.errors import OvnError, TimedOut
from .._kubernetes.client import Cluster
from .._kubernetes.pod_diagnosis import diagnose_containers, diagnose_events
from .._kubernetes.pod_startup import PATIENCE, assess_startup
from .._kubernetes.pod_watch import list_events
from .._kubernetes.rollout_progress import is_available, is_terminating
from .._kubernetes.stuck_pods import backs_off, delete_stuck_pod, has_started
from .._kubernetes.wait_tracker import REQUEUE_ANNOTATION
from .._kubernetes.watcher import watch_until
from .desired import DesiredCluster

# Asks Kubernetes why pods do not run, for an error message.

_MOST = 5  # messages; more of them say the same


def describe(cluster: Cluster, namespace: str, owner: str, names: t.Collection[str]) -> str:
    """Return one text for an error message, empty if Kubernetes reports no problem."""
    try:
        pods = [pod for pod in cluster.list("v1", "Pod", namespace) if pod["metadata"]["name"] in names]
        messages = [message for pod in pods for message in diagnose_containers(pod)]
        messages += diagnose_events(cluster.list("v1", "Event", namespace), owner, names)
    except OvnError as e:
        return f"(cause unknown: {e})"
    distinct = list(dict.fromkeys(text.rstrip(".") for text in messages))
    return f"Kubernetes says: {'; '.join(distinct[:_MOST])}." if distinct else ""


_SLICE, _POLL_SECONDS = 5.0, 1.0
_OBSERVER_SECONDS = 15.0  # nothing depends on it: a warning is enough
_REVISION = "deployment.kubernetes.io/revision"


def await_workloads(
    cluster: Cluster,
    desired: DesiredCluster,
    deployment: Object | None,
    deadline: Deadline,
    now: t.Callable[[], float] = time.time,
) -> Object:
    """Return northd's Deployment when it is available; `TimedOut` says why its pods do not start.

    `deployment` is as it was read last, None if it has to be read again; `now` is the API server's clock in seconds since 1970.
    """
    name = northd_name(desired.name)
    if deployment is not None and is_available(deployment):
        return deployment
    startup = _DeploymentStartup(cluster, desired.namespace, name, now)
    unrecoverable = ""
    while not unrecoverable:
        # In slices: the Deployment itself does not say why its pods do not start.
        deployment = _await(cluster, desired.namespace, name, min(_SLICE, max(1.0, deadline.left()))) or deployment
        if deployment is not None and is_available(deployment):
            return deployment
        if deadline.expired:
            break
        unrecoverable = startup.unrecoverable_cause()
    ready = ((deployment or {}).get("status") or {}).get("availableReplicas", 0)
    when = ", and waiting does not change that" if unrecoverable else " when the time was up"
    raise TimedOut(
        f"{ready} of {desired.spec.northd.replicas} pods of Deployment {name} were available{when}. "
        f"{describe(cluster, desired.namespace, name, _names(cluster, desired.namespace, name))} "
        f"See kubectl -n {desired.namespace} logs deployment/{name}, then run again."
    )


def await_northd_pods(
    cluster: Cluster,
    desired: DesiredCluster,
    fits: t.Callable[[t.Sequence[Object]], bool],
    deadline: Deadline,
    now: t.Callable[[], float],
) -> bool:
    """Wait until the pods of northd, of all its templates, fit, and return whether that took time; `TimedOut` says why those of the newest one do not start."""
    name, namespace, waited = northd_name(desired.name), desired.namespace, False
    labels = label_selector(selector(desired.name, "northd"))
    startup, unrecoverable = _DeploymentStartup(cluster, namespace, name, now), ""
    while not fits(cluster.list("v1", "Pod", namespace, labels=labels)):
        if deadline.expired or unrecoverable:
            when = "and waiting does not change that" if unrecoverable else f"after {deadline.seconds:.0f} s"
            raise TimedOut(
                f"none of its new pods is ready, {when}. {describe(cluster, namespace, name, _names(cluster, namespace, name))} "
                f"See kubectl -n {namespace} logs deployment/{name}.".replace("  ", " ")
            )
        if waited:
            unrecoverable = startup.unrecoverable_cause()
        waited = True
        time.sleep(min(_POLL_SECONDS, deadline.left()))
    return waited


def observer_warning(cluster: Cluster, desired: DesiredCluster, deployment: Object | None) -> str:
    """Return a warning if no observer keeps the status up to date between runs, else an empty text."""
    name = observer_name(desired.name)
    if deployment is None or not is_available(deployment):
        deployment = _await(cluster, desired.namespace, name, _OBSERVER_SECONDS)
    if deployment is not None and is_available(deployment):
        return ""
    why = describe(cluster, desired.namespace, name, _names(cluster, desired.namespace, name))
    return f"Deployment {name} is not available, so the status of OVNCluster {desired.name} and the leader labels are not kept up to date. {why}".rstrip()


def _await(cluster: Cluster, namespace: str, name: str, seconds: float) -> Object | None:
    """Return the Deployment as soon as it is available, else as it is when the time is up."""

    def available(state: t.Mapping[str, Object]) -> bool:
        return name in state and is_available(state[name])

    fields = f"metadata.name={name}"
    return watch_until(cluster, "Deployment", namespace, available, fields=fields, timeout=seconds).get(name)


class _DeploymentStartup:
    """Whether the pods of a Deployment can still start, judged by those of its newest template: pods of older ones are terminating."""

    def __init__(self, cluster: Cluster, namespace: str, name: str, now: t.Callable[[], float]) -> None:
        self.cluster, self.namespace, self.name, self.now = cluster, namespace, name, now
        self._begun = time.monotonic()
        self._since: float | None = None
        self._requeued_at: float | None = None
        self._backed_off_recreated = False

    def unrecoverable_cause(self) -> str:
        """Return what keeps the pods from starting for good, empty if they may still start."""
        if self._since is None:
            self._since = self.now() - (time.monotonic() - self._begun)
        newest = _newest(self.cluster, self.namespace, self.name)
        if newest is None:
            return ""
        if not self._backed_off_recreated:
            self._backed_off_recreated = True
            self._recreate_backed_off_pods(newest)
        return self._refused(newest) or self._unrecoverable_pod(newest)

    def _recreate_backed_off_pods(self, newest: Object) -> None:
        """Delete pods whose kubelets pause before they pull the image again, so that they are recreated, once: the image may exist by now."""
        for pod in _pods(self.cluster, self.namespace, newest):
            if backs_off(pod) and not has_started(pod):
                with contextlib.suppress(OvnError):  # then they start later
                    delete_stuck_pod(self.cluster, pod)

    def _refused(self, newest: Object) -> str:
        """Return why its pods are refused. The controller pauses up to 15 minutes after a refusal, so it is triggered once before that counts."""
        for condition in (newest.get("status") or {}).get("conditions") or ():
            if condition["type"] == "ReplicaFailure" and condition["status"] == "True":
                if self._requeued_at is None:
                    self._requeue()
                    self._requeued_at = time.monotonic()
                elif time.monotonic() - self._requeued_at > PATIENCE:
                    return str(condition.get("message") or condition.get("reason") or "its pods are refused")
        return ""

    def _requeue(self) -> None:
        """Annotate the Deployment: its controller copies annotations to the newest ReplicaSet, which requeues that one, too."""
        patch = {"metadata": {"annotations": {REQUEUE_ANNOTATION: f"{self.now():.0f}"}}}
        with contextlib.suppress(OvnError):  # then it tries again by itself, only later
            self.cluster.patch("apps/v1", "Deployment", self.name, self.namespace, patch)

    def _unrecoverable_pod(self, newest: Object) -> str:
        if time.monotonic() - self._begun <= PATIENCE:
            return ""
        events = list_events(self.cluster, self.namespace)
        owner = newest["metadata"]["name"]
        for pod in _pods(self.cluster, self.namespace, newest):
            if not is_terminating(pod):
                startup = assess_startup(pod["metadata"]["name"], owner, pod, events, self.now(), self._since)
                if startup.unrecoverable:
                    return startup.message
        return ""


def _newest(cluster: Cluster, namespace: str, name: str) -> Object | None:
    """Return the ReplicaSet of the Deployment's newest template."""
    sets = [
        one
        for one in cluster.list("apps/v1", "ReplicaSet", namespace)
        if any(o["kind"] == "Deployment" and o["name"] == name for o in one["metadata"].get("ownerReferences") or ())
    ]
    return max(sets, key=_revision, default=None)


def _revision(replica_set: Object) -> int:
    revision = (replica_set["metadata"].get("annotations") or {}).get(_REVISION, "")
    return int(revision) if revision.isdecimal() else 0


def _pods(cluster: Cluster, namespace: str, replica_set: Object) -> list[Object]:
    """Return its pods by owner reference: names of other Deployments may begin like this one's."""
    uid = replica_set["metadata"]["uid"]
    return [
        pod
        for pod in cluster.list("v1", "Pod", namespace)
        if any(owner["uid"] == uid for owner in pod["metadata"].get("ownerReferences") or ())
    ]


def _names(cluster: Cluster, namespace: str, name: str) -> list[str]:
    """Return the names of the objects whose events explain this Deployment: its newest ReplicaSet and the pods of that."""
    newest = _newest(cluster, namespace, name)
    if newest is None:
        return []
    return [newest["metadata"]["name"], *(pod["metadata"]["name"] for pod in _pods(cluster, namespace, newest))]
