"""ovn_hypervisors and the rows of a real Southbound database: who registered, who has gone, and namesakes."""

from __future__ import annotations

import json
import pathlib
import threading
import time
import typing as t

from _hypervisors import HYPERVISOR, Hypervisors, actions
from conftest import MakeCluster, Pki, run


def sbctl(endpoint: str, *arguments: str) -> str:
    return run("ovn-sbctl", f"--db={endpoint}", "--timeout=20", *arguments).strip()


def test_status_follows_the_southbound_database(hypervisors: Hypervisors, raft_cluster: MakeCluster) -> None:
    southbound = raft_cluster(1, "southbound")
    (endpoint,) = southbound.endpoints
    hypervisors.node("worker-1", "192.0.2.21")
    hypervisors.node("worker-2", "192.0.2.22")
    hypervisors(southbound=[endpoint])
    ready = hypervisors.chassis()["worker-1"]["status"]["conditions"][0]
    assert (ready["type"], ready["status"], ready["reason"]) == ("Ready", "False", "NotRegistered")
    sbctl(endpoint, "chassis-add", "worker-1", "geneve", "192.0.2.21")
    sbctl(endpoint, "create", "Chassis_Private", "name=worker-1", "nb_cfg_timestamp=1700000000000")
    ran = hypervisors(southbound=[endpoint])
    assert not ran["changed"]
    assert {one["node"]: one["registered"] for one in ran["chassis"]} == {"worker-1": True, "worker-2": False}
    status = hypervisors.chassis()["worker-1"]["status"]
    assert status["conditions"][0]["status"] == "True"
    assert status["lastHeartbeat"] == "2023-11-14T22:13:20Z"
    assert status["registeredAt"]
    versions = hypervisors.versions()
    assert hypervisors(southbound=[endpoint])["requests"] <= 13
    assert hypervisors.versions() == versions


def test_chassis_that_others_have_outlived_is_not_ready_though_its_answer_is_recent(
    hypervisors: Hypervisors, raft_cluster: MakeCluster
) -> None:
    """As a run of the operator finds it that the observer has set off: the time to answer the last heartbeat is over, and an interval of 60 s is not."""
    (endpoint,) = raft_cluster(1, "southbound").endpoints
    now = round(time.time())
    for number, (heartbeat, age) in enumerate(((5, 31), (4, 70)), 1):
        name, address = f"worker-{number}", f"192.0.2.2{number}"
        hypervisors.node(name, address)
        sbctl(endpoint, "chassis-add", name, "geneve", address)
        stamp = (now - age) * 1000
        sbctl(endpoint, "create", "Chassis_Private", f"name={name}", f"nb_cfg={heartbeat}", f"nb_cfg_timestamp={stamp}")
    sbctl(endpoint, "set", "SB_Global", ".", "nb_cfg=5")
    hypervisors(southbound=[endpoint])
    ready = {name: one["status"]["conditions"][0] for name, one in hypervisors.chassis().items()}
    assert {name: (one["status"], one["reason"]) for name, one in ready.items()} == {
        "worker-1": ("True", "Registered"),
        "worker-2": ("False", "NoHeartbeat"),
    }


def test_the_database_is_asked_with_the_certificate_of_the_nodes(
    hypervisors: Hypervisors, raft_cluster: MakeCluster, pki: Pki
) -> None:
    """Without the Secret it is not asked at all, and nothing of it stays on the control node."""
    southbound = raft_cluster(1, "southbound", tls=True)
    run("ovn-sbctl", f"--db={southbound.members[0].socket}", "chassis-add", "worker-1", "geneve", "192.0.2.21")
    hypervisors.node("worker-1", "192.0.2.21")
    options = {"southbound": southbound.endpoints, "spec": {"tls": {"enabled": True}}}
    assert [one["registered"] for one in hypervisors(**options)["chassis"]] == [None]
    secrets = f"/api/v1/namespaces/{hypervisors.namespace}/secrets"
    hypervisors.server.request("POST", secrets, pki.issue("rack1").secret("ovn-tls"))
    assert [one["registered"] for one in hypervisors(**options)["chassis"]] == [True]
    # With a ConfigMap that is not there yet, too; then with its CAs, whatever the Secret has.
    trusted = {**options, "spec": {"tls": {"enabled": True, "caConfigMapRef": {"name": "trusted", "key": "all.pem"}}}}
    assert [one["registered"] for one in hypervisors(**trusted)["chassis"]] == [None]
    hypervisors.server.request("DELETE", f"{secrets}/ovn-tls")
    hypervisors.server.request("POST", secrets, pki.issue("rack1").secret("ovn-tls", "ca.crt"))
    config_map = {
        "metadata": {"name": "trusted"},
        "data": {"all.pem": pathlib.Path(pki.ca_certificate).read_text(encoding="utf-8")},
    }
    hypervisors.server.request("POST", secrets.replace("secrets", "configmaps"), config_map)
    assert [one["registered"] for one in hypervisors(**trusted)["chassis"]] == [True]


def test_a_removed_node_loses_row_and_resource(hypervisors: Hypervisors, raft_cluster: MakeCluster) -> None:
    southbound = raft_cluster(3, "southbound")
    endpoints = southbound.endpoints
    for number in (1, 2, 3):
        hypervisors.node(f"worker-{number}", f"192.0.2.2{number}")
    hypervisors(southbound=endpoints)
    every = ",".join(endpoints)
    for number in (1, 2, 3):
        sbctl(every, "chassis-add", f"worker-{number}", "geneve", f"192.0.2.2{number}")
    sbctl(every, "create", "Chassis_Private", "name=worker-3")
    member = ("--id=@h", "create", "HA_Chassis", "external_ids:chassis-name=worker-3")
    sbctl(every, *member, "--", "create", "HA_Chassis_Group", "name=lrp-a", "ha_chassis=@h")
    hypervisors.server.request("DELETE", "/api/v1/nodes/worker-3")
    hypervisors.server.request("PATCH", "/api/v1/nodes/worker-2", {"metadata": {"labels": dict.fromkeys(HYPERVISOR)}})
    predicted = hypervisors(southbound=endpoints, check=True)
    assert predicted["removed"] == ["worker-2", "worker-3"]
    assert len(sbctl(every, "--bare", "--columns=name", "list", "Chassis").split()) == 3
    done = hypervisors(southbound=endpoints)
    assert done["removed"] == ["worker-2", "worker-3"]
    assert actions(done) == actions(predicted)
    assert 'Chassis "worker-3" is not registered, but is still a gateway of lrp-a.' in str(done["warnings"])
    for table in ("Chassis", "Encap", "Chassis_Private"):
        assert "worker-3" not in sbctl(every, "list", table)
    assert sbctl(every, "--bare", "--columns=name", "list", "Chassis") == "worker-1"
    assert sorted(hypervisors.chassis()) == ["worker-1"]
    assert hypervisors.settings()["_nodes"] == {"worker-1": "worker-1"}
    assert not hypervisors(southbound=endpoints)["changed"]
    gone = hypervisors(southbound=endpoints, state="absent")
    assert gone["removed"] == ["worker-1"]


def test_a_namesake_in_another_cluster_is_refused(hypervisors: Hypervisors, raft_cluster: MakeCluster) -> None:
    (endpoint,) = raft_cluster(1, "southbound").endpoints
    sbctl(endpoint, "chassis-add", "worker-1", "geneve", "192.0.2.99")
    hypervisors.node("worker-1", "192.0.2.21")
    refused = hypervisors(southbound=[endpoint], may_fail=True)
    assert 'already has a chassis "worker-1"' in refused["msg"]
    assert "ovn.c5c3.io/system-id" in refused["msg"]
    assert not refused.get("objects")
    hypervisors.annotate("worker-1", system_id="rack2-worker-1")
    assert hypervisors(southbound=[endpoint])["changed"]


def test_rows_that_nobody_recorded_and_rows_of_others(hypervisors: Hypervisors, raft_cluster: MakeCluster) -> None:
    (endpoint,) = raft_cluster(1, "southbound").endpoints
    for number in (1, 2):
        hypervisors.node(f"worker-{number}", f"192.0.2.2{number}")
    hypervisors(southbound=[endpoint])
    (token,) = hypervisors.settings()["_default"]["cms_options"]
    assert token.startswith("c5c3-ovn-owner=")
    # One registered by its label; another cluster has a worker-2 since this one went.
    for name, ip, owner in (("worker-9", "192.0.2.29", token), ("worker-2", "192.0.2.99", "c5c3-ovn-owner=other")):
        sbctl(endpoint, "chassis-add", name, "geneve", ip)
        sbctl(endpoint, "set", "Chassis", name, f'other_config:ovn-cms-options="{owner}"')
    hypervisors.server.request("DELETE", "/api/v1/nodes/worker-2")
    ran = hypervisors(southbound=[endpoint])
    assert ran["removed"] == ["worker-9"]
    assert "of another Kubernetes cluster" in json.dumps(ran["warnings"])
    assert sbctl(endpoint, "--bare", "--columns=name", "list", "Chassis") == "worker-2"
    assert not hypervisors(southbound=[endpoint])["changed"]
    sbctl(endpoint, "chassis-add", "worker-8", "geneve", "192.0.2.28")
    sbctl(endpoint, "set", "Chassis", "worker-8", f'other_config:ovn-cms-options="{token}"')
    assert hypervisors(southbound=[endpoint], state="absent")["removed"] == ["worker-8"]


def test_a_pod_of_a_deleted_node_keeps_its_row(hypervisors: Hypervisors, raft_cluster: MakeCluster) -> None:
    (endpoint,) = raft_cluster(1, "southbound").endpoints
    for number in (1, 2):
        hypervisors.node(f"worker-{number}", f"192.0.2.2{number}")
    hypervisors(southbound=[endpoint])
    sbctl(endpoint, "chassis-add", "worker-2", "geneve", "192.0.2.22")
    labels = {
        "app.kubernetes.io/instance": "ovn",
        "app.kubernetes.io/managed-by": "c5c3.ovn",
        "app.kubernetes.io/component": "controller",
    }
    place = f"/api/v1/namespaces/{hypervisors.namespace}/pods"
    pod = {
        "metadata": {"name": "controller-abc", "labels": labels},
        "spec": {"nodeName": "worker-2", "containers": [{"name": "ovn-controller", "image": "nowhere/ovn:1"}]},
    }
    hypervisors.server.request("POST", place, pod)
    hypervisors.server.request("DELETE", "/api/v1/nodes/worker-2")
    ran = hypervisors(southbound=[endpoint])
    assert ran["removed"] == []
    assert "controller-abc is still there" in json.dumps(ran["warnings"])
    late = hypervisors(southbound=[endpoint], state="absent", wait=True, wait_timeout=3, may_fail=True)
    assert "Pods on 1 nodes had not ended within 3 s: worker-2" in late["msg"]
    assert late["requests"] < 50
    hypervisors.server.request("DELETE", f"{place}/controller-abc?gracePeriodSeconds=0")
    assert hypervisors(southbound=[endpoint])["removed"] == ["worker-2"]


def test_two_namespaces_of_one_cluster(hypervisors: Hypervisors) -> None:
    hypervisors.node("worker-1", "192.0.2.21", {"kind": "kernel"})
    hypervisors.node("worker-2", "192.0.2.22", {"kind": "user"})

    def selecting(kind: str) -> dict[str, t.Any]:
        return {part: {"nodeSelector": {"kind": kind}} for part in ("controller", "ovs")}

    other = f"{hypervisors.namespace}-2"
    hypervisors(spec=selecting("kernel"))
    hypervisors(spec=selecting("user"), namespace=other)
    assert not hypervisors(spec=selecting("kernel"))["changed"]
    assert sorted(hypervisors.chassis()) == ["worker-1", "worker-2"]
    refused = hypervisors(spec=selecting("kernel"), namespace=other, may_fail=True)
    assert f"Node worker-1 is a hypervisor of OVNCluster ovn in namespace {hypervisors.namespace}" in refused["msg"]
    hypervisors(state="absent", namespace=other)
    assert sorted(hypervisors.chassis()) == ["worker-1"]


def test_check_mode_tells_of_a_chassis_whose_address_is_not_known_yet(
    hypervisors: Hypervisors, raft_cluster: MakeCluster
) -> None:
    (endpoint,) = raft_cluster(1, "southbound").endpoints
    hypervisors.node("worker-1", "192.0.2.21")
    options = {"southbound": [endpoint], "spec": {"encapsulation": {"interface": "eth1"}}}
    predicted = hypervisors(check=True, wait=True, **options)
    assert actions(predicted)["OVNChassis worker-1"] == "created"
    without = hypervisors(**{**options, "southbound": ["tcp:127.0.0.1:1"]})
    assert "OVNChassis worker-1" not in actions(without)
    assert "1 nodes have no OVNChassis" in json.dumps(without["warnings"])


def register(endpoint: str, name: str, ip: str, token: str) -> None:
    """As an agent and its ovn-controller do it."""
    cms_options = f'other_config:ovn-cms-options="{token}"'
    sbctl(endpoint, "chassis-add", name, "geneve", ip, "--", "set", "Chassis", name, cms_options)


def test_addresses_that_only_the_nodes_know_are_noted_in_the_same_run(
    hypervisors: Hypervisors, raft_cluster: MakeCluster
) -> None:
    (endpoint,) = raft_cluster(1, "southbound").endpoints
    options = {"southbound": [endpoint], "spec": {"encapsulation": {"interface": "eth1"}}, "wait_timeout": 40}
    hypervisors.node("worker-1", "192.0.2.21")
    hypervisors(**options)
    (token,) = hypervisors.settings()["_default"]["cms_options"]
    hypervisors.pods_are_ready(3)
    before = hypervisors.generations()

    def run_twice(*changed: str) -> None:
        predicted = hypervisors(check=True, wait=True, **options)
        done = hypervisors(wait=True, **options)
        assert actions(done) == actions(predicted)
        assert sorted(name for name, action in actions(done).items() if action != "unchanged") == sorted(changed)
        versions = hypervisors.versions()
        again = hypervisors(wait=True, **options)
        assert not again["changed"], actions(again)
        assert again["requests"] <= 13
        assert hypervisors.versions() == versions

    # It registers while the run waits for it.
    predicted = hypervisors(check=True, wait=True, **options)
    threading.Timer(8, register, (endpoint, "worker-1", "198.51.100.21", token)).start()
    first = hypervisors(wait=True, **options)
    assert actions(first) == actions(predicted)
    assert hypervisors.settings()["_addresses"] == {"worker-1": ["198.51.100.21"]}
    assert not hypervisors(wait=True, **options)["changed"]
    # One that registered by its label.
    register(endpoint, "worker-2", "198.51.100.22", token)
    hypervisors.node("worker-2", "192.0.2.22")
    run_twice("ConfigMap ovn-chassis", "OVNChassis worker-2")
    assert hypervisors.settings()["_addresses"]["worker-2"] == ["198.51.100.22"]
    # It goes and comes back.
    hypervisors.server.request("DELETE", "/api/v1/nodes/worker-2")
    run_twice("ConfigMap ovn-chassis", "OVNChassis worker-2")
    assert sorted(hypervisors.settings()["_addresses"]) == ["worker-1"]
    register(endpoint, "worker-2", "198.51.100.23", token)
    hypervisors.node("worker-2", "192.0.2.22")
    run_twice("ConfigMap ovn-chassis", "OVNChassis worker-2")
    # It gets another address, which the former one must not outlive.
    sbctl(endpoint, "chassis-del", "worker-2")
    register(endpoint, "worker-2", "198.51.100.24", token)
    run_twice("ConfigMap ovn-chassis", "OVNChassis worker-2")
    assert hypervisors.settings()["_addresses"]["worker-2"] == ["198.51.100.24"]
    assert hypervisors.generations() == before, "no pod is replaced for it"


def test_the_address_of_a_namesake_is_never_noted(hypervisors: Hypervisors, raft_cluster: MakeCluster) -> None:
    """Or its row would count as ours later, and go with the node."""
    (endpoint,) = raft_cluster(1, "southbound").endpoints
    options = {"southbound": [endpoint], "spec": {"encapsulation": {"interface": "eth1"}}}
    hypervisors.node("worker-1", "192.0.2.21")
    hypervisors(**options)
    hypervisors.pods_are_ready(1)
    sbctl(endpoint, "chassis-add", "worker-1", "geneve", "198.51.100.99")
    refused = hypervisors(wait=True, wait_timeout=2, may_fail=True, **options)
    assert 'chassis "worker-1" of node worker-1: its row is not marked as ours yet' in refused["msg"]
    sbctl(endpoint, "chassis-del", "worker-1")
    register(endpoint, "worker-1", "198.51.100.99", "c5c3-ovn-owner=other")
    refused = hypervisors(wait=True, wait_timeout=2, may_fail=True, **options)
    assert 'chassis "worker-1" of node worker-1: its row is of another host' in refused["msg"]
    assert not hypervisors.settings()["_addresses"]
    assert hypervisors.chassis() == {}


def test_the_last_hypervisor(hypervisors: Hypervisors) -> None:
    hypervisors.node("worker-1", "192.0.2.21")
    hypervisors()
    hypervisors.server.request("PATCH", "/api/v1/nodes/worker-1", {"metadata": {"labels": dict.fromkeys(HYPERVISOR)}})
    assert "run with state: absent" in hypervisors(may_fail=True)["msg"]
    assert hypervisors(state="absent")["changed"]


def test_without_a_look_at_the_database_removed_chassis_stay_recorded(hypervisors: Hypervisors) -> None:
    hypervisors.node("worker-1", "192.0.2.21")
    hypervisors.node("worker-2", "192.0.2.22")
    hypervisors()
    hypervisors.server.request("DELETE", "/api/v1/nodes/worker-2")
    ran = hypervisors()
    assert "may be left there (worker-2)" in json.dumps(ran["warnings"])
    assert sorted(hypervisors.chassis()) == ["worker-1"]
    assert hypervisors.settings()["_nodes"] == {"worker-1": "worker-1", "worker-2": "worker-2"}


def test_a_new_system_id_is_refused(hypervisors: Hypervisors) -> None:
    hypervisors.node("worker-1", "192.0.2.21")
    hypervisors()
    hypervisors.annotate("worker-1", system_id="other")
    refused = hypervisors(may_fail=True)
    assert 'is the chassis "worker-1" and cannot become "other"' in refused["msg"]
