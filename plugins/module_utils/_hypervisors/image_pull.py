# SPDX-License-Identifier: GPL-3.0-or-later
"""Has the hypervisors pull new images before the first pod is replaced, some nodes at a time. An image that some node cannot get replaces nothing."""

from __future__ import annotations

import contextlib
import time
import typing as t

from .._api.names import Object
from .._base.deadline import ProgressDeadline, report_progress
from .._base.errors import Conflict, OvnError, Refused, list_names
from .._kubernetes.client import Cluster
from .._kubernetes.lease import RunLease, check_lease
from .._kubernetes.pod_diagnosis import diagnose_containers, diagnose_events, unscheduled
from .._kubernetes.pod_startup import PATIENCE
from .._kubernetes.pod_watch import list_events, watch_pods
from .._kubernetes.rollout_progress import is_terminating
from .._kubernetes.wait_tracker import Progress
from .._manifests.image_contract import IMAGE_PULL, IMAGE_PULL_COMPONENT, LACKS, Images, image_pull_manifest
from .desired import DesiredHypervisors
from .nodes import Node
from .plan import MOST_LISTED
from .pods import COMPONENT, describe_missing_pod, node_of

# How far the nodes are with the images that they pull before an update, by their pods of the DaemonSet that pulls; what follows from that. Pure.

NODES_PER_WAVE = 50  # as many as one registry serves at the same time

# no place: the pod is there and nothing runs it. no pod: nothing has created one.
State = t.Literal["present", "pulling", "failing", "impossible", "no place", "no pod"]
Verdict = t.Literal["wait", "settled", "refused"]

_FAILING = frozenset({"ErrImagePull", "ImagePullBackOff"})  # the kubelet tries again
_IMPOSSIBLE = frozenset({"InvalidImageName", "ErrImageNeverPull"})
# What comes after the pull, so the image is there.
_PULLED = frozenset({"CreateContainerConfigError", "CreateContainerError", "RunContainerError", "CrashLoopBackOff"})


class NodePull(t.NamedTuple):
    """`cause` is what Kubernetes reports, empty if it is nothing; `pod` is the name of the pod, if there is one."""

    state: State
    cause: str = ""
    pod: str = ""


def split_into_waves(nodes: t.Iterable[Node]) -> list[list[Node]]:
    """Return the nodes that pull at the same time, in the order of the nodes; without those that are not ready."""
    ready = [node for node in nodes if node.ready]
    return [ready[start : start + NODES_PER_WAVE] for start in range(0, len(ready), NODES_PER_WAVE)]


def assess_pod(pod: Object) -> NodePull:
    """Return how far the node of this pod is."""
    status, name = pod.get("status") or {}, pod["metadata"]["name"]
    by_name = {one["name"]: one for one in status.get("containerStatuses") or ()}
    missing = [
        one
        for one in (by_name.get(container["name"]) or {} for container in pod["spec"]["containers"])
        if not _has(one)
    ]
    lacking = [
        text
        for text in (_lacks(container, by_name.get(container["name"]) or {}) for container in pod["spec"]["containers"])
        if text
    ]
    if lacking:
        return NodePull("impossible", "; ".join(lacking), name)
    cause = "; ".join(text.rstrip(".") for text in diagnose_containers(pod))
    reasons = {_waiting_reason(one) for one in missing}
    if not missing:
        return NodePull("present", "", name)
    if status.get("phase") == "Failed":  # a kubelet has refused or evicted it
        said = f"{status.get('reason') or 'Failed'}: {status.get('message') or ''}".rstrip(": .")
        return NodePull("no place", f"Pod {name} ended ({said})", name)
    if unscheduled(pod) is not None:
        return NodePull("no place", cause, name)
    if reasons & _IMPOSSIBLE:
        return NodePull("impossible", cause, name)
    return NodePull("failing" if reasons & _FAILING else "pulling", cause, name)


def _has(container: Object) -> bool:
    """Return whether the node has the image of a container with this status. While it runs and is not ready yet, it looks at what is in the image."""
    if "running" in (container.get("state") or {}):
        return bool(container.get("ready"))
    return bool(container.get("imageID")) or _waiting_reason(container) in _PULLED


def _lacks(container: Object, status: Object) -> str:
    """Return what the image of a container lacks, empty if it has everything or has not been looked at yet. By now the kubelet may have started it again."""
    for state in (status.get("state") or {}, status.get("lastState") or {}):
        ended = state.get("terminated") or {}
        if ended.get("exitCode") == LACKS:
            names = list_names(str(ended.get("message") or "").split())
            return f"image {container['image']} has no {names or 'programs that the daemons need'}"
    return ""


def _waiting_reason(container: Object) -> str:
    return str(((container.get("state") or {}).get("waiting") or {}).get("reason") or "")


def assess_nodes(nodes: t.Iterable[Node], pods: t.Iterable[Object], owner: str) -> dict[str, NodePull]:
    """Return how far each node is. `owner` is the uid of the DaemonSet: pods of an earlier one say nothing about these images."""
    ours = [pod for pod in pods if any(one["uid"] == owner for one in pod["metadata"].get("ownerReferences") or ())]
    # A pod that is being replaced must not hide the new one.
    by_node = {node_of(pod): pod for pod in sorted(ours, key=is_terminating, reverse=True)}
    return {
        node.name: assess_pod(by_node[node.name])
        if node.name in by_node
        else NodePull("no pod", describe_missing_pod(node, IMAGE_PULL))
        for node in nodes
    }


def count_progress(pulls: t.Mapping[str, NodePull]) -> dict[t.Hashable, int]:
    """Return what rises while nodes pull: those that have a pod, and those that have the images."""
    states = [one.state for one in pulls.values()]
    return {"pods": len(states) - states.count("no pod"), "images": states.count("present")}


def judge_wave(
    pulls: t.Mapping[str, NodePull], seconds_failing: t.Mapping[str, float], seconds_stalled: float, limit: float
) -> Verdict:
    """Return whether these nodes are waited for, let the update go on, or refuse it. `limit`: seconds without progress that are too many.

    A pull that failed is waited for until the kubelet has tried it again, a missing pod until there is no other progress.
    """
    patience = min(PATIENCE, limit)
    states = {one.state for one in pulls.values()}
    if "impossible" in states or any(seconds >= patience for seconds in seconds_failing.values()):
        return "refused"
    if states & {"pulling", "failing"}:
        return "refused" if seconds_stalled >= limit else "wait"
    return "wait" if "no pod" in states and seconds_stalled < patience else "settled"


def nodes_without_place(pulls: t.Mapping[str, NodePull]) -> dict[str, NodePull]:
    return {node: one for node, one in pulls.items() if one.state in ("no place", "no pod")}


def place_warning(names: str, without_place: t.Mapping[str, NodePull], events: t.Sequence[Object]) -> str:
    """Return the warning about nodes that have not pulled before the update. `events` are those of the DaemonSets."""
    causes = [f"node {node}: {one.cause.rstrip('.')}" for node, one in without_place.items()]
    reports = diagnose_events(events, IMAGE_PULL, ()) if any(not one.pod for one in without_place.values()) else []
    kubernetes = f" Kubernetes says: {_listed(list(dict.fromkeys(reports)))}." if reports else ""
    return f"Nodes that had no place for a pod that pulls {names} pull when their daemons have been stopped already: {_listed(causes)}.{kubernetes}"


def describe_refusal(names: str, pulls: t.Mapping[str, NodePull], events: t.Sequence[Object], stalled: str) -> str:
    """Return the message about the nodes that refuse an update. `stalled`: for how long there was no progress, empty if that is not the cause."""
    failing = [f"node {node}: {one.cause}" for node, one in pulls.items() if one.state in ("failing", "impossible")]
    pulling = [_describe_pulling(node, one, events) for node, one in pulls.items() if one.state == "pulling"]
    parts = [*failing, *(pulling if stalled else [])]
    step = (
        "Correct spec.ovnImage, spec.ovsImage, spec.agentImage or spec.metadataAgent.image, the registry or the Secret for it"
        if failing
        else "Look at these nodes and at their way to the registry; if that is only slow, set a longer wait_timeout (ovn_wait_timeout)"
    )
    return f"Not all nodes have {names}: {_listed(parts)}{f'; {stalled}' if stalled else ''}. {step}, then run again. No daemon was stopped."


def _describe_pulling(node: str, pull: NodePull, events: t.Sequence[Object]) -> str:
    own = [event for event in events if (event.get("involvedObject") or {}).get("name") == pull.pod]
    causes = [text for text in (pull.cause, *diagnose_events(own, pull.pod, ())) if text]
    return f"node {node} is still pulling{f' ({_listed(causes)})' if causes else ''}"


def _listed(messages: t.Sequence[str]) -> str:
    more = len(messages) - MOST_LISTED
    parts = [*(text.rstrip(".") for text in messages[:MOST_LISTED]), *([f"and {more} more"] if more > 0 else [])]
    return "; ".join(parts)


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
