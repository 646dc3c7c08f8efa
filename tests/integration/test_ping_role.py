"""The guests of the role ovn_ping go, also when some of them do not answer.

An API server without kubelets: a stand-in for kubectl leads to Open vSwitch daemons of this machine.
"""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import re
import sys
import threading
import typing as t

import pytest
from _apiserver import ApiServer
from _beside import beside
from _playbooks import northbound_below_run
from _vswitch import Vswitch
from conftest import MakeCluster, RunModule, RunPlaybook, run

from ansible_collections.c5c3.ovn.plugins.module_utils._api.names import labels
from ansible_collections.c5c3.ovn.plugins.module_utils._api.spec import parse_spec
from ansible_collections.c5c3.ovn.plugins.module_utils._manifests.hypervisor_pods import controller_pod

NODES = ("node-1", "node-2")
NAME = "c5c3-ping"
# Each pod has a network, and in /run only the sockets of its Open vSwitch.
KUBECTL = """#!{python}
import os, sys
words = sys.argv[1:]
pod, command = words[words.index("exec") + 2], words[words.index("--") + 1:]
if os.path.exists("{folder}/" + pod + ".down"):
    sys.exit("Error from server: error dialing backend: dial tcp 192.0.2.21:10250: i/o timeout")
network, sockets = open("{folder}/" + pod + ".up").read().split()
script = "mount -t tmpfs none /run && mkdir /run/openvswitch && mount --bind " + sockets + ' /run/openvswitch && exec "$@"'
os.execvp("nsenter", ["nsenter", "--net=" + network, "unshare", "--mount", "sh", "-c", script, "sh", *command])
"""


class Site:
    """A cluster with a guest on each of two nodes, and the Northbound database with their switch."""

    def __init__(self, folder: pathlib.Path, server: ApiServer, namespace: str, socket: str) -> None:
        self.folder, self.server, self.namespace, self.socket = folder, server, namespace, socket
        self.vswitches: dict[str, Vswitch] = {}

    def guest(self, node: str, vswitch: Vswitch) -> None:
        vswitch.start()
        vswitch.start_vswitchd()
        vswitch.vsctl("add-br", "br-int", "--", "set", "Bridge", "br-int", "datapath_type=netdev")
        vswitch.vsctl("add-port", "br-int", NAME, "--", "set", "Port", NAME, "external_ids:c5c3-ovn-test-port=true")
        (self.folder / f"{NAME}-{node}.up").write_text(f"/run/netns/{vswitch.namespace} {vswitch.directory}")
        self.guest_pod(node)
        self.vswitches[node] = vswitch

    def guest_pod(self, node: str, phase: str = "Running") -> None:
        """kubectl leads into no pod that has ended."""
        pod = f"{NAME}-{node}"
        ours = {"app.kubernetes.io/name": NAME, "app.kubernetes.io/component": "ping"}
        spec = {
            "nodeName": node,
            "terminationGracePeriodSeconds": 0,
            "containers": [{"name": "guest", "image": "none"}],
        }
        place = f"/api/v1/namespaces/{self.namespace}/pods"
        if not self.accounts():
            account = {"metadata": {"name": NAME, "labels": ours}}
            self.server.request("POST", f"/api/v1/namespaces/{self.namespace}/serviceaccounts", account)
        self.server.request("POST", place, {"metadata": {"name": pod, "labels": ours}, "spec": spec})
        self.server.request("PATCH", f"{place}/{pod}/status", {"status": {"phase": phase}})
        if phase != "Running":
            self.answers(node, False)

    def guest_pods(self) -> list[dict[str, t.Any]]:
        place = f"/api/v1/namespaces/{self.namespace}/pods?labelSelector=app.kubernetes.io/component=ping"
        return list(json.loads(self.server.request("GET", place))["items"])

    def kubelets(self) -> contextlib.AbstractContextManager[None]:
        """Guests that are created start."""

        def start(ended: threading.Event) -> None:
            while not ended.wait(0.2):
                for pod in self.guest_pods():
                    if pod["status"]["phase"] == "Pending":
                        container = {"name": "guest", "ready": True, "image": "", "imageID": "", "restartCount": 0}
                        status = {"phase": "Running", "containerStatuses": [container]}
                        place = f"/api/v1/namespaces/{self.namespace}/pods/{pod['metadata']['name']}/status"
                        self.server.request("PATCH", place, {"status": status})
                        self.answers(pod["spec"]["nodeName"], True)

        return beside(start)

    def controller(self, node: str) -> None:
        """A pod of ovn-controller, which uses the Open vSwitch of the node."""
        spec = parse_spec({"ovs": {"mode": "host"}}, name="ovn", namespace=self.namespace)
        metadata = {
            "name": f"ovn-controller-{node}",
            "generateName": "ovn-controller-",
            "labels": labels("ovn", "controller"),
        }
        place = f"/api/v1/namespaces/{self.namespace}/pods"
        pod = {"metadata": metadata, "spec": {"nodeName": node, **controller_pod(spec, None)}}
        self.server.request("POST", place, pod)
        self.server.request("PATCH", f"{place}/{metadata['name']}/status", {"status": {"phase": "Running"}})

    def answers(self, node: str, answers: bool) -> None:
        down = self.folder / f"{NAME}-{node}.down"
        if answers:
            down.unlink()
        else:
            down.touch()

    def accounts(self) -> list[str]:
        found = json.loads(self.server.request("GET", f"/api/v1/namespaces/{self.namespace}/serviceaccounts"))["items"]
        return [one["metadata"]["name"] for one in found if one["metadata"]["name"] != "default"]

    def left(self) -> tuple[str, list[str], list[str]]:
        """The switch, nodes with the pod of a guest, and nodes with a port."""
        nbctl = ("ovn-nbctl", f"--db={self.socket}", "--timeout=20", "--bare", "--columns=name")
        ports = [node for node, vswitch in self.vswitches.items() if NAME in vswitch.bridges()["br-int"]]
        return (
            run(*nbctl, "list", "Logical_Switch").strip(),
            [pod["spec"]["nodeName"] for pod in self.guest_pods()],
            ports,
        )

    def inventory(self, hypervisors: dict[str, t.Any], central: dict[str, t.Any]) -> str:
        file = self.folder / "hosts.yml"
        common = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
        groups = {"ovn_central": {"hosts": central}, "ovn_hypervisors": {"hosts": hypervisors}}
        file.write_text(json.dumps({"all": {"vars": common, "children": groups}}))
        return str(file)

    @property
    def cluster(self) -> dict[str, t.Any]:
        return {
            "ovn_backend": "kubernetes",
            "ovn_kubeconfig": self.server.kubeconfig,
            "ovn_namespace": self.namespace,
        }

    @property
    def removal(self) -> list[dict[str, t.Any]]:
        return self.play("absent")

    def play(self, state: str, *tasks: dict[str, t.Any]) -> list[dict[str, t.Any]]:
        """The role, then these tasks."""
        variables = {"ovn_ping_state": state, "ovn_northbound_endpoints": [self.socket]}
        role = {"ansible.builtin.include_role": {"name": "c5c3.ovn.ovn_ping"}, "vars": variables}
        return [{"hosts": "ovn_hypervisors", "gather_facts": False, "become": False, "tasks": [role, *tasks]}]


@pytest.fixture
def site(
    short_dir: pathlib.Path,
    api_server: ApiServer,
    namespace: str,
    raft_cluster: MakeCluster,
    run_module: RunModule,
    monkeypatch: pytest.MonkeyPatch,
) -> Site:
    (socket,) = raft_cluster(1, "northbound").sockets
    port = {"name": "p", "mac": "02:00:00:00:00:01", "ip": "198.18.128.1"}
    run_module("ovn_test_network", {"name": NAME, "northbound": [socket], "ports": [port]})
    (short_dir / "kubectl").write_text(KUBECTL.format(python=sys.executable, folder=short_dir))
    (short_dir / "kubectl").chmod(0o755)
    monkeypatch.setenv("PATH", f"{short_dir}:{os.environ['PATH']}")
    return Site(short_dir, api_server, namespace, socket)


def failure(run_playbook: RunPlaybook, site: Site, inventory: str, **variables: t.Any) -> str:
    with pytest.raises(pytest.fail.Exception) as failed:
        run_playbook(site.removal, "-e", json.dumps(variables), inventory=inventory)
    return re.sub(r"\s+", " ", str(failed.value))


def test_a_node_that_is_down_keeps_nobody(site: Site, run_playbook: RunPlaybook, short_dir: pathlib.Path) -> None:
    """The guests of the others go; who is left is named, and the run that finds the node again finishes."""
    vswitches = [Vswitch(short_dir, node) for node in NODES]
    try:
        for node, vswitch in zip(NODES, vswitches):
            site.guest(node, vswitch)
        inventory = site.inventory({"rack1": site.cluster}, {})

        for node in NODES:
            site.answers(node, False)
        failed = failure(run_playbook, site, inventory)
        for words in ("node-1: Error from server: error dialing backend", "node-2: Error"):
            assert words in failed
        assert "The logical switch:" not in failed
        assert site.left() == ("", list(NODES), list(NODES))
        assert site.accounts() == [NAME]

        site.answers("node-2", True)
        failed = failure(run_playbook, site, inventory)
        assert "node-1: Error from server: error dialing backend: dial tcp 192.0.2.21:10250: i/o timeout" in failed
        assert "node-2: Error" not in failed
        assert "The logical switch:" not in failed
        assert "ovn_ping_state=absent" in failed
        assert site.left() == ("", ["node-1"], ["node-1"])

        # A database that does not answer keeps no guest and no pod.
        site.answers("node-1", True)
        nobody = ["tcp:127.0.0.1:1"]
        assert "The logical switch: " in failure(run_playbook, site, inventory, ovn_northbound_endpoints=nobody)
        assert site.left() == ("", [], [])
        assert site.accounts() == []

        assert "changed=0 " in run_playbook(site.removal, inventory=inventory)
    finally:
        for vswitch in vswitches:
            vswitch.stop()


def test_guests_that_have_ended(site: Site, run_playbook: RunPlaybook, short_dir: pathlib.Path) -> None:
    """As after a ping that was killed: their ports are still there, and nobody can enter their pods."""
    vswitch = Vswitch(short_dir, "node-1")
    try:
        site.guest("node-1", vswitch)
        site.controller("node-1")
        place = f"/api/v1/namespaces/{site.namespace}/pods/{NAME}-node-1/status"
        site.server.request("PATCH", place, {"status": {"phase": "Failed", "reason": "DeadlineExceeded"}})
        site.answers("node-1", False)
        site.guest_pod("node-2", "Succeeded")  # Open vSwitch left this node
        inventory = site.inventory({"rack1": site.cluster}, {})

        for state in ("present", "absent"):
            predicted = run_playbook(site.play(state), "--check", inventory=inventory)
            assert re.search(r"Start the pods of the guests\] \*+\s+changed", predicted), state
            assert site.left() == (NAME, list(NODES), ["node-1"])

        # A guest that does not start is reported. Everything else goes.
        failed = failure(run_playbook, site, inventory)
        assert "The guest of node-1: Error from server" in failed
        assert site.left() == ("", ["node-1"], ["node-1"])

        with site.kubelets():
            run_playbook(site.removal, inventory=inventory)
        assert site.left() == ("", [], [])
        assert site.accounts() == []
    finally:
        vswitch.stop()


def test_nodes_with_an_open_vswitch_of_their_own_get_guests(site: Site, run_playbook: RunPlaybook) -> None:
    """In check mode, since nothing runs there: the API server accepts them."""
    inventory = site.inventory({"rack1": site.cluster}, {})
    assert "No hypervisor runs in namespace" in failure(run_playbook, site, inventory, ovn_ping_state="tested")
    for node in NODES:
        site.controller(node)
    objects = "ovn_ping_pods.objects"
    named = f"{objects} | map(attribute='metadata.name') == {[NAME, *(f'{NAME}-{node}' for node in NODES)]}"
    sockets = f"({objects} | last).spec.volumes[2].hostPath.path == '/run/openvswitch'"
    play = site.play("present", {"ansible.builtin.assert": {"that": [named, sockets]}})
    assert "failed=0" in run_playbook(play, "--check", inventory=inventory)
    assert site.left()[1] == []


def test_a_control_plane_in_kubernetes_is_written_in_its_pods(site: Site, run_playbook: RunPlaybook) -> None:
    """Without any key of a hypervisor. Nothing runs there, so that is all that remains."""
    inventory = site.inventory({"rack1": site.cluster}, {"plane": site.cluster})
    failed = failure(run_playbook, site, inventory)
    none = f"No pod of the Northbound database of the OVNCluster ovn in namespace {site.namespace} runs."
    assert f"The logical switch: {none}" in failed


@pytest.fixture
def databases(site: Site, monkeypatch: pytest.MonkeyPatch) -> t.Iterator[dict[str, t.Any]]:
    """The machine with the Northbound database, where nobody needs a password to become root."""
    monkeypatch.setenv("ANSIBLE_BECOME_ALLOW_SAME_USER", "1")
    sudo = site.folder / "sudo"
    sudo.write_text('#!/bin/sh\nshift 2\nexec "$@"\n')
    sudo.chmod(0o755)
    with northbound_below_run(site.socket) as distribution:
        yield {"db1": {"ansible_become_exe": str(sudo), "ansible_become_flags": "", **distribution}}


def test_a_machine_that_is_down(site: Site, run_playbook: RunPlaybook, databases: dict[str, t.Any]) -> None:
    """It is the only one, and the switch goes nevertheless."""
    down = {"ansible_connection": "ssh", "ansible_host": "127.0.0.1", "ansible_port": 1}
    failed = failure(run_playbook, site, site.inventory({"compute1": down}, databases))
    assert re.search(r"The guest of compute1: .*Connection refused", failed)
    assert site.left() == ("", [], [])


def test_what_a_failed_test_leaves(site: Site, run_playbook: RunPlaybook, databases: dict[str, t.Any]) -> None:
    """The host has failed before, so for Ansible it is no host of the play any more."""
    broken = {"ansible_python_interpreter": "/nowhere/python3"}
    inventory = site.inventory({"compute1": broken, "compute2": broken}, databases)
    failed = failure(run_playbook, site, inventory, ovn_ping_state="tested")
    assert re.search(r"The guest of compute1: .*/nowhere/python3", failed)
    assert site.left() == ("", [], [])


def test_a_single_machine_pings_nobody(site: Site, run_playbook: RunPlaybook, databases: dict[str, t.Any]) -> None:
    """In a play of somebody else; what an earlier run has left goes."""
    failed = failure(run_playbook, site, site.inventory({"compute1": {}}, databases), ovn_ping_state="tested")
    assert "Nothing was pinged: a ping needs two guests, and this run has 1 (compute1)." in failed
    assert "Plug in the guest" not in failed
