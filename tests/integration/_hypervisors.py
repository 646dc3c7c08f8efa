"""Runs of ovn_hypervisors against a real API server, which has no nodes and no controllers of its own."""

from __future__ import annotations

import contextlib
import json
import pathlib
import shutil
import types
import typing as t

from _apiserver import ApiServer
from conftest import Ran, RunModule

API = "/apis/ovn.c5c3.io/v1alpha1/ovnchassis"
RBAC, ADMISSION = "/apis/rbac.authorization.k8s.io/v1", "/apis/admissionregistration.k8s.io/v1"
# What lets the agents of a namespace write the status of their OVNChassis.
STATUS_RIGHTS = (
    f"{RBAC}/clusterrolebindings",
    f"{RBAC}/clusterroles",
    f"{ADMISSION}/validatingadmissionpolicybindings",
    f"{ADMISSION}/validatingadmissionpolicies",
)
HYPERVISOR = {"node-role.kubernetes.io/hypervisor": ""}
READY = [{"type": "Ready", "status": "True"}]


class Hypervisors:
    """A cluster with nodes that nobody runs, the module, and what it leaves there."""

    def __init__(self, server: ApiServer, namespace: str, run_module: RunModule) -> None:
        self.server, self.namespace, self.run_module = server, namespace, run_module

    def node(
        self, name: str, ip: str, labels: t.Mapping[str, str] = types.MappingProxyType(HYPERVISOR), **annotations: str
    ) -> None:
        keys = {f"ovn.c5c3.io/{key.replace('_', '-')}": value for key, value in annotations.items()}
        addresses = [{"type": "InternalIP", "address": ip}, {"type": "Hostname", "address": name}]
        node = {
            "metadata": {"name": name, "labels": dict(labels), "annotations": keys},
            "status": {"addresses": addresses, "conditions": READY},
        }
        self.server.request("POST", "/api/v1/nodes", node)

    def annotate(self, name: str, **annotations: str | None) -> None:
        keys = {f"ovn.c5c3.io/{key.replace('_', '-')}": value for key, value in annotations.items()}
        self.server.request("PATCH", f"/api/v1/nodes/{name}", {"metadata": {"annotations": keys}})

    def __call__(self, check: bool = False, may_fail: bool = False, **options: t.Any) -> Ran:
        spec = {"tls": {"enabled": False}, **options.pop("spec", {})}
        given = {
            "kubeconfig": self.server.kubeconfig,
            "namespace": self.namespace,
            "spec": spec,
            "southbound": ["tcp:127.0.0.1:1"],
            "wait": False,
            "wait_timeout": 5,
            **options,
        }
        return self.run_module("ovn_hypervisors", given, check=check, diff=True, may_fail=may_fail)

    def get(self, path: str) -> t.Any:
        return json.loads(self.server.request("GET", path))

    def pods_are_ready(self, count: int, *names: str) -> None:
        """What the controller of DaemonSets would say of `count` nodes; nobody else does here. Without `names`: of the pods that work."""
        for name in names or ("ovs", "ovn-controller"):
            place = f"/apis/apps/v1/namespaces/{self.namespace}/daemonsets/{name}"
            numbers = ("currentNumberScheduled", "desiredNumberScheduled", "numberReady", "updatedNumberScheduled")
            status = {
                **dict.fromkeys(numbers, count),
                "numberMisscheduled": 0,
                "observedGeneration": self.get(place)["metadata"]["generation"],
            }
            self.server.request("PATCH", f"{place}/status", {"status": status})

    def generations(self) -> dict[str, int]:
        """A pod is only replaced if this moves."""
        items = self.get(f"/apis/apps/v1/namespaces/{self.namespace}/daemonsets")["items"]
        return {item["metadata"]["name"]: item["metadata"]["generation"] for item in items}

    def settings(self) -> dict[str, t.Any]:
        data = self.get(f"/api/v1/namespaces/{self.namespace}/configmaps/ovn-chassis")["data"]
        return {name: json.loads(text) for name, text in data.items()}

    def chassis(self) -> dict[str, t.Any]:
        return {item["metadata"]["name"]: item for item in self.get(API)["items"]}

    def token_of(self, node: str, *, bound: bool = True, account: str = "ovn-controller") -> str:
        """Return the token that a kubelet mounts into the pod of this account on this node."""
        pods = f"/api/v1/namespaces/{self.namespace}/pods"
        name = f"{account}-{node}"
        container = {"name": "agent", "image": "ovn"}
        spec = {"nodeName": node, "serviceAccountName": account, "containers": [container]}
        try:
            found = self.get(f"{pods}/{name}")
        except OSError:
            found = json.loads(self.server.request("POST", pods, {"metadata": {"name": name}, "spec": spec}))
        reference = {"apiVersion": "v1", "kind": "Pod", "name": name, "uid": found["metadata"]["uid"]}
        place = f"/api/v1/namespaces/{self.namespace}/serviceaccounts/{account}/token"
        body = {"spec": {"boundObjectRef": reference if bound else None}}
        return str(json.loads(self.server.request("POST", place, body))["status"]["token"])

    def account_of(self, node: str, directory: pathlib.Path, **token: t.Any) -> pathlib.Path:
        """Return a folder with what a kubelet mounts into that pod for the API server."""
        account = directory / f"account-{node}"
        account.mkdir(exist_ok=True)
        (account / "token").write_text(self.token_of(node, **token))
        shutil.copy(self.server.ca_certificate, account / "ca.crt")
        return account

    def versions(self) -> dict[str, str]:
        """Everything that the module may write, with its resourceVersion."""
        places = [
            API,
            *(
                f"/api/v1/namespaces/{self.namespace}/configmaps",
                f"/apis/apps/v1/namespaces/{self.namespace}/daemonsets",
            ),
        ]
        found = [item for path in places for item in self.get(path)["items"]]
        return {
            f"{item['metadata']['name']}/{item['metadata']['uid']}": item["metadata"]["resourceVersion"]
            for item in found
        }


@contextlib.contextmanager
def hypervisor_cluster(server: ApiServer, namespace: str, run_module: RunModule) -> t.Iterator[Hypervisors]:
    # Nodes and chassis belong to the whole API server: also what other tests left goes first.
    _clear(server, namespace)
    try:
        yield Hypervisors(server, namespace, run_module)
    finally:
        _clear(server, namespace)


def _clear(api_server: ApiServer, namespace: str) -> None:
    rights = [f"{place}/c5c3-ovn-chassis-status-{namespace}" for place in STATUS_RIGHTS]
    rights += [f"{place}/c5c3-ovn-chassis-observer-{namespace}" for place in STATUS_RIGHTS[:2]]
    for path in ("/api/v1/nodes", API, *rights):
        try:
            api_server.request("DELETE", path)
        except OSError:
            continue


def actions(ran: Ran) -> dict[str, str]:
    return {f"{one['kind']} {one['name']}": one["action"] for one in ran["objects"]}
