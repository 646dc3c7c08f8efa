"""The table of rights against a real API server: with exactly these, and no others, the modules do all that they do."""

from __future__ import annotations

import contextlib
import copy
import threading
import typing as t

import _control_plane
import _rights
import pytest
from _apiserver import ApiServer
from _control_plane import WHOLE, ControlPlane
from _hypervisors import API, HYPERVISOR, READY
from _pods_on_api import Kubelet
from _rights import Access, Operator, Requests
from conftest import until, within
from example_rights import preparation_role, roles, status_agent_role

from ansible_collections.c5c3.ovn.plugins.module_utils._api.crds import custom_resource_definitions
from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import OvnError
from ansible_collections.c5c3.ovn.plugins.module_utils._control_plane import pod_steps
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.access_review import denied_accesses
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.client import Cluster
from ansible_collections.c5c3.ovn.plugins.module_utils._precheck.finding import Kind
from ansible_collections.c5c3.ovn.plugins.module_utils._precheck.rights import (
    RIGHTS,
    Right,
    questions_of,
    status_agent_rights,
)
from ansible_collections.c5c3.ovn.plugins.modules import ovn_hypervisors

plane, kubelet, operator = _control_plane.plane, _control_plane.kubelet, _rights.operator  # fixtures

# What the run of each test below has no reason to ask for.
PKI = {("", "secrets", "get"), ("", "secrets", "create"), ("", "secrets", "patch")}
PRECHECK = {("", "resourcequotas", "list"), ("", "limitranges", "list")}
COMMANDS = {("", "pods/exec", "get"), ("", "pods/exec", "create")}  # where nobody runs pods
MISSING_NAMESPACE = {("", "namespaces", "create"), ("", "namespaces", "patch")}
EXPLAINING = {("", "events", "list"), ("apps", "replicasets", "list")}  # of what does not start
WAITING = {
    ("apps", kind, verb) for kind, verb in (("deployments", "get"), ("deployments", "watch"), ("daemonsets", "watch"))
}
CONFLICTS = {
    ("", "configmaps", "get"),
    ("", "pods", "get"),
    ("", "pods", "delete"),
    ("", "persistentvolumeclaims", "get"),
}
VOLUMES = {("storage.k8s.io", "storageclasses", "get"), ("storage.k8s.io", "storageclasses", "list")}
GRANTED = {  # to the observer and to northd, without any use of its own
    ("", "pods", "watch"),
    ("", "pods/status", "patch"),
    ("apps", "statefulsets", "watch"),
    ("ovn.c5c3.io", "ovnclusters", "watch"),
    ("ovn.c5c3.io", "ovnclusters/status", "get"),
}
CONTROLLER_LABELS = {"instance": "ovn", "managed-by": "c5c3.ovn", "component": "controller"}
OWNERS = {("ovn.c5c3.io", "ovnclusters/finalizers", "update")}


def controller_pod(node: str) -> dict[str, t.Any]:
    labels = {f"app.kubernetes.io/{name}": value for name, value in CONTROLLER_LABELS.items()}
    containers = [{"name": "ovn-controller", "image": "nowhere/ovn:1"}]
    return {
        "metadata": {"name": "controller", "labels": labels},
        "spec": {"nodeName": node, "containers": containers},
    }


def table(kind: Kind) -> set[Access]:
    return accesses_of(RIGHTS[kind])


def accesses_of(rights: t.Iterable[Right]) -> set[Access]:
    return {(right.group, right.resource, verb) for right in rights for verb in right.verbs}


def outdate_definitions(server: ApiServer) -> None:
    """They belong to the whole API server, so another test may have made them: then a run has to repair them."""
    for manifest in custom_resource_definitions():
        place = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{manifest['metadata']['name']}"
        with contextlib.suppress(OSError):
            server.request("PATCH", place, {"metadata": {"labels": {"app.kubernetes.io/name": None}}})


def test_a_control_plane_with_exactly_these_rights(
    plane: ControlPlane, kubelet: Kubelet, operator: Operator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Created, restarted, pruned, and deleted with its data. After the first run without the right to write definitions."""
    preparation = preparation_role("cluster", f"{operator.name}-preparation")
    operator.grant(*roles("cluster", operator.name, plane.namespace), preparation)
    operator.await_rights("cluster", plane.namespace)
    outdate_definitions(plane.server)
    kubelet.asks_for_commands = True
    requests = Requests(monkeypatch)
    options: dict[str, t.Any] = {"kubeconfig": operator.kubeconfig, "wait": False, "wait_timeout": 120}
    spec = copy.deepcopy(WHOLE)
    for database in ("northbound", "southbound"):
        spec[database]["service"] = {"type": "NodePort", "allowPlaintext": True}
    spec["neutronIntegration"] = {"sbConnection": {"allowedNamespaces": ["openstack"]}}
    spec["leaderProxy"] = {"enabled": True, "nodeSelector": {"kubernetes.io/os": "linux"}}

    # No events are read of a pod that a busy machine starts late.
    monkeypatch.setattr(pod_steps, "_FIRST_CHECK_SECONDS", 60)
    first = plane(spec=spec, **options)
    assert first["northbound"]["verdict"] == first["southbound"]["verdict"] == "healthy"
    operator.replace({**preparation, "rules": []})
    for database in ("northbound", "southbound"):
        spec[database]["resources"] = {"requests": {"cpu": "10m"}}
    second = plane(spec={**spec, "northd": {"replicas": 1}}, allow_outage=True, **options)
    assert any("restart" in step for step in second["steps"])
    gone = {f"{one['kind']} {one['name']}" for one in second["objects"] if one["action"] == "deleted"}
    assert gone == {"PodDisruptionBudget ovn-northd"}
    kubelet.sets.clear()
    for pod in kubelet.members:
        kubelet.ended(pod)  # as with the StatefulSets that are deleted now
    plane(spec=None, state="absent", delete_data=True, **options)

    assert requests.forbidden == []
    assert requests.accesses - table("cluster") == set()
    unused = table("cluster") - requests.accesses
    expected = PKI | PRECHECK | MISSING_NAMESPACE | EXPLAINING | WAITING | CONFLICTS | VOLUMES | GRANTED | OWNERS
    assert unused == expected


def test_hypervisors_with_exactly_these_rights_and_a_namespace_of_their_own_making(
    plane: ControlPlane, operator: Operator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rights in the namespace come from a ClusterRole, since it does not exist yet."""
    namespace = f"{plane.namespace}-new"
    cluster_role, role = roles("hypervisors", operator.name, namespace)
    everywhere = {**role, "kind": "ClusterRole", "metadata": {"name": f"{operator.name}-everywhere"}}
    preparation = preparation_role("hypervisors", f"{operator.name}-preparation")
    agents = status_agent_role(f"{operator.name}-agents", namespace)
    operator.grant(cluster_role, everywhere, preparation, agents)
    operator.await_denied([*RIGHTS["hypervisors"], *status_agent_rights(namespace)], namespace, set())
    for name, ip in (("worker-1", "192.0.2.21"), ("worker-2", "192.0.2.22")):
        status = {"addresses": [{"type": "InternalIP", "address": ip}], "conditions": READY}
        plane.server.request(
            "POST", "/api/v1/nodes", {"metadata": {"name": name, "labels": HYPERVISOR}, "status": status}
        )
    outdate_definitions(plane.server)
    requests = Requests(monkeypatch)

    def run(**more: t.Any) -> t.Any:
        options = {
            "kubeconfig": operator.kubeconfig,
            "namespace": namespace,
            "southbound": ["tcp:127.0.0.1:1"],
            "wait": False,
        }
        return plane.module(
            ovn_hypervisors, {**options, "spec": {"tls": {"enabled": False}}, **more}, False, more.get("wait", False)
        )

    try:
        assert len(run()["chassis"]) == 2
        plane.server.request(
            "PATCH", "/api/v1/nodes/worker-2", {"metadata": {"labels": {next(iter(HYPERVISOR)): None}}}
        )
        mappings = [{"physicalNetwork": "physnet1", "bridge": "br-ex"}]
        assert (
            "were not ready, with no progress for"
            in run(wait=True, wait_timeout=2, spec={"tls": {"enabled": False}, "bridgeMappings": mappings})["msg"]
        )
        # A pod that ends while it is waited for, which is what a watch is for
        pod = f"/api/v1/namespaces/{namespace}/pods"
        plane.server.request("POST", pod, controller_pod("worker-1"))
        ends = threading.Timer(within(3), plane.server.request, ["DELETE", f"{pod}/controller?gracePeriodSeconds=0"])
        ends.start()
        assert run(state="absent", wait=True, wait_timeout=within(60))["changed"]
        ends.join()
    finally:
        for path in ("/api/v1/nodes", API):
            plane.server.request("DELETE", path)
    # Deleting looks for the rights of node certificates, which this user cannot have made, and goes on.
    assert [refused for refused in requests.forbidden if "c5c3-ovn-certificates-" not in refused] == []
    granted = table("hypervisors") | accesses_of(status_agent_rights(namespace))
    looked_for = {("rbac.authorization.k8s.io", kind, "get") for kind in ("clusterroles", "clusterrolebindings")}
    assert requests.accesses - granted <= looked_for
    # Nobody runs pods here, so there are none whose settings would have to be updated at once, and no status that follows them.
    no_pods = {("", "pods", "patch"), *(("ovn.c5c3.io", "ovnchassis/status", verb) for verb in ("get", "patch"))}
    no_pods.add(("ovn.c5c3.io", "ovnchassis", "watch"))  # of the observer, to which the run grants it
    assert granted - requests.accesses == PKI | PRECHECK | COMMANDS | no_pods


@pytest.mark.parametrize("kind", ["cluster", "hypervisors"])
def test_each_verb_that_is_missing_is_found_and_no_other(operator: Operator, namespace: str, kind: Kind) -> None:
    """With the whole table but one verb of one resource, for each of them."""
    granted = [*roles(kind, operator.name, namespace), preparation_role(kind, f"{operator.name}-preparation")]
    operator.grant(*granted)
    operator.await_rights(kind, namespace)
    assert len(list(operator.without_each_verb(granted, RIGHTS[kind], namespace))) > len(RIGHTS[kind])


def test_an_owner_needs_the_right_on_its_finalizers(plane: ControlPlane, operator: Operator) -> None:
    """Where OwnerReferencesPermissionEnforcement is on, as it is here. Without it all others are enough, so it is an optional one."""
    cluster_role, role = roles("cluster", operator.name, plane.namespace)
    granted = copy.deepcopy(role)
    (rule,) = [rule for rule in granted["rules"] if rule["resources"] == ["ovnclusters/finalizers"]]
    rule["verbs"] = ["get"]
    operator.grant(cluster_role, granted, preparation_role("cluster", f"{operator.name}-preparation"))
    operator.replace(role)
    operator.await_rights("cluster", plane.namespace)
    operator.replace(granted)
    cluster = operator.connect()
    asked = [one for right in RIGHTS["cluster"] for one in questions_of(right, plane.namespace)]
    until(lambda: len(denied_accesses(cluster, asked, plane.namespace)) == 1, "the right to be gone")
    refused = plane(may_fail=True, kubeconfig=operator.kubeconfig)
    assert "blockOwnerDeletion" in refused["msg"]
    operator.replace(role)
    operator.await_rights("cluster", plane.namespace)
    plane.late(kubeconfig=operator.kubeconfig)


def test_the_administrator_is_asked_once(api_server: ApiServer, namespace: str) -> None:
    cluster = Cluster({"kubeconfig": api_server.kubeconfig})
    before = cluster.requests
    questions = [one for right in RIGHTS["cluster"] for one in questions_of(right, namespace)]
    assert denied_accesses(cluster, questions, namespace) == []
    assert cluster.requests - before == 1


@pytest.mark.parametrize(
    ("verbs", "is_forbidden"),
    [
        pytest.param(["create"], True, id="create alone is not enough for a WebSocket"),
        pytest.param(["get", "create"], False, id="both"),
    ],
)
def test_a_command_in_a_pod_needs_get(operator: Operator, namespace: str, verbs: list[str], is_forbidden: bool) -> None:
    """The pod has no node, so the API server refuses the command itself, once it has looked at the rights."""
    container = {"name": "c", "image": "example.org/none:1"}
    place = f"/api/v1/namespaces/{namespace}/pods"
    operator.server.request("POST", place, {"metadata": {"name": "p"}, "spec": {"containers": [container]}})
    rules = [{"apiGroups": [""], "resources": ["pods/exec"], "verbs": verbs}]
    rules += [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list"]}]
    operator.grant({"kind": "Role", "metadata": {"name": operator.name, "namespace": namespace}, "rules": rules})
    cluster = operator.connect()
    until(lambda: _may_list(cluster, namespace), "the rights")
    with pytest.raises(OvnError) as refused:
        cluster.exec(namespace, "p", "c", ["true"])
    assert (refused.value.details.get("http_status") == 403) is is_forbidden, str(refused.value)


def _may_list(cluster: Cluster, namespace: str) -> bool:
    try:
        return cluster.list("v1", "ConfigMap", namespace) == []
    except OvnError:
        return False
