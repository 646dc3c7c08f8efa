"""OVNChassis of machines beside those of nodes, on a real API server, with the status from a real Southbound database."""

from __future__ import annotations

import contextlib
import json
import typing as t

import pytest
from _apiserver import ApiServer
from _hypervisors import API, HYPERVISOR, READY
from conftest import MakeCluster, RunModule, run

Object = dict[str, t.Any]

pytestmark = pytest.mark.timeout(180)
ONE: Object = {
    "name": "compute1",
    "hostname": "compute1.example",
    "encapsulation_ip": ["198.51.100.21"],
    "bridge_mappings": [{"physical_network": "physnet1", "bridge": "br-ex", "ports": ["eth1"]}],
}
TWO: Object = {
    "name": "compute2",
    "hostname": "compute2.example",
    "encapsulation_ip": ["198.51.100.22"],
    "encapsulation_type": ["vxlan"],
    "system_id": "two",
}


class Resources:
    """The module, and what it leaves."""

    def __init__(self, server: ApiServer, run_module: RunModule, southbound: str) -> None:
        self.server, self.run_module, self.southbound = server, run_module, southbound

    def __call__(self, *chassis: Object, **options: t.Any) -> t.Any:
        check, may_fail = options.pop("check", False), options.pop("may_fail", False)
        given = {
            "kubeconfig": self.server.kubeconfig,
            "southbound": [self.southbound],
            "chassis": list(chassis),
            **options,
        }
        return self.run_module("ovn_chassis_resources", given, check=check, may_fail=may_fail)

    def nodes(self, namespace: str, **options: t.Any) -> t.Any:
        may_fail = options.pop("may_fail", False)
        given = {
            "kubeconfig": self.server.kubeconfig,
            "namespace": namespace,
            "southbound": ["tcp:127.0.0.1:1"],
            "spec": {"tls": {"enabled": False}},
            "wait": False,
            **options,
        }
        return self.run_module("ovn_hypervisors", given, may_fail=may_fail)

    def found(self) -> dict[str, Object]:
        with contextlib.suppress(OSError):
            return {one["metadata"]["name"]: one for one in json.loads(self.server.request("GET", API))["items"]}
        return {}

    def actions(self, ran: t.Any) -> dict[str, str]:
        return {one["name"]: one["action"] for one in ran["objects"] if one["kind"] == "OVNChassis"}


@pytest.fixture
def southbound(raft_cluster: MakeCluster) -> str:
    (socket,) = raft_cluster(1, "southbound").sockets
    return socket


@pytest.fixture
def resources(api_server: ApiServer, run_module: RunModule, southbound: str) -> t.Iterator[Resources]:
    def clear() -> None:
        for path in ("/api/v1/nodes", API):
            with contextlib.suppress(OSError):  # the kind may not be defined
                api_server.request("DELETE", path)

    clear()
    yield Resources(api_server, run_module, southbound)
    clear()


def register(southbound: str, name: str, ip: str, nb_cfg: int = 0) -> None:
    run("ovn-sbctl", f"--db={southbound}", "--timeout=20", "chassis-add", name, "geneve", ip)
    run("ovn-sbctl", f"--db={southbound}", "--timeout=20", "set", "Chassis", name, f"hostname={name}.example")
    run(
        "ovn-sbctl",
        f"--db={southbound}",
        "--timeout=20",
        "create",
        "Chassis_Private",
        f"name={name}",
        f"nb_cfg={nb_cfg}",
    )


def conditions(resource: Object) -> dict[str, tuple[str, str]]:
    return {one["type"]: (one["status"], one["reason"]) for one in resource["status"]["conditions"]}


def test_machines_have_objects_that_follow_the_inventory(resources: Resources, southbound: str) -> None:
    register(southbound, "compute1", "198.51.100.21")
    predicted = resources(ONE, TWO, check=True)
    assert resources.actions(predicted) == {"compute1": "created", "compute2": "created"}
    assert resources.found() == {}

    first = resources(ONE, TWO)
    assert resources.actions(first) == resources.actions(predicted)
    found = resources.found()
    assert found["compute1"]["spec"] == {
        "hostname": "compute1.example",  # as it has registered
        "systemId": "compute1",
        "bridgeMappings": [{"physicalNetwork": "physnet1", "bridge": "br-ex", "ports": ["eth1"]}],
        "encapsulation": {"type": "geneve", "ip": "198.51.100.21"},
    }
    assert found["compute2"]["spec"]["systemId"] == "two"
    assert found["compute2"]["spec"]["encapsulation"] == {"type": "vxlan", "ip": "198.51.100.22"}
    for name, one in found.items():
        assert "ownerReferences" not in one["metadata"]
        assert one["metadata"]["labels"]["ovn.c5c3.io/machine"] == name
    assert conditions(found["compute1"]) == {"Ready": ("True", "Registered"), "OVSConnected": ("True", "Registered")}
    assert conditions(found["compute2"]) == {
        "Ready": ("False", "NotRegistered"),
        "OVSConnected": ("Unknown", "NotSeen"),
    }

    again = resources(ONE, TWO)
    assert not again["changed"]
    assert again["requests"] == 2  # definition and list
    assert resources.found() == found

    run("ovn-sbctl", f"--db={southbound}", "--timeout=20", "--", "init", "--", "set", "SB_Global", ".", "nb_cfg=7")
    resources(ONE)
    silent = resources.found()["compute1"]
    assert conditions(silent)["Ready"] == ("False", "NoHeartbeat")
    assert (
        "journalctl -u c5c3-ovn-controller"
        in next(c for c in silent["status"]["conditions"] if c["type"] == "Ready")["message"]
    )

    edited = {**ONE, "bridge_mappings": []}
    assert resources.actions(resources(edited, check=True)) == {"compute1": "changed"}
    assert resources.actions(resources(edited)) == {"compute1": "changed"}
    assert "bridgeMappings" not in resources.found()["compute1"]["spec"]
    assert not resources(edited)["changed"]

    gone = {**TWO, "state": "absent"}
    assert resources.actions(resources(edited, gone, check=True))["compute2"] == "deleted"
    assert resources.actions(resources(edited, gone)) == {"compute1": "unchanged", "compute2": "deleted"}
    assert resources.found().keys() == {"compute1"}
    assert not resources(edited, gone)["changed"]


def test_neither_removes_those_of_the_other(resources: Resources, namespace: str) -> None:
    status = {"addresses": [{"type": "InternalIP", "address": "192.0.2.21"}], "conditions": READY}
    node = {"metadata": {"name": "worker-1", "labels": HYPERVISOR}, "status": status}
    resources.server.request("POST", "/api/v1/nodes", node)
    resources(ONE)
    machine = resources.found()["compute1"]
    resources.nodes(namespace)
    assert resources.found().keys() == {"compute1", "worker-1"}
    assert resources.found()["compute1"] == machine
    assert not resources(ONE)["changed"]

    refused = resources({**ONE, "name": "worker-1"}, may_fail=True)
    assert "OVNChassis worker-1 is not that of a machine, but of a Node or of another client." in refused["msg"]
    resources({**ONE, "name": "worker-1", "state": "absent"})
    assert "worker-1" in resources.found()
    other = resources(ONE, name="blue", may_fail=True)
    assert (
        'OVNChassis compute1 belongs to the machine compute1 of OVNCluster "ovn" in namespace "ovn-system"'
        in other["msg"]
    )

    resources.nodes(namespace, state="absent")
    assert resources.found().keys() == {"compute1"}
    assert resources.found()["compute1"] == machine


def test_a_node_with_the_name_of_a_machine_is_refused(resources: Resources, namespace: str) -> None:
    resources(ONE)
    before = resources.found()
    status = {"addresses": [{"type": "InternalIP", "address": "192.0.2.21"}], "conditions": READY}
    node = {"metadata": {"name": "compute1", "labels": HYPERVISOR}, "status": status}
    resources.server.request("POST", "/api/v1/nodes", node)
    refused = resources.nodes(namespace, may_fail=True)
    assert "Node compute1 has the name of machine compute1, whose OVNChassis is in this cluster." in refused["msg"]
    assert resources.found() == before


def test_a_database_that_does_not_answer_makes_the_status_unknown(resources: Resources, southbound: str) -> None:
    register(southbound, "compute1", "198.51.100.21")
    resources(ONE)
    assert conditions(resources.found()["compute1"])["Ready"] == ("True", "Registered")
    ran = resources(ONE, southbound=["tcp:127.0.0.1:1"])
    assert resources.actions(ran) == {"compute1": "unchanged"}
    assert "The Southbound database could not be asked" in json.dumps(ran["warnings"])
    assert conditions(resources.found()["compute1"])["Ready"] == ("Unknown", "SouthboundUnreachable")


def test_a_host_name_that_nobody_knows_is_not_recorded(resources: Resources) -> None:
    unknown = {key: value for key, value in ONE.items() if key != "hostname"}
    refused = resources(unknown, southbound=["tcp:127.0.0.1:1"], may_fail=True)
    assert "The host name of machine compute1 is not known" in refused["msg"]
    assert resources.found() == {}
    resources(ONE)
    changed = resources({**ONE, "hostname": "other.example"}, may_fail=True)
    assert 'has the host name "compute1.example", and the machine compute1 has "other.example"' in changed["msg"]
    moved = resources({**ONE, "state": "absent"}, namespace="other", may_fail=True)
    assert 'of OVNCluster "ovn" in namespace "ovn-system", not of other/ovn.' in moved["msg"]
    assert resources.found().keys() == {"compute1"}


def test_a_name_that_no_object_can_have_is_refused(resources: Resources) -> None:
    refused = resources({**ONE, "name": "Compute_1"}, may_fail=True)
    assert "Machine Compute_1 cannot have an OVNChassis" in refused["msg"]
    assert resources.found() == {}
