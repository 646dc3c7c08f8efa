"""What kubelets and the controller of DaemonSets do, where nobody else does it: pods of both DaemonSets, and the status that follows from them."""

from __future__ import annotations

import typing as t

from _hypervisors import READY, Hypervisors

NAMES = ("ovs", "ovn-controller")


class DaemonSets:
    """The pods of these nodes. A pod is of the template, thus of the generation, that its DaemonSet had when it was made."""

    def __init__(self, hypervisors: Hypervisors, nodes: t.Sequence[str]) -> None:
        self.hypervisors, self.nodes = hypervisors, nodes
        self.place = f"/api/v1/namespaces/{hypervisors.namespace}/pods"
        self.pods: dict[
            tuple[str, str], tuple[int, bool]
        ] = {}  # DaemonSet and node: generation, and whether it is ready

    def _daemon_set(self, name: str) -> t.Any:
        return self.hypervisors.get(f"/apis/apps/v1/namespaces/{self.hypervisors.namespace}/daemonsets/{name}")

    def replace(self, *nodes: str) -> None:
        """End the pods of the nodes, and make those of the current templates, which are not ready."""
        for name in NAMES:
            daemon_set = self._daemon_set(name)
            for node in nodes:
                if (name, node) in self.pods:
                    now = {"gracePeriodSeconds": 0, "kind": "DeleteOptions", "apiVersion": "v1"}
                    self.hypervisors.server.request("DELETE", f"{self.place}/{name}-{node}", now)
                pod = {
                    "metadata": {"name": f"{name}-{node}", "labels": daemon_set["metadata"]["labels"]},
                    "spec": {"nodeName": node, "containers": [{"name": name, "image": "nowhere:1"}]},
                }
                self.hypervisors.server.request("POST", self.place, pod)
                self.pods[name, node] = daemon_set["metadata"]["generation"], False
        self.report()

    def set_ready(self, *nodes: str, ready: bool = True) -> None:
        conditions = READY if ready else [{"type": "Ready", "status": "False"}]
        for name in NAMES:
            for node in nodes:
                self.hypervisors.server.request(
                    "PATCH", f"{self.place}/{name}-{node}/status", {"status": {"conditions": conditions}}
                )
                self.pods[name, node] = self.pods[name, node][0], ready
        self.report()

    def report(self) -> None:
        """Write the status of both DaemonSets, counted as their controller counts."""
        for name in NAMES:
            generation = self._daemon_set(name)["metadata"]["generation"]
            pods = [pod for (owner, _node), pod in self.pods.items() if owner == name]
            status = {
                "desiredNumberScheduled": len(self.nodes),
                "currentNumberScheduled": len(pods),
                "updatedNumberScheduled": sum(made == generation for made, _ready in pods),
                "numberReady": sum(ready for _made, ready in pods),
                "numberMisscheduled": 0,
                "observedGeneration": generation,
            }
            place = f"/apis/apps/v1/namespaces/{self.hypervisors.namespace}/daemonsets/{name}/status"
            self.hypervisors.server.request("PATCH", place, {"status": status})

    def roll_out(self, nodes: t.Iterable[str], starts: t.Callable[[], object] = bool) -> None:
        """Replace the pods of one node after the other, each ready when `starts` returns."""
        for node in nodes:
            self.replace(node)
            starts()
            self.set_ready(node)
