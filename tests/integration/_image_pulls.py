"""What kubelets, the scheduler and the controller of DaemonSets do with pods that pull images, where nobody else does it."""

from __future__ import annotations

import threading
import typing as t

from _hypervisors import Hypervisors

from ansible_collections.c5c3.ovn.plugins.module_utils._manifests.image_contract import LACKS

PULL = "ovn-image-pull"
Fate = t.Literal["present", "pulling", "failing", "incomplete", "unscheduled", "no pod"]


class ImagePulls:
    """Each node gets the pod of the DaemonSet that pulls, and with it the fate that `fates` names, or else its images.

    `waves` are the nodes of each DaemonSet so far, `generations` those of the others at that moment; `pods` (by node) and `template` are of the last one.
    Pods of the daemons are `ready` as soon as their DaemonSets change; `roll_out` does that.
    """

    def __init__(self, hypervisors: Hypervisors, ready: int, **fates: Fate) -> None:
        self.hypervisors, self.ready, self.fates = hypervisors, ready, fates
        self.waves, self.generations = list[list[str]](), list[dict[str, int]]()
        self.pods, self.template = dict[str, str](), dict[str, t.Any]()
        self._place = f"/api/v1/namespaces/{hypervisors.namespace}/pods"
        self._uids = set[str]()

    def play(self, ended: threading.Event, reported: dict[str, int] | None = None) -> None:
        """Do it until the run has ended. `reported` are the generations whose pods are ready, by default those of now."""
        reported = self._read_generations() if reported is None else reported
        while not ended.is_set():
            self._pull()
            generations = self._read_generations()
            if generations != reported:
                self.roll_out(*generations)
                reported = generations
            ended.wait(0.1)

    def roll_out(self, *names: str) -> None:
        """Say what follows from a change of these DaemonSets."""
        self.hypervisors.pods_are_ready(self.ready, *names)

    def _read_generations(self) -> dict[str, int]:
        return {name: one for name, one in self.hypervisors.generations().items() if name != PULL}

    def _pull(self) -> None:
        items = self.hypervisors.get(f"/apis/apps/v1/namespaces/{self.hypervisors.namespace}/daemonsets")["items"]
        for one in items:
            name, uid = one["metadata"]["name"], one["metadata"]["uid"]
            # What a test has left is for no node.
            if name == PULL and uid not in self._uids and "affinity" in one["spec"]["template"]["spec"]:
                self._uids.add(uid)
                self._begin(one)

    def _begin(self, daemon_set: dict[str, t.Any]) -> None:
        uid, template = daemon_set["metadata"]["uid"], daemon_set["spec"]["template"]
        affinity = template["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
        nodes = [term["matchFields"][0]["values"][0] for term in affinity["nodeSelectorTerms"]]
        self.template = template["spec"]
        self.generations.append(self._read_generations())
        self.waves.append(nodes)
        self.pods.clear()
        for node in nodes:
            fate = self.fates.get(node, "present")
            if fate != "no pod":
                pod = self._manifest(node, fate, uid, template["metadata"]["labels"])
                self.hypervisors.server.request("POST", self._place, pod)
                self.say(pod["metadata"]["name"], fate)
                self.pods[node] = pod["metadata"]["name"]

    def _manifest(self, node: str, fate: Fate, uid: str, labels: dict[str, str]) -> dict[str, t.Any]:
        owner = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": PULL, "uid": uid, "controller": True}
        terms = [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}]
        required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
        place = {"affinity": {"nodeAffinity": required}} if fate == "unscheduled" else {"nodeName": node}
        containers = [{key: one[key] for key in ("name", "image")} for one in self.template["containers"]]
        return {
            "metadata": {"name": f"{PULL}-{node}-{uid[:8]}", "labels": labels, "ownerReferences": [owner]},
            "spec": {**place, "containers": containers},
        }

    def say(self, pod: str, fate: Fate) -> None:
        """Write the status of the pod."""
        common = {"image": "", "ready": fate == "present", "restartCount": 0, **_container(fate)}
        statuses = [{"name": one["name"], **common} for one in self.template["containers"]]
        full = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "Too many pods."}
        status = {"conditions": [full]} if fate == "unscheduled" else {"containerStatuses": statuses}
        self.hypervisors.server.request("PATCH", f"{self._place}/{pod}/status", {"status": status})


def _container(fate: Fate) -> dict[str, t.Any]:
    if fate == "present":
        return {"imageID": "sha256:1", "state": {"running": {}}}
    if fate == "incomplete":
        ended = {"exitCode": LACKS, "message": "ovn-controller sha256sum\n"}
        waiting = {"waiting": {"reason": "CrashLoopBackOff"}}
        return {"imageID": "sha256:1", "state": waiting, "lastState": {"terminated": ended}}
    reason, message = ("ImagePullBackOff", "no such tag") if fate == "failing" else ("ContainerCreating", "")
    return {"imageID": "", "state": {"waiting": {"reason": reason, "message": message}}}
