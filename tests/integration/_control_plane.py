"""A control plane on a real API server: a namespace, the modules, and what they leave there. With `kubelet`, its pods run on loopback."""

from __future__ import annotations

import contextlib
import io
import json
import pathlib
import tempfile
import time
import typing as t

import pytest
from _apiserver import ApiServer, free_ports
from _pods_on_api import Controllers, Kubelet
from ansible.module_utils import basic
from conftest import Ran

from ansible_collections.c5c3.ovn.plugins.module_utils._base.databases import Ports
from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import InvalidInput
from ansible_collections.c5c3.ovn.plugins.module_utils._control_plane import checks, settings
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes import client
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.record import parse_record, render_files
from ansible_collections.c5c3.ovn.plugins.modules import ovn_cluster, ovn_cluster_info

CID = "11111111-1111-4111-8111-111111111111"
SPEC = {"tls": {"enabled": False}}
PLACES = {
    "OVNCluster": "/apis/ovn.c5c3.io/v1alpha1/namespaces/{}/ovnclusters",
    "ConfigMap": "/api/v1/namespaces/{}/configmaps",
    "Service": "/api/v1/namespaces/{}/services",
    "ServiceAccount": "/api/v1/namespaces/{}/serviceaccounts",
    "PersistentVolumeClaim": "/api/v1/namespaces/{}/persistentvolumeclaims",
    "Secret": "/api/v1/namespaces/{}/secrets",
    "Pod": "/api/v1/namespaces/{}/pods",
    "Event": "/api/v1/namespaces/{}/events",
    "ResourceQuota": "/api/v1/namespaces/{}/resourcequotas",
    "DaemonSet": "/apis/apps/v1/namespaces/{}/daemonsets",
    "Deployment": "/apis/apps/v1/namespaces/{}/deployments",
    "StatefulSet": "/apis/apps/v1/namespaces/{}/statefulsets",
    "NetworkPolicy": "/apis/networking.k8s.io/v1/namespaces/{}/networkpolicies",
    "PodDisruptionBudget": "/apis/policy/v1/namespaces/{}/poddisruptionbudgets",
    "Role": "/apis/rbac.authorization.k8s.io/v1/namespaces/{}/roles",
    "RoleBinding": "/apis/rbac.authorization.k8s.io/v1/namespaces/{}/rolebindings",
    "Lease": "/apis/coordination.k8s.io/v1/namespaces/{}/leases",
}
MADE_BY_OTHERS = ("Pod", "Event", "ResourceQuota")


class ControlPlane:
    """A namespace, the modules, and what they leave there.

    The modules run in this process: to import the Kubernetes client takes longer than most of the tests.
    """

    def __init__(self, server: ApiServer, namespace: str, monkeypatch: pytest.MonkeyPatch) -> None:
        self.server, self.namespace, self.monkeypatch = server, namespace, monkeypatch

    def module(self, module: t.Any, options: dict[str, t.Any], check: bool, may_fail: bool) -> Ran:
        arguments = {
            "kubeconfig": self.server.kubeconfig,
            "namespace": self.namespace,
            **options,
            "_ansible_check_mode": check,
            "_ansible_diff": True,
            "_ansible_remote_tmp": tempfile.gettempdir(),
        }
        given = json.dumps({"ANSIBLE_MODULE_ARGS": {k: v for k, v in arguments.items() if v is not None}}).encode()
        self.monkeypatch.setattr(basic, "_ANSIBLE_ARGS", given)
        self.monkeypatch.setattr(basic, "_ANSIBLE_PROFILE", "legacy", raising=False)
        output, started = io.StringIO(), time.monotonic()
        with contextlib.redirect_stdout(output), contextlib.suppress(SystemExit):
            module.main()
        ran = Ran(json.loads(output.getvalue()), time.monotonic() - started, "")
        if ran.failed and not may_fail:
            pytest.fail(f"The module failed: {ran['msg']}")
        return ran

    def __call__(self, check: bool = False, may_fail: bool = False, **options: t.Any) -> Ran:
        given = {"spec": SPEC, "wait_timeout": 1, **options}
        return self.module(ovn_cluster, given, check, may_fail)

    def info(self, **options: t.Any) -> Ran:
        return self.module(ovn_cluster_info, options, False, False)

    def late(self, **options: t.Any) -> Ran:
        """A run that comes as far as one can without pods."""
        ran = self(may_fail=True, **options)
        assert ran.failed
        assert "run again" in ran["msg"], ran["msg"]
        return ran

    def begin(self, **options: t.Any) -> Ran:
        """Runs until each database has the first of its pods, as far as the API server knows."""
        for attempt in range(8):
            ran = self.late(wait_timeout=3 + attempt, **options)
            if all(self.get("StatefulSet", f"ovn-{d}bound")["spec"]["replicas"] == 1 for d in ("north", "south")):
                return ran
        pytest.fail(f"No pods were asked for: {ran['msg']}")

    def place(self, kind: str, name: str) -> str:
        return f"{PLACES[kind].format(self.namespace)}/{name}"

    def get(self, kind: str, name: str) -> t.Any:
        return json.loads(self.server.request("GET", self.place(kind, name)))

    def patch(self, kind: str, name: str, patch: t.Any, manager: str = "c5c3.ovn") -> None:
        self.server.request("PATCH", f"{PLACES[kind].format(self.namespace)}/{name}?fieldManager={manager}", patch)

    def make(self, kind: str, name: str, **content: t.Any) -> t.Any:
        labels = content.pop("labels", {})
        manifest = {"metadata": {"name": name, "labels": labels}, **content}
        return json.loads(self.server.request("POST", PLACES[kind].format(self.namespace), manifest))

    def remove(self, kind: str, name: str) -> None:
        self.server.request("DELETE", self.place(kind, name))

    def ours(self) -> dict[str, str]:
        """Everything with our label, with its resourceVersion."""
        found = {}
        for kind, place in PLACES.items():
            if kind in MADE_BY_OTHERS:
                continue
            try:
                items = json.loads(self.server.request("GET", place.format(self.namespace)))["items"]
            except OSError:  # the kind is not defined yet
                continue
            for item in items:
                if (item["metadata"].get("labels") or {}).get("app.kubernetes.io/managed-by") == "c5c3.ovn":
                    found[f"{kind} {item['metadata']['name']}"] = item["metadata"]["resourceVersion"]
        return found

    def claim(self, database: str, index: int, size: str = "2Gi", **more: t.Any) -> None:
        """As the controller of the StatefulSet would make it."""
        labels = {"app.kubernetes.io/instance": "ovn", "app.kubernetes.io/component": database}
        spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}}
        name = f"data-ovn-{database}-{index}"
        self.make("PersistentVolumeClaim", name, labels=labels, spec={**spec, **more})
        status = {"phase": "Bound", "capacity": {"storage": size}}
        self.patch("PersistentVolumeClaim", f"{name}/status", {"status": status})

    def record(
        self,
        database: str = "northbound",
        data: dict[str, str] | None = None,
        without: t.Sequence[str] = (),
        **changes: t.Any,
    ) -> None:
        """A record as an earlier run, or a restored backup, would leave it; `without` some of its keys."""
        ports = {"northbound": 6643, "southbound": 6644}
        checks = {
            f"ovn-{database}-{index}": {
                "address": f"tcp:ovn-{database}-{index}.ovn-{database}.{self.namespace}.svc.cluster.local:{ports[database]}",
                "state": "expected",
                "sid": None,
                "past_sids": [],
                "next_address": None,
                "away": None,
            }
            for index in range(3)
        }
        content = {
            "format": 1,
            "database": database,
            "members": checks,
            "revision": 1,
            "epoch": 1,
            "cid": None,
            "retired_cids": [],
            "permit": None,
            "hold": False,
            "formed": True,
            "intent": None,
            "floor": None,
            "clients": [],
            **changes,
        }
        labels = {
            "app.kubernetes.io/name": "ovn",
            "app.kubernetes.io/instance": "ovn",
            "app.kubernetes.io/managed-by": "c5c3.ovn",
            "app.kubernetes.io/part-of": "ovn",
            "app.kubernetes.io/component": database,
        }
        found = {"record.json": json.dumps(content)} if data is None else data
        with contextlib.suppress(InvalidInput):  # some are wrong on purpose
            found = render_files(parse_record(content), 1000) if data is None else data
        found = {key: text for key, text in found.items() if key not in without}
        self.make("ConfigMap", f"ovn-{database}-record", labels=labels, data=found)

    def recorded(self, database: str) -> t.Any:
        return json.loads(self.get("ConfigMap", f"ovn-{database}-record")["data"]["record.json"])


def actions(ran: Ran) -> dict[str, str]:
    return {f"{one['kind']} {one['name']}": one["action"] for one in ran["objects"]}


def touched(ran: Ran) -> dict[str, str]:
    return {name: action for name, action in actions(ran).items() if action != "unchanged"}


def control_plane(
    server: ApiServer, namespace: str, monkeypatch: pytest.MonkeyPatch, temporary: pathlib.Path
) -> ControlPlane:
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))  # kubernetes.core keeps what it discovered there
    monkeypatch.setattr(client, "Cluster", Controllers(server).cluster)
    for name in ("KUBECONFIG", "K8S_AUTH_KUBECONFIG", "K8S_AUTH_HOST", "K8S_AUTH_API_KEY", "K8S_AUTH_CONTEXT"):
        monkeypatch.delenv(name, raising=False)
    return ControlPlane(server, namespace, monkeypatch)


@pytest.fixture
def plane(
    api_server: ApiServer, namespace: str, monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> ControlPlane:
    return control_plane(api_server, namespace, monkeypatch, tmp_path)


SIZES = {"northbound": 3, "southbound": 1}
WHOLE = {**SPEC, **{database: {"replicas": size, "electionTimer": 2000} for database, size in SIZES.items()}}


@contextlib.contextmanager
def running_pods(plane: ControlPlane, sizes: t.Mapping[str, int] | None = None) -> t.Iterator[Kubelet]:
    """Pods that run, on addresses of this host; `sizes` is how many of each database there can be."""
    kubelet = Kubelet(plane.server, plane.namespace, sizes or SIZES)
    plane.monkeypatch.setattr(client, "Cluster", kubelet.cluster)
    plane.monkeypatch.setattr(checks, "raft_address", kubelet.address)
    ports = dict(zip(SIZES, free_ports(2)))  # they listen on all addresses
    plane.monkeypatch.setattr(settings, "PORTS", {database: Ports(port, 0, port) for database, port in ports.items()})
    try:
        yield kubelet
    finally:
        kubelet.close()


@pytest.fixture
def kubelet(plane: ControlPlane, daemons: None) -> t.Iterator[Kubelet]:
    with running_pods(plane) as kubelet:
        yield kubelet


OTHER_CID = "22222222-2222-4222-8222-222222222222"


def recreated(plane: ControlPlane, kubelet: Kubelet, database: str) -> None:
    """Somebody deleted the StatefulSet with its pods; the claims stay."""
    place = f"{PLACES['StatefulSet'].format(plane.namespace)}/ovn-{database}"
    plane.server.request("DELETE", place, {"propagationPolicy": "Orphan"})
    kubelet.orphaned(plane.namespace, f"ovn-{database}")
    for index in range(SIZES[database]):
        kubelet.deleted(f"ovn-{database}-{index}")


def available(plane: ControlPlane, name: str) -> None:
    """As its controller would tell."""
    deployment = plane.get("Deployment", name)
    count, generation = deployment["spec"]["replicas"], deployment["metadata"]["generation"]
    counts = dict.fromkeys(("replicas", "updatedReplicas", "readyReplicas", "availableReplicas"), count)
    plane.patch("Deployment", f"{name}/status", {"status": {"observedGeneration": generation, **counts}})


def hypervisors() -> dict[str, str]:
    return {
        "app.kubernetes.io/name": "ovn",
        "app.kubernetes.io/instance": "ovn",
        "app.kubernetes.io/managed-by": "c5c3.ovn",
    }
