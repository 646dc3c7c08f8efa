"""ovn_hypervisors against a real API server, which has no nodes and no controllers."""

from __future__ import annotations

import json
import threading
import typing as t

import pytest
from _apiserver import ApiServer
from _hypervisors import API, HYPERVISOR, Hypervisors, actions
from conftest import until, within


def test_create_repeat_and_take_away(hypervisors: Hypervisors) -> None:
    hypervisors.node("worker-1", "192.0.2.21")
    hypervisors.node("worker-2", "192.0.2.22", gateway="true")
    hypervisors.node("control", "192.0.2.11", {})
    before = hypervisors.get("/api/v1/namespaces")["items"]
    predicted = hypervisors(check=True)
    assert predicted["changed"]
    assert hypervisors.get("/api/v1/namespaces")["items"] == before

    first = hypervisors()
    assert actions(first) == actions(predicted)
    # The kinds are the whole API server's: another test may have defined them before.
    assert {done for name, done in actions(first).items() if not name.startswith("CustomResource")} == {"created"}
    chassis = hypervisors.chassis()
    assert sorted(chassis) == ["worker-1", "worker-2"]
    node = hypervisors.get("/api/v1/nodes/worker-1")
    (owner,) = chassis["worker-1"]["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"], owner["uid"]) == ("Node", "worker-1", node["metadata"]["uid"])
    assert chassis["worker-1"]["spec"]["encapsulation"] == {"type": "geneve", "ip": "192.0.2.21"}
    settings = hypervisors.settings()
    assert settings["worker-2"] == {"gateway": True}
    assert settings["_nodes"] == {"worker-1": "worker-1", "worker-2": "worker-2"}
    assert "worker-1" not in settings

    versions = hypervisors.versions()
    again = hypervisors()
    assert not again["changed"]
    assert again["requests"] <= 13
    assert hypervisors.versions() == versions

    gone = hypervisors(state="absent")
    assert gone["changed"]
    assert hypervisors.chassis() == {}
    assert not hypervisors(state="absent")["changed"]


def test_the_agent_of_a_node_runs_from_its_own_image(hypervisors: Hypervisors) -> None:
    hypervisors.node("worker-1", "192.0.2.21")
    hypervisors(spec={"ovnImage": {"tag": "1"}, "agentImage": {"repository": "example.org/python"}})
    place = f"/apis/apps/v1/namespaces/{hypervisors.namespace}/daemonsets/ovn-controller"
    containers = hypervisors.get(place)["spec"]["template"]["spec"]["containers"]
    assert {one["name"]: one["image"] for one in containers} == {
        "ovn-controller": "ghcr.io/c5c3/ovn:1",
        "agent": "example.org/python:latest",
    }


def test_a_thousand_nodes_cost_one_request_for_each_change(hypervisors: Hypervisors) -> None:
    for number in range(1000):
        hypervisors.node(f"node-{number:04}", f"10.1.{number // 250}.{number % 250 + 1}")
    first = hypervisors()
    assert len(first["chassis"]) == 1000
    # Two looks, dry runs of what agents may do, and a renewal of the Lease every 20 seconds.
    assert first["requests"] <= 1000 + 60 + 2 * int(first.seconds // 20)
    again = hypervisors()
    assert not again["changed"]
    assert again["requests"] <= 13
    hypervisors.annotate("node-0007", bridge_mappings="physnet1:br-ex")
    one = hypervisors()
    assert {name: action for name, action in actions(one).items() if action != "unchanged"} == {
        "ConfigMap ovn-chassis": "changed",
        "OVNChassis node-0007": "changed",
    }
    # Two looks, and the Lease between and after them; a slow run renews it as well, which are two requests.
    assert one["requests"] <= 2 + 31 + 2 * int(one.seconds // 20)


def test_annotations_and_labels_of_a_node(hypervisors: Hypervisors) -> None:
    hypervisors.node("worker-1", "192.0.2.21")
    hypervisors.node(
        "worker-2",
        "192.0.2.22",
        {**HYPERVISOR, "gateway": "yes"},
        encapsulation_ip="198.51.100.22",
        system_id="chassis-2",
        bridge_mappings="physnet1:br-ex, physnet2:br-vlan:eth1+eth2",
        chassis_settings='{"monitor_all": true, "hostname": "worker-2.example.com"}',
    )
    spec = {
        "bridgeMappings": [{"physicalNetwork": "physnet1", "bridge": "br-ex"}],
        "gateway": {"nodeSelector": {"gateway": "yes"}},
    }
    text = json.dumps(hypervisors(spec=spec)["warnings"])
    assert "Bridges without a declared port on nodes worker-1, worker-2: br-ex (physnet1)." in text
    hypervisors.annotate("worker-1", gateway="true")
    text = json.dumps(hypervisors(check=True, spec={**spec, "bridgeMappings": []})["warnings"])
    assert "Gateways without a bridge mapping: nodes worker-1 (" in text
    hypervisors.annotate("worker-1", gateway=None)
    settings = hypervisors.settings()
    assert settings["_default"]["bridge_mappings"] == [{"physical_network": "physnet1", "bridge": "br-ex"}]
    assert settings["worker-2"] == {
        "bridge_mappings": [
            {"physical_network": "physnet1", "bridge": "br-ex"},
            {"physical_network": "physnet2", "bridge": "br-vlan", "ports": ["eth1", "eth2"]},
        ],
        "encapsulation": {"ip": ["198.51.100.22"]},
        "gateway": True,
        "hostname": "worker-2.example.com",
        "monitor_all": True,
        "system_id": "chassis-2",
    }
    chassis = hypervisors.chassis()["worker-2"]["spec"]
    assert chassis["systemId"] == "chassis-2"
    assert chassis["hostname"] == "worker-2.example.com"
    assert chassis["encapsulation"] == {"type": "geneve", "ip": "198.51.100.22"}
    assert chassis["bridgeMappings"][1]["ports"] == ["eth1", "eth2"]
    assert not hypervisors(spec=spec)["changed"]


def test_what_others_write_into_a_chassis_is_a_setting(hypervisors: Hypervisors) -> None:
    hypervisors.node("worker-1", "192.0.2.21")
    hypervisors()
    mappings = [{"physicalNetwork": "physnet9", "bridge": "br-nine"}]
    hypervisors.server.request("PATCH", f"{API}/worker-1?fieldManager=somebody", {"spec": {"bridgeMappings": mappings}})
    ran = hypervisors()
    assert actions(ran)["ConfigMap ovn-chassis"] == "changed"
    assert hypervisors.settings()["worker-1"] == {
        "bridge_mappings": [{"physical_network": "physnet9", "bridge": "br-nine"}]
    }
    assert hypervisors.chassis()["worker-1"]["spec"]["bridgeMappings"] == mappings
    assert not hypervisors()["changed"]


def test_drift_is_repaired(hypervisors: Hypervisors) -> None:
    hypervisors.node("worker-1", "192.0.2.21")
    hypervisors()
    place = f"/apis/apps/v1/namespaces/{hypervisors.namespace}/daemonsets/ovs"
    template = {"spec": {"template": {"spec": {"hostNetwork": False}}}}
    hypervisors.server.request("PATCH", f"{place}?fieldManager=c5c3.ovn", template)
    predicted = hypervisors(check=True)
    assert actions(predicted)["DaemonSet ovs"] == "changed"
    assert not hypervisors.get(place)["spec"]["template"]["spec"].get("hostNetwork")
    assert actions(hypervisors())["DaemonSet ovs"] == "changed"
    assert hypervisors.get(place)["spec"]["template"]["spec"]["hostNetwork"]


def test_another_manager_is_named(hypervisors: Hypervisors) -> None:
    hypervisors.node("worker-1", "192.0.2.21")
    hypervisors()
    place = f"/api/v1/namespaces/{hypervisors.namespace}/configmaps/ovn-config"
    hypervisors.server.request("PATCH", f"{place}?fieldManager=gitops", {"data": {"OvnSouth": "tcp:192.0.2.99:6642"}})
    refused = hypervisors(may_fail=True)
    assert refused.failed
    assert '"gitops"' in refused["msg"]
    assert "OvnSouth" in refused["msg"]
    assert hypervisors(force_conflicts=True)["changed"]
    assert hypervisors.get(place)["data"]["OvnSouth"] == "tcp:127.0.0.1:1"


@pytest.mark.parametrize(
    ("nodes", "options", "words"),
    [
        ([("a", "192.0.2.1", {}, {})], {}, "node-role.kubernetes.io/hypervisor= (spec.controller.nodeSelector)"),
        (
            [("a", "192.0.2.1", HYPERVISOR, {}), ("b", "192.0.2.1", HYPERVISOR, {})],
            {},
            "Nodes a and b have the same tunnel address 192.0.2.1",
        ),
        (
            [("a", "192.0.2.1", HYPERVISOR, {"system_id": "x"}), ("b", "192.0.2.2", HYPERVISOR, {"system_id": "x"})],
            {},
            'Nodes a and b have the same system id "x"',
        ),
        ([("a", "192.0.2.1", HYPERVISOR, {"gateway": "yes"})], {}, "Node a: annotation ovn.c5c3.io/gateway"),
        ([("a", "192.0.2.1", HYPERVISOR, {})], {"southbound": []}, "southbound is missing"),
        ([("a", "192.0.2.1", HYPERVISOR, {})], {"southbound": ["ssl:192.0.2.9:6642"]}, "spec.tls.enabled is false"),
        ([("a", "192.0.2.1", HYPERVISOR, {})], {"kubeconfig": "/nowhere"}, "/nowhere"),
        ([("a", "192.0.2.1", HYPERVISOR, {})], {"spec": {"ovs": {"datapathType": "dpdk"}}}, "spec.ovs.datapathType"),
    ],
)
def test_bad_input_changes_nothing(
    hypervisors: Hypervisors,
    nodes: list[tuple[str, str, dict[str, str], dict[str, str]]],
    options: dict[str, t.Any],
    words: str,
) -> None:
    for name, ip, labels, keys in nodes:
        hypervisors.node(name, ip, labels, **keys)
    refused = hypervisors(may_fail=True, **options)
    assert refused.failed
    assert words in refused["msg"]
    assert not refused.get("objects")
    assert hypervisors.get(f"/api/v1/namespaces/{hypervisors.namespace}/configmaps")["items"] == []


def test_a_definition_of_a_newer_version_stays(hypervisors: Hypervisors) -> None:
    hypervisors.node("worker-1", "192.0.2.21")
    hypervisors()
    place = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/ovnchassis.ovn.c5c3.io"
    key = "ovn.c5c3.io/schema-revision"
    old = hypervisors.get(place)["metadata"]["annotations"][key]
    hypervisors.server.request("PATCH", place, {"metadata": {"annotations": {key: "999"}}})
    try:
        refused = hypervisors(may_fail=True)
        assert "newer version" in refused["msg"]
    finally:
        hypervisors.server.request("PATCH", place, {"metadata": {"annotations": {key: old}}})


def event(hypervisors: Hypervisors, kind: str, name: str, reason: str, message: str) -> None:
    """A warning, as kubelets and controllers write them."""
    about = {"kind": kind, "name": name, "namespace": hypervisors.namespace}
    content = {
        "metadata": {"name": f"{name}.{reason.lower()}"},
        "type": "Warning",
        "involvedObject": about,
        "reason": reason,
        "message": message,
        "lastTimestamp": "2026-01-01T00:00:00Z",
    }
    hypervisors.server.request("POST", f"/api/v1/namespaces/{hypervisors.namespace}/events", content)


def test_the_time_is_kept_and_the_cause_is_reported(hypervisors: Hypervisors) -> None:
    """Nobody runs the pods here. One of them says what a pod without its image says, and so does its kubelet."""
    hypervisors.node("worker-1", "192.0.2.21")
    hypervisors()
    labels = {
        "app.kubernetes.io/instance": "ovn",
        "app.kubernetes.io/managed-by": "c5c3.ovn",
        "app.kubernetes.io/component": "ovs",
    }
    place = f"/api/v1/namespaces/{hypervisors.namespace}/pods"
    pod = {
        "metadata": {"name": "ovs-abc", "labels": labels},
        "spec": {"nodeName": "worker-1", "containers": [{"name": "ovs-vswitchd", "image": "nowhere/ovs:1"}]},
    }
    hypervisors.server.request("POST", place, pod)
    waiting = {"reason": "ImagePullBackOff", "message": "Back-off pulling image nowhere/ovs:1"}
    status = {
        "name": "ovs-vswitchd",
        "ready": False,
        "restartCount": 0,
        "image": "",
        "imageID": "",
        "state": {"waiting": waiting},
    }
    hypervisors.server.request("PATCH", f"{place}/ovs-abc/status", {"status": {"containerStatuses": [status]}})
    event(hypervisors, "Pod", "ovs-abc", "Failed", "Failed to pull image nowhere/ovs:1: not found")
    late = hypervisors(may_fail=True, wait=True, wait_timeout=1)
    assert late.failed
    for words in (
        "the controller of DaemonSets has not observed ovs yet",
        "Node worker-1: Container ovs-vswitchd of pod ovs-abc waits (ImagePullBackOff: Back-off pulling image nowhere/ovs:1)",
        "no pod of DaemonSet ovn-controller is there",
        "Kubernetes says: Pod ovs-abc: Failed to pull image nowhere/ovs:1: not found",
    ):
        assert words in late["msg"]


@pytest.fixture
def quota(hypervisors: Hypervisors) -> t.Iterator[t.Callable[[dict[str, str], dict[str, str]], None]]:
    """`quota(hard, used)`: what a controller would have counted."""
    place = f"/api/v1/namespaces/{hypervisors.namespace}/resourcequotas"

    def make(hard: dict[str, str], used: dict[str, str]) -> None:
        hypervisors.server.request("POST", place, {"metadata": {"name": "little"}, "spec": {"hard": hard}})
        hypervisors.server.request("PATCH", f"{place}/little/status", {"status": {"hard": hard, "used": used}})

    yield make
    hypervisors.server.request("DELETE", place)


def test_a_full_quota(hypervisors: Hypervisors, quota: t.Callable[[dict[str, str], dict[str, str]], None]) -> None:
    """One for objects stops the run itself, one for pods those who make them."""
    hypervisors.node("worker-1", "192.0.2.21")
    quota({"count/daemonsets.apps": "1"}, {"count/daemonsets.apps": "0"})
    refused = hypervisors(may_fail=True)
    for words in (
        f"DaemonSet {hypervisors.namespace}/ovn-controller",
        "exceeded quota: little",
        "Raise the ResourceQuota",
    ):
        assert words in refused["msg"]
    # All that was made before it: with the same manifests, and by the steps before.
    assert refused["changed"]
    assert actions(refused)["DaemonSet ovs"] == actions(refused)["ConfigMap ovn-chassis"] == "created"
    assert f"ConfigMap {hypervisors.namespace}/ovn-chassis" in refused["diff"]["after"]
    assert {
        f"DaemonSet {hypervisors.namespace}/ovs created",
        f"ConfigMap {hypervisors.namespace}/ovn-chassis created",
    } <= {*refused["done"]}
    hypervisors.server.request("DELETE", f"/api/v1/namespaces/{hypervisors.namespace}/resourcequotas/little")
    finished = actions(hypervisors())
    assert (finished["DaemonSet ovs"], finished["DaemonSet ovn-controller"]) == ("unchanged", "created")
    message = 'Error creating: pods "ovs-abc" is forbidden: exceeded quota: little, requested: pods=1'
    event(hypervisors, "DaemonSet", "ovs", "FailedCreate", message)
    late = hypervisors(may_fail=True, wait=True, wait_timeout=1)
    assert "Node worker-1: no pod of DaemonSet ovs is there" in late["msg"]
    assert f"Kubernetes says: DaemonSet ovs: {message}" in late["msg"]


def test_the_api_server_freezes_midway(hypervisors: Hypervisors) -> None:
    """After the first chassis it accepts connections and says nothing. The next run finishes what was begun."""
    server = hypervisors.server
    for number in range(400):
        hypervisors.node(f"node-{number:03}", f"10.1.{number // 250}.{number % 250 + 1}")

    def freeze() -> None:
        path = "/apis/ovn.c5c3.io/v1alpha1/ovnchassis/node-000"
        until(lambda: _there(server, path), "the first chassis", timeout=60)
        server.freeze()

    thread = threading.Thread(target=freeze)
    thread.start()
    try:
        cut = hypervisors(may_fail=True)
    finally:
        thread.join()
        server.thaw()
    assert cut.failed
    assert "OVNChassis node-" in cut["msg"]
    assert server.url in cut["msg"]
    made = len(hypervisors.chassis())
    assert 0 < made < 400
    # Nobody could release the Lease, but its holder has ended on this machine, so nobody waits for it.
    finished = actions(hypervisors())
    assert len(hypervisors.chassis()) == 400
    created = sum(action == "created" for name, action in finished.items() if name.startswith("OVNChassis"))
    assert created in (400 - made, 400 - made - 1)  # the one whose answer nobody waited for may have come late
    assert not hypervisors()["changed"]


def _there(server: ApiServer, path: str) -> bool:
    try:
        server.request("GET", path)
    except OSError:
        return False
    return True


def test_the_api_server_goes_while_pods_are_awaited(hypervisors: Hypervisors) -> None:
    server = hypervisors.server
    hypervisors.node("worker-1", "192.0.2.21")
    hypervisors()
    killer = threading.Timer(min(within(10), 30), server.kill)  # before the run gives up
    killer.start()
    try:
        cut = hypervisors(may_fail=True, wait=True, wait_timeout=60)
    finally:
        killer.join()
        server.restart()
    assert cut.failed
    assert server.url in cut["msg"]
    assert "DaemonSet" in cut["msg"]
    hypervisors.pods_are_ready(1)
    assert not hypervisors(wait=True)["changed"]
