"""ovn_cluster and ovn_cluster_info against a real API server. Nobody runs pods there: databases never come up, the objects around them do."""

from __future__ import annotations

import contextlib
import io
import json
import pathlib
import socket
import tempfile
import threading
import time
import typing as t

import pytest
from _apiserver import ApiServer, free_ports
from _pods_on_api import Controllers, Kubelet
from ansible.module_utils import basic
from conftest import Ran, RunModule, until

from ansible_collections.c5c3.ovn.plugins.module_utils import _k8s
from ansible_collections.c5c3.ovn.plugins.module_utils._manifests.names import Ports
from ansible_collections.c5c3.ovn.plugins.module_utils._rollout import control_plane, settings
from ansible_collections.c5c3.ovn.plugins.modules import ovn_cluster, ovn_cluster_info

CID, OTHER_CID = "11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"
SPEC = {"tls": {"enabled": False}}
PLACES = {
    "OVNCluster": "/apis/ovn.c5c3.io/v1alpha1/namespaces/{}/ovnclusters",
    "ConfigMap": "/api/v1/namespaces/{}/configmaps",
    "Service": "/api/v1/namespaces/{}/services",
    "ServiceAccount": "/api/v1/namespaces/{}/serviceaccounts",
    "PersistentVolumeClaim": "/api/v1/namespaces/{}/persistentvolumeclaims",
    "Secret": "/api/v1/namespaces/{}/secrets",
    "Deployment": "/apis/apps/v1/namespaces/{}/deployments",
    "StatefulSet": "/apis/apps/v1/namespaces/{}/statefulsets",
    "NetworkPolicy": "/apis/networking.k8s.io/v1/namespaces/{}/networkpolicies",
    "PodDisruptionBudget": "/apis/policy/v1/namespaces/{}/poddisruptionbudgets",
    "Role": "/apis/rbac.authorization.k8s.io/v1/namespaces/{}/roles",
    "RoleBinding": "/apis/rbac.authorization.k8s.io/v1/namespaces/{}/rolebindings",
    "Lease": "/apis/coordination.k8s.io/v1/namespaces/{}/leases",
}
# Written when both databases are in order, which they never are here.
LATER = {"Deployment ovn-northd", "Deployment ovn-observer", "ConfigMap ovn-config"}


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

    def begin(self) -> Ran:
        """Runs until each database has the first of its pods, as far as the API server knows."""
        for _attempt in range(5):
            ran = self.late(wait_timeout=3)
            if all(self.get("StatefulSet", f"ovn-{d}bound")["spec"]["replicas"] == 1 for d in ("north", "south")):
                return ran
        pytest.fail(f"No pods were asked for: {ran['msg']}")

    def get(self, kind: str, name: str) -> t.Any:
        return json.loads(self.server.request("GET", f"{PLACES[kind].format(self.namespace)}/{name}"))

    def patch(self, kind: str, name: str, patch: t.Any, manager: str = "c5c3.ovn") -> None:
        self.server.request("PATCH", f"{PLACES[kind].format(self.namespace)}/{name}?fieldManager={manager}", patch)

    def make(self, kind: str, name: str, **content: t.Any) -> t.Any:
        labels = content.pop("labels", {})
        manifest = {"metadata": {"name": name, "labels": labels}, **content}
        return json.loads(self.server.request("POST", PLACES[kind].format(self.namespace), manifest))

    def remove(self, kind: str, name: str) -> None:
        self.server.request("DELETE", f"{PLACES[kind].format(self.namespace)}/{name}")

    def ours(self) -> dict[str, str]:
        """Everything with our label, with its resourceVersion."""
        found = {}
        for kind, place in PLACES.items():
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

    def record(self, database: str = "northbound", data: dict[str, str] | None = None, **changes: t.Any) -> None:
        """A record as an earlier run, or a restored backup, would leave it."""
        ports = {"northbound": 6643, "southbound": 6644}
        members = {
            f"ovn-{database}-{index}": {
                "address": f"tcp:ovn-{database}-{index}.ovn-{database}.{self.namespace}.svc.cluster.local:{ports[database]}",
                "state": "expected",
                "sid": None,
            }
            for index in range(3)
        }
        content = {
            "format": 1,
            "database": database,
            "members": members,
            "revision": 1,
            "epoch": 1,
            "cid": None,
            "retired_cids": [],
            "permit": None,
            "hold": False,
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
        self.make("ConfigMap", f"ovn-{database}-record", labels=labels, data=found)

    def recorded(self, database: str) -> t.Any:
        return json.loads(self.get("ConfigMap", f"ovn-{database}-record")["data"]["record.json"])


def actions(ran: Ran) -> dict[str, str]:
    return {f"{one['kind']} {one['name']}": one["action"] for one in ran["objects"]}


def touched(ran: Ran) -> dict[str, str]:
    return {name: action for name, action in actions(ran).items() if action != "unchanged"}


@pytest.fixture
def plane(
    api_server: ApiServer, namespace: str, monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> ControlPlane:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))  # kubernetes.core keeps what it discovered there
    monkeypatch.setattr(_k8s, "Cluster", Controllers(api_server).cluster)
    for name in ("KUBECONFIG", "K8S_AUTH_KUBECONFIG", "K8S_AUTH_HOST", "K8S_AUTH_API_KEY", "K8S_AUTH_CONTEXT"):
        monkeypatch.delenv(name, raising=False)
    return ControlPlane(api_server, namespace, monkeypatch)


# --- objects ----------------------------------------------------------------------------------------------------------


def test_check_mode_tells_what_is_then_created(plane: ControlPlane) -> None:
    plane.namespace += "-of-its-own"
    predicted = plane(check=True)
    assert predicted["changed"]
    assert plane.ours() == {}
    assert plane.namespace not in plane.server.request("GET", "/api/v1/namespaces").decode()
    assert any("create the northbound cluster on ovn-northbound-0" in step for step in predicted["steps"])

    first = plane.late()
    assert first["changed"]
    foreseen = {name for name, action in touched(predicted).items() if action == "created"}
    definitions = {name for name in foreseen if name.split()[0] in ("Namespace", "CustomResourceDefinition")}
    assert f"Namespace {plane.namespace}" in definitions
    assert set(plane.ours()) - {"Lease ovn-run"} == foreseen - definitions - LATER
    assert foreseen >= LATER
    assert {name for name, action in touched(first).items() if action == "created"} == foreseen - LATER
    # The databases are not there, and the message says what waits for what.
    assert "ovn-northbound-0" in first["msg"] or "ovn-southbound-0" in first["msg"]


def test_an_unchanged_control_plane_costs_no_write(plane: ControlPlane) -> None:
    plane.begin()
    before = plane.ours()
    again = plane(check=True)
    assert touched(again) == dict.fromkeys(LATER, "created")
    assert plane.ours() == before
    late = plane.late()
    assert touched(late) == {}
    after = plane.ours()
    assert {name for name in after if after[name] != before[name]} <= {"Lease ovn-run"}
    # 14 requests look at everything; the rest is the wait for pods that never come, and the Lease.
    assert again["requests"] <= len(before) + 10
    assert late["requests"] <= len(before) + 30


def test_drift_is_repaired(plane: ControlPlane) -> None:
    plane.begin()
    plane.patch("NetworkPolicy", "ovn-northbound", {"metadata": {"labels": {"app.kubernetes.io/part-of": None}}}, "x")
    ports = plane.get("Service", "ovn-nb")["spec"]["ports"]
    plane.patch("Service", "ovn-nb", {"spec": {"ports": [{**ports[0], "targetPort": 7000}]}}, "x")
    plane.remove("Service", "ovn-sb")
    drift = {"NetworkPolicy ovn-northbound": "changed", "Service ovn-nb": "changed", "Service ovn-sb": "created"}
    # Somebody set another port and so owns it. What is only missing needs no force.
    assert '"x" set .spec.ports' in plane(check=True, may_fail=True)["msg"]
    predicted = plane(check=True, force_conflicts=True)
    assert touched(predicted) == {**drift, **dict.fromkeys(LATER, "created")}
    assert predicted["diff"]["before"][f"Service {plane.namespace}/ovn-nb"]["spec"]["ports"][0]["targetPort"] == 7000
    assert touched(plane.late(force_conflicts=True)) == drift
    assert plane.get("Service", "ovn-nb")["spec"]["ports"] == ports
    assert plane.get("NetworkPolicy", "ovn-northbound")["metadata"]["labels"]["app.kubernetes.io/part-of"] == "ovn"


def test_another_manager_is_named_and_force_takes_over(plane: ControlPlane) -> None:
    plane.begin()
    plane.patch("PodDisruptionBudget", "ovn-northbound", {"spec": {"maxUnavailable": 2}}, manager="gitops")
    for check in (True, False):
        refused = plane(check=check, may_fail=True)
        assert refused.failed
        assert '"gitops"' in refused["msg"]
        assert "maxUnavailable" in refused["msg"]
        assert "force_conflicts" in refused["msg"]
    assert touched(plane.late(force_conflicts=True)) == {"PodDisruptionBudget ovn-northbound": "changed"}
    assert plane.get("PodDisruptionBudget", "ovn-northbound")["spec"]["maxUnavailable"] == 1


def test_a_definition_instead_of_a_specification(plane: ControlPlane) -> None:
    definition = {
        "apiVersion": "ovn.c5c3.io/v1alpha1",
        "kind": "OVNCluster",
        "metadata": {"name": "ovn", "namespace": plane.namespace, "labels": {"team": "network"}},
        "spec": SPEC,
    }
    plane.late(spec=None, definition=definition, namespace="ignored")
    plane.begin()
    plane.late(spec=None, definition=definition, namespace="ignored")
    resource = plane.get("OVNCluster", "ovn")
    assert resource["metadata"]["labels"]["team"] == "network"
    # Neither: what is there counts, and stays.
    assert touched(plane.late(spec=None)) == {}
    assert plane.get("OVNCluster", "ovn")["metadata"]["labels"]["team"] == "network"
    gone = plane(spec=None, definition=definition, namespace="ignored", state="absent")
    assert "OVNCluster ovn" in touched(gone)


SIZES = {"northbound": 3, "southbound": 1}
WHOLE = {**SPEC, **{database: {"replicas": size, "electionTimer": 2000} for database, size in SIZES.items()}}


@pytest.fixture
def kubelet(plane: ControlPlane, daemons: None, monkeypatch: pytest.MonkeyPatch) -> t.Iterator[Kubelet]:
    """Pods that run, on addresses of this host."""
    kubelet = Kubelet(plane.server, plane.namespace, SIZES)
    monkeypatch.setattr(_k8s, "Cluster", kubelet.cluster)
    monkeypatch.setattr(control_plane, "raft_address", kubelet.address)
    ports = dict(zip(SIZES, free_ports(2)))  # they listen on all addresses
    monkeypatch.setattr(settings, "PORTS", {database: Ports(port, 0) for database, port in ports.items()})
    yield kubelet
    kubelet.close()


def test_from_nothing_to_databases_that_run_and_stay_untouched(plane: ControlPlane, kubelet: Kubelet) -> None:
    """What was foreseen is what was done. Then nothing is written, and all of it costs less than a request an object."""
    options: dict[str, t.Any] = {"spec": WHOLE, "wait": False, "wait_timeout": 120}
    predicted = plane(check=True, **options)
    first = plane(**options)
    assert plane.ours().keys() - {"Lease ovn-run"} == {
        name for name in touched(predicted) if name.split()[0] not in ("Namespace", "CustomResourceDefinition")
    }
    assert first["steps"] == predicted["steps"]
    assert first["northbound"]["verdict"] == first["southbound"]["verdict"] == "healthy"
    for database, size in SIZES.items():
        record = plane.recorded(database)
        assert record["cid"] == kubelet.members[f"ovn-{database}-0"].cid
        assert record["permit"] is None
        assert [m["state"] for m in record["members"].values()] == ["confirmed"] * size
    assert first["cluster"]["status"]["conditions"]

    before = plane.ours()
    again = plane(**options)
    assert not again["changed"]
    assert again["steps"] == []
    assert plane.ours() == before
    assert again["requests"] <= len(again["objects"])

    kept = {name: member.cid for name, member in kubelet.members.items()}
    slower = {**WHOLE, "northbound": {"replicas": 3, "electionTimer": 3000}}
    changed = plane(**{**options, "spec": slower})
    assert touched(changed) == {"OVNCluster ovn": "changed"}
    assert changed["steps"] == ["northbound: change the election timer from 2000 to 3000 ms"]
    assert {name: member.cid for name, member in kubelet.members.items()} == kept


def test_what_is_cut_off_is_finished_and_a_lost_record_is_read_from_the_members(
    plane: ControlPlane, kubelet: Kubelet
) -> None:
    """Runs with too little time end in words. However many there are, they create one cluster."""
    options: dict[str, t.Any] = {"spec": WHOLE, "wait": False, "may_fail": True}
    for _attempt in range(20):
        ran = plane(**options, wait_timeout=2)
        if not ran.failed:
            break
        assert "run again" in ran["msg"].lower(), ran["msg"]
    assert not ran.failed, ran["msg"]
    cids = {database: kubelet.members[f"ovn-{database}-0"].cid for database in SIZES}
    assert {database: plane.recorded(database)["cid"] for database in SIZES} == cids
    assert len({member.cid for name, member in kubelet.members.items() if "north" in name}) == 1

    plane.remove("ConfigMap", "ovn-northbound-record")
    found = plane(**options, wait_timeout=60)
    assert not found.failed, found["msg"]
    assert plane.recorded("northbound")["cid"] == cids["northbound"]
    assert plane.recorded("northbound")["permit"] is None
    wrong = plane(**options, northbound_cluster_id=OTHER_CID)
    assert wrong.failed
    assert OTHER_CID in wrong["msg"]
    assert cids["northbound"] in wrong["msg"]


# --- what cannot work -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"definition": {"spec": SPEC}}, ["spec", "definition"]),
        ({"spec": None}, ["does not exist in namespace", "spec or definition"]),
        ({"spec": None, "definition": {"apiVersion": "v1", "kind": "ConfigMap"}}, ["not a ovn.c5c3.io/v1alpha1"]),
        ({"spec": {"northbound": {"replicas": 2}}}, ["spec.northbound.replicas"]),
        ({"spec": {"northbound": {"replica": 3}}}, ["spec.northbound.replica is no field", "replicas"]),
        ({"spec": {"southbound": {"storage": {"size": "many"}}}}, ["spec.southbound.storage.size", "many"]),
        ({"wait_timeout": 0}, ["wait_timeout"]),
        ({"kubeconfig": "/nowhere/kubeconfig"}, ["/nowhere/kubeconfig"]),
        ({"context": "of-nobody"}, ["of-nobody"]),
        ({"northbound_cluster_id": "no-uuid"}, ["northbound_cluster_id", "no-uuid"]),
    ],
    ids=lambda value: str(value)[:60] if isinstance(value, dict) else "",
)
def test_bad_input_changes_nothing(plane: ControlPlane, options: dict[str, t.Any], words: list[str]) -> None:
    refused = plane(may_fail=True, **options)
    assert refused.failed
    for word in words:
        assert word in refused["msg"]
    assert not refused.get("changed")
    assert plane.ours() == {}


def test_a_wrong_kubeconfig(plane: ControlPlane, tmp_path: pathlib.Path) -> None:
    broken = tmp_path / "kubeconfig"
    broken.write_text("this is: [not a kubeconfig")
    assert str(broken) in plane(may_fail=True, kubeconfig=str(broken))["msg"]
    with socket.create_server(("127.0.0.1", 0)) as gone:
        port = gone.getsockname()[1]
    config = json.loads(pathlib.Path(plane.server.kubeconfig).read_text())
    config["clusters"][0]["cluster"]["server"] = f"https://127.0.0.1:{port}"
    broken.write_text(json.dumps(config))
    assert f"{broken}: nobody answers" in plane(may_fail=True, kubeconfig=str(broken))["msg"]


def test_expired_credentials(plane: ControlPlane) -> None:
    refused = plane(may_fail=True, kubeconfig=plane.server.expired_kubeconfig)
    assert "does not accept the credentials" in refused["msg"]
    assert plane.ours() == {}


def test_a_user_with_too_few_rights(plane: ControlPlane) -> None:
    refused = plane(may_fail=True, kubeconfig=plane.server.low_kubeconfig)
    assert refused.failed
    assert 'role with the verb "' in refused["msg"]
    assert plane.ours() == {}


def test_a_namespace_that_the_user_may_not_create(plane: ControlPlane) -> None:
    """He may look at everything, and write into another namespace only."""
    group = "rbac.authorization.k8s.io"
    role = f"/apis/{group}/v1/clusterroles"
    binding = f"/apis/{group}/v1/clusterrolebindings"
    name = f"reads-{plane.namespace}"
    rules = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list"]}]
    plane.late()  # the kinds are there
    plane.server.request("POST", role, {"metadata": {"name": name}, "rules": rules})
    subject = {"apiGroup": group, "kind": "User", "name": "somebody"}
    reference = {"apiGroup": group, "kind": "ClusterRole", "name": name}
    plane.server.request("POST", binding, {"metadata": {"name": name}, "roleRef": reference, "subjects": [subject]})
    try:
        refused = plane(may_fail=True, kubeconfig=plane.server.low_kubeconfig, namespace=f"{plane.namespace}-forbidden")
    finally:
        for path in (binding, role):
            plane.server.request("DELETE", f"{path}/{name}")
    assert f"Namespace {plane.namespace}-forbidden" in refused["msg"]
    assert 'verb "patch"' in refused["msg"] or 'verb "create"' in refused["msg"]


def test_a_definition_of_a_newer_version_stays(plane: ControlPlane) -> None:
    plane.late()
    place = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/ovnclusters.ovn.c5c3.io"
    key = "ovn.c5c3.io/schema-revision"
    old = json.loads(plane.server.request("GET", place))["metadata"]["annotations"][key]
    plane.server.request("PATCH", place, {"metadata": {"annotations": {key: "999"}}})
    try:
        refused = plane(may_fail=True)
        assert "newer version" in refused["msg"]
        assert "ovnclusters.ovn.c5c3.io" in refused["msg"]
    finally:
        plane.server.request("PATCH", place, {"metadata": {"annotations": {key: old}}})


def test_volumes_do_not_shrink_but_grow(plane: ControlPlane) -> None:
    plane.late(spec={**SPEC, "northbound": {"storage": {"size": "2Gi"}}})
    plane.claim("northbound", 0)
    before = plane.ours()
    smaller = {**SPEC, "northbound": {"storage": {"size": "1Gi"}}}
    for check in (True, False):
        refused = plane(check=check, may_fail=True, spec=smaller)
        assert "data-ovn-northbound-0 has 2Gi, the specification says 1Gi" in refused["msg"]
    assert plane.ours() == before  # not even the custom resource
    elsewhere = {**SPEC, "northbound": {"storage": {"size": "2Gi", "storageClass": "fast"}}}
    plane.patch("PersistentVolumeClaim", "data-ovn-northbound-0", {"spec": {"storageClassName": "slow"}})
    refused = plane(check=True, may_fail=True, spec=elsewhere)
    assert "storage class slow, the specification says fast" in refused["msg"]
    larger = {**SPEC, "northbound": {"storage": {"size": "3Gi"}}}
    # There is no pod that could be asked, so the databases cannot be foreseen; the volume can.
    predicted = plane(check=True, may_fail=True, spec=larger)
    assert touched(predicted)["PersistentVolumeClaim data-ovn-northbound-0"] == "changed"


def test_the_api_server_freezes_midway(plane: ControlPlane) -> None:
    """Once the first objects are there, it accepts connections and says nothing. The next run finishes what was begun."""
    frozen = threading.Event()

    def freeze() -> None:
        until(lambda: "ServiceAccount ovn-northbound" in plane.ours(), "the first objects", timeout=60)
        plane.server.freeze()
        frozen.set()

    thread = threading.Thread(target=freeze)
    thread.start()
    try:
        refused = plane(may_fail=True)
        thread.join()
    finally:
        thread.join()
        plane.server.thaw()
    assert refused.failed
    assert plane.server.url in refused["msg"]
    assert "no answer" in refused["msg"] or "within" in refused["msg"], refused["msg"]
    assert refused.seconds < 60
    plane.late(break_lock=True)
    assert {"StatefulSet ovn-northbound", "StatefulSet ovn-southbound"} <= set(plane.ours())


# --- Lease and records ------------------------------------------------------------------------------------------------


def test_another_run_is_named(plane: ControlPlane) -> None:
    now = time.strftime("%Y-%m-%dT%H:%M:%S.000000Z", time.gmtime())
    manifest = {
        "metadata": {"name": "ovn-run", "annotations": {"ovn.c5c3.io/step": "restart ovn-northbound-1"}},
        "spec": {"holderIdentity": "somebody on host process 1", "leaseDurationSeconds": 600, "renewTime": now},
    }
    plane.server.request("POST", PLACES["Lease"].format(plane.namespace), manifest)
    plane.make("ServiceAccount", "ovn-left-over", labels=hypervisors())
    for state in ("present", "absent"):
        refused = plane(may_fail=True, state=state)
        for word in ("somebody on host process 1", "restart ovn-northbound-1", "break_lock", "ovn-run"):
            assert word in refused["msg"], state
    plane.remove("ServiceAccount", "ovn-left-over")
    assert plane.get("Lease", "ovn-run")["spec"]["holderIdentity"] == "somebody on host process 1"
    assert plane.ours() == {}
    plane.late(break_lock=True)
    assert not plane.get("Lease", "ovn-run")["spec"].get("holderIdentity")


def test_a_run_in_check_mode_takes_no_lease(plane: ControlPlane) -> None:
    plane.late()
    before = plane.get("Lease", "ovn-run")
    plane(check=True)
    assert plane.get("Lease", "ovn-run") == before


@pytest.mark.parametrize("check", [True, False])
def test_a_record_without_its_content_is_not_absent(plane: ControlPlane, check: bool) -> None:
    plane.record(data={"something": "else"})
    before = plane.ours()
    refused = plane(check=check, may_fail=True)
    assert "ConfigMap ovn-northbound-record" in refused["msg"]
    assert "no record.json" in refused["msg"]
    assert plane.ours() == before


def test_a_record_of_another_format_is_refused(plane: ControlPlane) -> None:
    plane.record(format=99)
    refused = plane(may_fail=True)
    assert "ConfigMap ovn-northbound-record" in refused["msg"]
    assert "another format" in refused["msg"]


def test_a_cluster_id_that_is_not_the_declared_one(plane: ControlPlane) -> None:
    plane.record(cid=CID)
    refused = plane(may_fail=True, northbound_cluster_id=OTHER_CID)
    assert CID in refused["msg"]
    assert OTHER_CID in refused["msg"]
    assert plane.recorded("northbound")["cid"] == CID


def test_a_recorded_cluster_is_never_created_again(plane: ControlPlane) -> None:
    """Its pods are gone, its id is known: they join or wait, and the record gives no permission."""
    plane.record(cid=CID)
    ran = plane(may_fail=True)
    assert ran.failed
    assert plane.recorded("northbound")["cid"] == CID
    assert plane.recorded("northbound")["permit"] is None
    assert not any("create the northbound" in step for step in ran.get("steps", []))


def test_an_open_permission_of_a_killed_run_is_used_again(plane: ControlPlane) -> None:
    permit = {"member": "ovn-northbound-0", "run": "a run that was killed", "time": "2026-01-01T00:00:00Z"}
    plane.record(permit=permit)
    plane.begin()
    assert plane.recorded("northbound")["permit"]["member"] == "ovn-northbound-0"
    assert plane.recorded("northbound")["cid"] is None


def confirmed_members(namespace: str) -> dict[str, t.Any]:
    names = [f"ovn-northbound-{index}" for index in range(3)]
    members = {
        name: {
            "address": f"tcp:{name}.ovn-northbound.{namespace}.svc.cluster.local:6643",
            "state": "confirmed",
            "sid": f"{name[-1]}1111111-1111-4111-8111-111111111111",
        }
        for name in names
    }
    return {"members": members}


def test_forbidden_bootstrap(plane: ControlPlane) -> None:
    refused = plane(may_fail=True, bootstrap="forbid")
    assert "bootstrap is forbid" in refused["msg"]
    assert plane.ours() == {}


def test_members_are_not_dropped_by_leaving_them_out(plane: ControlPlane) -> None:
    plane.record(cid=CID, **confirmed_members(plane.namespace))
    before = plane.ours()
    refused = plane(may_fail=True, spec={**SPEC, "northbound": {"replicas": 1}})
    assert "ovn-northbound-1, ovn-northbound-2 is a recorded member" in refused["msg"]
    assert plane.ours() == before


def test_a_record_on_hold_is_left_alone(plane: ControlPlane) -> None:
    plane.record(hold=True)
    before = plane.ours()
    assert "on hold" in plane(may_fail=True)["msg"]
    assert plane.ours() == before


def test_one_control_plane_a_namespace(plane: ControlPlane) -> None:
    plane.late()
    before = plane.ours()
    refused = plane(may_fail=True, name="other")
    assert f"Namespace {plane.namespace} has the OVNCluster ovn already" in refused["msg"]
    assert plane.ours() == before


# --- absent -----------------------------------------------------------------------------------------------------------


def test_absent_keeps_data_and_what_others_made(plane: ControlPlane) -> None:
    plane.late()
    plane.claim("northbound", 0)
    plane.claim("southbound", 0)
    theirs = {"app.kubernetes.io/instance": "other"}
    plane.make("ConfigMap", "theirs", labels=theirs, data={"a": "1"})
    plane.make("Service", "theirs", spec={"ports": [{"port": 1}]})
    plane.make("ConfigMap", "of-hypervisors", labels={**hypervisors(), "app.kubernetes.io/component": "ovs"})
    before = plane.ours()

    predicted = plane(check=True, state="absent")
    assert plane.ours() == before
    gone = plane(state="absent")
    assert actions(gone) == actions(predicted)
    assert gone["changed"]
    data = [
        "ConfigMap ovn-northbound-record",
        "ConfigMap ovn-southbound-record",
        "PersistentVolumeClaim data-ovn-northbound-0",
        "PersistentVolumeClaim data-ovn-southbound-0",
    ]
    assert gone["kept"] == data
    assert set(plane.ours()) == {"ConfigMap of-hypervisors", *data[:2]}
    assert plane.get("ConfigMap", "theirs")["data"] == {"a": "1"}
    assert plane.get("Service", "theirs")
    again = plane(state="absent")
    assert not again["changed"]
    assert again["kept"] == data

    everything = plane(state="absent", delete_data=True)
    assert sorted(touched(everything)) == data
    assert everything["kept"] == []
    assert set(plane.ours()) == {"ConfigMap of-hypervisors"}
    assert not plane(state="absent", delete_data=True)["changed"]
    assert plane.get("ConfigMap", "theirs")


def test_absent_without_anything(plane: ControlPlane) -> None:
    assert not plane(state="absent", namespace=f"{plane.namespace}-nowhere")["changed"]


def test_after_absent_the_same_cluster_is_expected(plane: ControlPlane) -> None:
    plane.record("northbound", cid=CID)
    plane(may_fail=True)
    plane.claim("northbound", 0)
    plane(state="absent")
    assert plane.recorded("northbound")["cid"] == CID
    ran = plane(check=True, may_fail=True)
    assert not any("create the northbound" in step for step in ran.get("steps", []))


def hypervisors() -> dict[str, str]:
    return {
        "app.kubernetes.io/name": "ovn",
        "app.kubernetes.io/instance": "ovn",
        "app.kubernetes.io/managed-by": "c5c3.ovn",
    }


# --- information ------------------------------------------------------------------------------------------------------


def test_info_without_a_control_plane(plane: ControlPlane) -> None:
    nothing = plane.info()
    assert nothing["exists"] is False
    assert nothing["endpoints"] == {f"{d}bound{s}": "" for d in ("north", "south") for s in ("", "_inside")}
    assert nothing["cluster"] == {}


def test_info_of_one_that_is_not_exposed(plane: ControlPlane) -> None:
    plane.late()
    found = plane.info()
    assert found["exists"] is True
    assert found["tls_secret"] == ""
    names = [f"ovn-northbound-{n}.ovn-northbound.{plane.namespace}.svc.cluster.local" for n in range(3)]
    assert found["endpoints"]["northbound"] == ",".join(f"tcp:{name}:6641" for name in names)
    assert found["endpoints"]["northbound"] == found["endpoints"]["northbound_inside"]


def test_info_of_node_ports(plane: ControlPlane) -> None:
    spec = {"southbound": {"service": {"type": "NodePort"}}, "tls": {"certSecretRef": {"name": "tls"}}}
    plane.late(spec=spec)
    content = {"ca.crt": "Q0E=", "tls.crt": "eA==", "tls.key": "eA=="}
    plane.make("Secret", "tls", data=content)
    nodes = [f"info-{plane.namespace}-{n}" for n in range(3)]
    for number, name in enumerate(nodes):
        status = {
            "addresses": [{"type": "InternalIP", "address": f"192.0.2.{10 + number}"}],
            "conditions": [{"type": "Ready", "status": "True"}],
        }
        plane.server.request("POST", "/api/v1/nodes", {"metadata": {"name": name}, "status": status})
    try:
        found = plane.info()
    finally:
        for name in nodes:
            plane.server.request("DELETE", f"/api/v1/nodes/{name}")
    ports = [plane.get("Service", f"ovn-southbound-{n}")["spec"]["ports"][0]["nodePort"] for n in range(3)]
    assert found["endpoints"]["southbound"] == ",".join(f"ssl:192.0.2.{10 + n}:{ports[n]}" for n in range(3))
    assert found["endpoints"]["northbound"] == found["endpoints"]["northbound_inside"]
    assert found["tls_secret"] == "tls"
    assert found["ca_certificate"] == "CA"
    # Without nodes there is no way in from outside, and names that only pods know are no answer.
    endpoints = plane.info()["endpoints"]
    assert endpoints["southbound"] == ""
    assert endpoints["southbound_inside"]


def test_the_modules_as_ansible_runs_them(plane: ControlPlane, run_module: RunModule) -> None:
    options = {"kubeconfig": plane.server.kubeconfig, "namespace": plane.namespace}
    predicted = run_module("ovn_cluster", {**options, "spec": SPEC}, check=True)
    assert predicted["changed"]
    assert predicted["requests"] > 0
    assert run_module("ovn_cluster_info", options)["exists"] is False
