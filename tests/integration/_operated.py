"""The operator in this process, on a real API server with pods on loopback: what it reads, writes and tells."""

from __future__ import annotations

import base64
import contextlib
import json
import pathlib
import typing as t

import yaml
from _control_plane import PLACES, ControlPlane, available
from conftest import until

from ansible_collections.c5c3.ovn.plugins.module_utils._api.names import API_VERSION
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.client import Cluster
from ansible_collections.c5c3.ovn.plugins.module_utils._operator.main import Operator
from ansible_collections.c5c3.ovn.plugins.module_utils._operator.status_writer import Metrics
from ansible_collections.c5c3.ovn.plugins.module_utils._operator.target import Options, Shared

NAME = "ovn"


class Operated:
    """`apply` is what Flux does; the rest is what the operator has made of it."""

    def __init__(self, plane: ControlPlane, cluster: Cluster, *, resync: float = 600) -> None:
        self.plane, self.cluster = plane, cluster
        self.metrics = Metrics()
        self.shared = Shared(cluster, Options(plane.namespace, resync, "cluster.local"), self.metrics)
        self.operator = Operator(self.shared)

    def apply(self, spec: dict[str, t.Any], name: str = NAME) -> None:
        place = f"{PLACES['OVNCluster'].format(self.plane.namespace)}/{name}?fieldManager=kustomize-controller"
        content = {"apiVersion": API_VERSION, "kind": "OVNCluster", "metadata": {"name": name}, "spec": spec}
        self.plane.server.request("APPLY", place, content)

    def kubeconfig_secret(self, name: str, content: t.Any = None) -> None:
        """The kubeconfig of this API server, or `content`."""
        given = yaml.safe_dump(self.flat_kubeconfig() if content is None else content)
        place = f"{PLACES['Secret'].format(self.plane.namespace)}/{name}?fieldManager=kustomize-controller"
        manifest = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": name},
            "stringData": {"kubeconfig": given},
        }
        self.plane.server.request("APPLY", place, manifest)

    def flat_kubeconfig(self) -> dict[str, t.Any]:
        """As `kubectl config view --flatten` gives it: with the CA in it."""
        content = yaml.safe_load(pathlib.Path(self.plane.server.kubeconfig).read_text())
        cluster = content["clusters"][0]["cluster"]
        authority = pathlib.Path(cluster.pop("certificate-authority")).read_bytes()
        cluster["certificate-authority-data"] = base64.b64encode(authority).decode()
        return t.cast("dict[str, t.Any]", content)

    def status(self) -> dict[str, t.Any]:
        return self.plane.get("OVNCluster", NAME).get("status") or {}

    def condition(self, kind: str = "Reconciled") -> dict[str, t.Any]:
        return next((one for one in self.status().get("conditions") or () if one["type"] == kind), {})

    def entry(self, name: str) -> dict[str, t.Any]:
        return next((one for one in self.status().get("hypervisorClusters") or () if one["name"] == name), {})

    def await_condition(self, status: str, reason: str, timeout: float = 60) -> dict[str, t.Any]:
        """Wait for the condition Reconciled with this status and reason, of the newest generation."""

        def reached() -> bool:
            one = self.condition()
            generation = self.plane.get("OVNCluster", NAME)["metadata"]["generation"]
            return (one.get("status"), one.get("reason"), one.get("observedGeneration")) == (status, reason, generation)

        until(reached, f"Reconciled to be {status}, {reason}; it is {self.condition()}", timeout)
        return self.condition()

    def await_entry(self, name: str, ready: bool, reason: str, timeout: float = 60) -> dict[str, t.Any]:
        def reached() -> bool:
            one = self.entry(name)
            return (one.get("ready"), one.get("reason")) == (ready, reason)

        until(reached, f"hypervisor cluster {name} to be {reason}; it is {self.entry(name)}", timeout)
        return self.entry(name)

    def deployments_available(self) -> None:
        """As their controller would tell."""
        for name in ("ovn-northd", "ovn-observer"):
            until(lambda name=name: self._there("Deployment", name), f"Deployment {name}", 60)
            available(self.plane, name)

    def _there(self, kind: str, name: str) -> bool:
        with contextlib.suppress(OSError):
            self.plane.get(kind, name)
            return True
        return False

    def is_there(self, kind: str, name: str) -> bool:
        return self._there(kind, name)

    def events(self) -> list[tuple[str, str]]:
        """Reason and message of each event about the OVNCluster, oldest first."""
        items = json.loads(self.plane.server.request("GET", PLACES["Event"].format(self.plane.namespace)))["items"]
        ours = [one for one in items if one["involvedObject"]["kind"] == "OVNCluster"]
        return [
            (one["reason"], one["message"])
            for one in sorted(ours, key=lambda one: one["metadata"]["creationTimestamp"])
        ]

    def runs(self, target: str = "control-plane") -> dict[str, float]:
        """How many runs had which result."""
        key = f"{self.plane.namespace}/{NAME}"
        results = ("unchanged", "changed", "waiting", "failed")
        values = {
            result: self.metrics.registry.get_sample_value(
                "c5c3_ovn_operator_reconciles_total", {"cluster": key, "target": target, "result": result}
            )
            for result in results
        }
        return {result: value for result, value in values.items() if value}

    def wake(self, target: str = "control-plane") -> None:
        """As a change that nobody has declared would do."""
        next(one for one in self.operator.targets() if one.name == target).worker.wake(urgent=True)

    def look(self, target: str) -> int:
        """Have the place looked at once more, and return how many requests that took."""
        one = next(found for found in self.operator.targets() if found.name == target)
        requests, runs = one.requests, sum(self.runs(target).values())
        one.worker.wake(urgent=True)
        until(lambda: sum(self.runs(target).values()) > runs, f"a run over {target}", 30)
        return one.requests - requests
