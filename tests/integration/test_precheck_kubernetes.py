"""ovn_precheck_kubernetes against a real API server: what it finds is what the API server then refuses, and it changes nothing."""

from __future__ import annotations

import contextlib
import json
import pathlib
import typing as t

import _control_plane
import pytest
from _apiserver import ApiServer
from _control_plane import PLACES, ControlPlane
from _hypervisors import API, HYPERVISOR, READY
from _rights import Operator
from conftest import Ran
from example_rights import preparation_role, roles, status_agent_role

from ansible_collections.c5c3.ovn.plugins.module_utils._api.spec import parse_spec
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.client import Cluster
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.command import ExecResult
from ansible_collections.c5c3.ovn.plugins.module_utils._precheck.creation import (
    control_plane_manifests,
    hypervisor_cluster_manifests,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._precheck.rights import RIGHTS, status_agent_rights
from ansible_collections.c5c3.ovn.plugins.modules import ovn_precheck_kubernetes

Object = dict[str, t.Any]
plane = _control_plane.plane  # fixture
SPEC = {"tls": {"enabled": False}}
SMALL = {**SPEC, "northbound": {"replicas": 1}, "southbound": {"replicas": 1}}
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
CLASSES = "/apis/storage.k8s.io/v1/storageclasses"


class Precheck:
    """`precheck(kind="cluster")`: what the module returns for the namespace of the test, as an administrator."""

    def __init__(self, plane: ControlPlane) -> None:
        self.plane, self.server, self.namespace = plane, plane.server, plane.namespace

    def __call__(self, kind: str = "cluster", check: bool = False, **options: t.Any) -> Ran:
        return self.plane.module(ovn_precheck_kubernetes, {"kind": kind, "spec": SPEC, **options}, check, False)

    def codes(self, kind: str = "cluster", **options: t.Any) -> dict[str, str]:
        """Code to object."""
        return {one["code"]: one["object"] for one in self(kind, **options)["findings"]}


@pytest.fixture
def precheck(plane: ControlPlane) -> t.Iterator[Precheck]:
    """A cluster with three good nodes and a default storage class; both belong to all tests, so they go again."""
    server = plane.server
    _clear(server)
    for number in (1, 2, 3):
        node(server, f"worker-{number}", f"192.0.2.{20 + number}")
    marks = {"storageclass.kubernetes.io/is-default-class": "true"}
    server.request(
        "POST", CLASSES, {"metadata": {"name": "fast", "annotations": marks}, "provisioner": "example.org/none"}
    )
    yield Precheck(plane)
    _clear(server)


def _clear(server: ApiServer) -> None:
    for path in ("/api/v1/nodes", API, CLASSES):
        with contextlib.suppress(OSError):
            server.request("DELETE", path)


def node(server: ApiServer, name: str, ip: str) -> None:
    addresses = [{"type": "InternalIP", "address": ip}] if ip else []
    status = {"addresses": addresses, "conditions": READY}
    server.request("POST", "/api/v1/nodes", {"metadata": {"name": name, "labels": HYPERVISOR}, "status": status})
    # The API server taints each new node; a controller would take that away from one that is ready.
    server.request("PATCH", f"/api/v1/nodes/{name}", {"spec": {"taints": None}})


def namespaces(server: ApiServer) -> list[t.Any]:
    """Without the version of the list, which grows with each Lease that the API server renews."""
    return json.loads(server.request("GET", "/api/v1/namespaces"))["items"]


@pytest.mark.parametrize("kind", ["cluster", "hypervisors"])
def test_a_good_cluster_costs_few_requests_and_no_change(precheck: Precheck, kind: str) -> None:
    before = namespaces(precheck.server), precheck.plane.ours()
    for check in (True, False):
        ran = precheck(kind, check=check)
        assert ran["findings"] == []
        assert not ran["changed"]
        assert ran["requests"] <= 18
        assert ran["facts"]["version"].startswith("v1.")
        assert ran["facts"]["user"] == "admin"
        assert ran["facts"]["missing_optional_rights"] == []
        # Nobody runs pods here, so no image can be asked.
        assert {one["cause"] for one in ran["facts"]["not_tested"]} == {"no pod of this image runs yet"}
    assert (namespaces(precheck.server), precheck.plane.ours()) == before


def test_a_namespace_that_does_not_exist_yet_is_no_finding(precheck: Precheck) -> None:
    for kind in ("cluster", "hypervisors"):
        assert precheck.codes(kind, namespace=f"{precheck.namespace}-new") == {}


def test_objects_of_a_rollout_are_no_finding(precheck: Precheck) -> None:
    precheck.plane.begin()
    assert precheck.codes() == {}
    assert precheck.codes(spec=None) == {}


def test_a_user_without_rights_gets_every_verb_of_the_table_named(
    precheck: Precheck, tmp_path: pathlib.Path, namespace: str
) -> None:
    nobody = Operator(precheck.server, f"nobody-{namespace}", tmp_path)
    for kind in RIGHTS:
        ran = precheck(kind, kubeconfig=nobody.kubeconfig, spec={})
        causes = {one["object"]: one["cause"] for one in ran["findings"]}
        assert {one["code"] for one in ran["findings"]} == {"permission_missing"}
        assert all(nobody.user in cause for cause in causes.values())
        for right in RIGHTS[kind]:
            if right.need in ("always", "secret", "own secret"):
                title = (
                    right.resource.replace("/", f".{right.group}/", 1)
                    if right.group and "/" in right.resource
                    else right.resource
                )
                title = f"{title}.{right.group}" if right.group and "/" not in right.resource else title
                (cause,) = [text for of, text in causes.items() if of.split()[0] == title]
                assert set(right.verbs) <= set(cause.partition(": ")[2].rstrip(".").split(", ")), (title, cause)
        assert {one["what"] for one in ran["facts"]["not_tested"]} >= {
            "namespace",
            "definitions",
            "nodes",
            "pods",
            "quotas",
        }


def test_with_the_roles_of_the_page_nothing_is_missing(
    precheck: Precheck, tmp_path: pathlib.Path, namespace: str
) -> None:
    operator = Operator(precheck.server, f"operator-{namespace}", tmp_path)
    for kind in RIGHTS:
        name = f"{kind}-{operator.name}"
        agents = [status_agent_role(f"{name}-agents", namespace)] if kind == "hypervisors" else []
        operator.grant(*roles(kind, name, namespace), preparation_role(kind, f"{name}-preparation"), *agents)
        operator.await_denied([*RIGHTS[kind], *(status_agent_rights(namespace) if agents else ())], namespace, set())
        ran = precheck(kind, kubeconfig=operator.kubeconfig, spec={})
        assert ran["findings"] == []
        assert ran["facts"]["missing_optional_rights"] == []
        assert {one["cause"] for one in ran["facts"]["not_tested"]} == {"no pod of this image runs yet"}


def test_a_namespace_that_is_being_deleted(precheck: Precheck) -> None:
    place = f"/api/v1/namespaces/{precheck.namespace}"
    precheck.server.request("DELETE", place)  # nobody here ends it
    assert precheck.codes() == {"namespace_terminating": f"Namespace {precheck.namespace}"}


@pytest.mark.parametrize("level", ["privileged", "baseline", "restricted"])
def test_pods_that_the_namespace_refuses(precheck: Precheck, level: str) -> None:
    """As the admission of the API server decides about our pods themselves."""
    labels = {"pod-security.kubernetes.io/enforce": level}
    precheck.server.request("PATCH", f"/api/v1/namespaces/{precheck.namespace}", {"metadata": {"labels": labels}})
    spec = parse_spec({}, name="ovn", namespace=precheck.namespace)
    manifests = {"cluster": control_plane_manifests(spec), "hypervisors": hypervisor_cluster_manifests(spec)}
    for kind, objects in manifests.items():
        refused = [
            one["metadata"]["name"]
            for one in objects
            if "template" in (one.get("spec") or {}) and not _is_admitted(precheck, one["spec"]["template"]["spec"])
        ]
        assert bool(refused) == ("namespace_pod_security" in precheck.codes(kind)), refused


def _is_admitted(precheck: Precheck, pod: Object) -> bool:
    # Claims are the controller's to mount, and other priority classes than the two that always exist are not used.
    volumes = [*pod["volumes"], {"name": "data", "emptyDir": {}}]
    manifest = {"metadata": {"generateName": "try-"}, "spec": {**pod, "volumes": volumes}}
    try:
        precheck.server.request("POST", f"{PLACES['Pod'].format(precheck.namespace)}?dryRun=All", manifest)
    except OSError as e:
        message = json.loads(t.cast(t.Any, e).read())["message"]
        assert "violates PodSecurity" in message, message
        return False
    return True


def test_definitions_of_a_newer_collection(precheck: Precheck) -> None:
    precheck.plane.begin()
    place, key = f"{CRDS}/ovnclusters.ovn.c5c3.io", "ovn.c5c3.io/schema-revision"
    before = json.loads(precheck.server.request("GET", place))["metadata"]["annotations"][key]
    precheck.server.request("PATCH", place, {"metadata": {"annotations": {key: "99"}}})
    try:
        assert precheck.codes() == {"definition_newer": "CustomResourceDefinition ovnclusters.ovn.c5c3.io"}
        assert "revision 99" in precheck.plane(may_fail=True)["msg"]  # so a run would be refused
        assert precheck.codes("hypervisors") == {}
    finally:
        precheck.server.request("PATCH", place, {"metadata": {"annotations": {key: before}}})


def test_storage_classes(precheck: Precheck) -> None:
    other = {**SPEC, "northbound": {"storage": {"storageClass": "none"}}}
    assert precheck.codes(spec=other) == {"storage_class_missing": "StorageClass none"}
    precheck.server.request("DELETE", CLASSES)
    assert precheck.codes() == {"storage_class_default_missing": f"OVNCluster {precheck.namespace}/ovn"}
    for database in ("northbound", "southbound"):
        for index in range(3):
            precheck.plane.claim(database, index)
    assert precheck.codes() == {}


def test_nodes_for_members(precheck: Precheck) -> None:
    precheck.server.request("PATCH", "/api/v1/nodes/worker-2", {"spec": {"unschedulable": True}})
    found = [one for one in precheck()["findings"] if one["object"] == "Northbound database"]
    assert [one["code"] for one in found] == ["nodes_too_few"]
    assert "worker-2 is cordoned" in found[0]["cause"]
    assert "2 (worker-1, worker-3)" in found[0]["cause"]
    assert precheck.codes(spec=SMALL) == {}


def test_nodes_of_hypervisors(precheck: Precheck) -> None:
    node(precheck.server, "worker-4", "192.0.2.21")
    node(precheck.server, "worker-5", "")
    keys = {"ovn.c5c3.io/gateway": "yes"}
    precheck.server.request("PATCH", "/api/v1/nodes/worker-3", {"metadata": {"annotations": keys}})
    assert precheck.codes("hypervisors") == {
        "node_address_duplicate": "Nodes worker-1, worker-4",
        "node_address_missing": "Node worker-5",
        "node_settings_invalid": "Node worker-3",
    }
    none = {**SPEC, "controller": {"nodeSelector": {"no": "node"}}}
    assert precheck.codes("hypervisors", spec=none) == {"nodes_selected_none": "spec.controller.nodeSelector"}


def test_quotas(precheck: Precheck) -> None:
    """Nobody here counts what is used, so the test says so."""
    hard = {"pods": "5", "persistentvolumeclaims": "1", "limits.memory": "1Ti"}
    made = precheck.plane.make("ResourceQuota", "small", spec={"hard": hard})
    place = precheck.plane.place("ResourceQuota", "small")
    precheck.server.request("PATCH", f"{place}/status", {"status": {"hard": hard, "used": dict.fromkeys(hard, "0")}})
    found = {one["code"]: one["cause"] for one in precheck(spec=SMALL)["findings"]}
    assert found.keys() == {"quota_exceeded", "quota_needs_resources"}
    assert "persistentvolumeclaims: 2 more needed, 1 left; pods: 6 more needed, 5 left" in found["quota_exceeded"]
    defaults = [{"type": "Container", "default": {"memory": "1Gi"}}]
    precheck.server.request(
        "POST",
        place.replace("resourcequotas/small", "limitranges"),
        {"metadata": {"name": "l"}, "spec": {"limits": defaults}},
    )
    assert precheck.codes(spec=SMALL) == {
        "quota_exceeded": f"ResourceQuota {precheck.namespace}/{made['metadata']['name']}"
    }


def test_the_secret_of_another_owner(precheck: Precheck) -> None:
    spec = {"tls": {"certSecretRef": {"name": "theirs"}}}
    where = f"Secret {precheck.namespace}/theirs"
    assert precheck.codes(spec=spec) == {}
    assert precheck.codes(spec=spec, own_secret=False) == {"secret_missing": where}
    precheck.plane.make("Secret", "theirs", data={"tls.crt": "eA=="})
    assert precheck.codes(spec=spec, own_secret=False) == {"secret_incomplete": where}
    precheck.plane.patch("Secret", "theirs", {"data": {"tls.key": "eA==", "ca.crt": "eA=="}})
    assert precheck.codes(spec=spec, own_secret=False) == {}


def test_a_specification_that_cannot_work_is_found_beside_the_rest(precheck: Precheck) -> None:
    precheck.server.request("DELETE", f"/api/v1/namespaces/{precheck.namespace}")
    found = precheck.codes(spec={"northbound": {"replicas": 2}})
    assert found.keys() == {"specification_invalid", "namespace_terminating"}


def test_an_api_server_that_cannot_be_asked(precheck: Precheck, tmp_path: pathlib.Path) -> None:
    expired = precheck(kubeconfig=precheck.server.expired_kubeconfig)
    assert [one["code"] for one in expired["findings"]] == ["api_credentials"]
    missing = precheck(kubeconfig=str(tmp_path / "none"))
    assert [(one["code"], one["object"]) for one in missing["findings"]] == [
        ("api_credentials", f"kubeconfig {tmp_path}/none")
    ]
    content = json.loads(pathlib.Path(precheck.server.kubeconfig).read_text())
    content["clusters"][0]["cluster"]["server"] = "https://127.0.0.1:1"
    nowhere = precheck(kubeconfig=content)
    assert [one["code"] for one in nowhere["findings"]] == ["api_unreachable"]


def test_an_image_is_asked_in_a_pod_that_runs_it(precheck: Precheck, monkeypatch: pytest.MonkeyPatch) -> None:
    """There are no kubelets: this process answers for the container, with the command that it would run."""
    image = {"repository": "example.org/ovn", "tag": "1"}
    container = {"name": "database", "image": "example.org/ovn:1"}
    precheck.plane.make("Pod", "ovn-northbound-0", spec={"containers": [container]})
    told = {"name": "database", "image": "", "imageID": "", "ready": True, "restartCount": 0, "state": {"running": {}}}
    precheck.plane.patch(
        "Pod", "ovn-northbound-0/status", {"status": {"phase": "Running", "containerStatuses": [told]}}
    )
    asked: list[tuple[str, str, str]] = []

    def execute(
        _self: Cluster, namespace: str, pod: str, name: str, _command: t.Sequence[str], **_more: t.Any
    ) -> ExecResult:
        asked.append((namespace, pod, name))
        return ExecResult(0, "ovsdb-tool\npython3>=3.9\n", "")

    monkeypatch.setattr(Cluster, "exec", execute)
    ran = precheck(spec=SMALL, images={"ovn": image})
    assert asked == [(precheck.namespace, "ovn-northbound-0", "database")]
    (found,) = ran["findings"]
    assert (found["code"], found["object"]) == ("image_incomplete", "Image example.org/ovn:1")
    assert "no ovsdb-tool," in found["cause"]
    (fact,) = ran["facts"]["images"]
    assert fact["missing"] == ["ovsdb-tool", "python3>=3.9"]
    labels, proxy = fact["without"]
    assert "labels" in labels
    assert "no leader proxy" in proxy
    assert ran["facts"]["not_tested"] == []
