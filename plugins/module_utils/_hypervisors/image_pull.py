# SPDX-License-Identifier: GPL-3.0-or-later
"""Has the hypervisors pull new images before the first pod is replaced, some nodes at a time. An image that some node cannot get replaces nothing."""

from __future__ import annotations

import contextlib
import time
import typing as t

from .._api.names import Object
from .._base.deadline import ProgressDeadline
from .._base.errors import Conflict, OvnError, Refused
from .._base.progress import report_progress
from .._kubernetes.client import Cluster
from .._kubernetes.lease import RunLease, check_lease
from .._kubernetes.pod_watch import watch_pods
from .._kubernetes.pods import list_events
from .._kubernetes.progress import Progress
from .._manifests.image_pull import IMAGE_PULL, IMAGE_PULL_COMPONENT, Images, image_pull_manifest
from .desired import DesiredHypervisors
from .nodes import Node
from .pods import COMPONENT
from .pull_state import (
    NodePull,
    Verdict,
    assess_nodes,
    count_progress,
    describe_refusal,
    judge_wave,
    nodes_without_place,
    place_warning,
)

_LONGEST_WATCH = 5.0  # seconds until the pods are judged again: time alone may settle a wave
_PAUSE = 1.0  # seconds between two watches


def pull_images(
    cluster: Cluster,
    desired: DesiredHypervisors,
    lease: RunLease,
    waves: t.Sequence[t.Sequence[Node]],
    images: Images,
    progress: Progress,
) -> None:
    """Return when the nodes have the images, one wave after the other; `Refused` names the nodes that cannot get them, or do not get any further.

    Nodes without a place for a pod do not count: `progress` gets a warning that names them. What this run has created, it deletes.
    """
    names, number, finished = " and ".join(images), sum(map(len, waves)), 0
    without_place, events = dict[str, NodePull](), list[Object]()

    def report(done: int) -> None:
        report_progress(f"wait until the nodes have {names}: {finished + done} of {number} are done")

    for nodes in waves:
        check_lease(lease)
        manifest = image_pull_manifest(
            desired.spec, images, [node.name for node in nodes], name=desired.name, namespace=desired.namespace
        )
        with _created(cluster, manifest, progress) as uid:
            wave = _Wave(nodes, uid, desired.wait_timeout)
            _await_wave(cluster, desired, wave, report)
        finished += len(nodes)
        if wave.verdict == "refused":
            found = list_events(cluster, desired.namespace)
            raise Refused(describe_refusal(names, wave.pulls, found, wave.stalled))
        missed = nodes_without_place(wave.pulls)
        if missed:
            events += [one for one in list_events(cluster, desired.namespace) if _is_about(one, uid)]
        without_place.update(missed)
    if without_place:
        progress.warn(place_warning(names, without_place, events))


def _is_about(event: Object, uid: str) -> bool:
    return bool((event.get("involvedObject") or {}).get("uid") == uid)


class _Wave:
    """Nodes that pull at the same time. `pulls` is how far each of them is, `verdict` what follows from that."""

    def __init__(self, nodes: t.Sequence[Node], uid: str, limit: float) -> None:
        self.nodes, self.uid, self.deadline = nodes, uid, ProgressDeadline(limit)
        self.pulls: dict[str, NodePull] = {}
        self.verdict: Verdict = "wait"
        self._failing_since: dict[str, float] = {}

    @property
    def stalled(self) -> str:
        """Return for how long there was no progress, empty if that is within the limit."""
        return self.deadline.stalled() if self.deadline.expired else ""

    def is_decided(self, pods: t.Iterable[Object]) -> bool:
        """Return whether there is nothing to wait for any more, now that the pods are like this."""
        self.pulls = assess_nodes(self.nodes, pods, self.uid)
        self.deadline.observe(count_progress(self.pulls))
        now = time.monotonic()
        failing = [node for node, one in self.pulls.items() if one.state == "failing"]
        self._failing_since = {node: self._failing_since.get(node, now) for node in failing}
        seconds = {node: now - since for node, since in self._failing_since.items()}
        self.verdict = judge_wave(self.pulls, seconds, self.deadline.elapsed, self.deadline.seconds)
        return self.verdict != "wait"


def _await_wave(cluster: Cluster, desired: DesiredHypervisors, wave: _Wave, report: t.Callable[[int], None]) -> None:
    """Return when the wave is decided. `report` is called with the number of its nodes that have the images."""
    labels = f"app.kubernetes.io/instance={desired.name},{COMPONENT}={IMAGE_PULL_COMPONENT}"
    while True:
        report(sum(one.state == "present" for one in wave.pulls.values()))
        seconds = max(1.0, min(_LONGEST_WATCH, wave.deadline.left()))
        if watch_pods(cluster, desired.namespace, wave.is_decided, labels=labels, timeout=seconds):
            return
        time.sleep(_PAUSE)


@contextlib.contextmanager
def _created(cluster: Cluster, manifest: Object, progress: Progress) -> t.Iterator[str]:
    """Create the DaemonSet, yield its uid and delete it at the end. It is created, not applied: that of another run stays what it is."""
    namespace = manifest["metadata"]["namespace"]
    try:
        uid = str(cluster.create(manifest)["metadata"]["uid"])
    except Conflict as e:
        raise Refused(
            f"DaemonSet {namespace}/{IMAGE_PULL} exists, although this run has not created it: another run pulls images, or its deletion failed. "
            "No daemon was stopped. Run again when no other run is at work."
        ) from e
    try:
        yield uid
    finally:
        try:
            cluster.delete("apps/v1", "DaemonSet", IMAGE_PULL, namespace, uid=uid)
        except Conflict:  # ours is gone, and this one is another run's
            pass
        except OvnError as e:  # must not hide why the pull ended
            progress.warn(f"DaemonSet {namespace}/{IMAGE_PULL} was not deleted: {e} The next run deletes it.")
