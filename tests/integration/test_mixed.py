"""Control plane in Kubernetes and a machine as chassis, and the reverse: what the roles find out, and what connects in the end.

An API server without kubelets, servers of the Southbound database, and Open vSwitch and ovn-controller behind a network device of their own.
"""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import re
import shutil
import sys
import threading
import typing as t

import pytest
from _agent import NODE, Agent
from _apiserver import ADMIN_TOKEN, ApiServer
from _playbooks import northbound_below_run
from _vswitch import Vswitch
from built_manifests import manifests_of
from conftest import MakeCluster, RunModule, RunPlaybook, run

from ansible_collections.c5c3.ovn.plugins.module_utils._api.crds import custom_resource_definitions
from ansible_collections.c5c3.ovn.plugins.module_utils._api.names import API_VERSION
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.apply import converge, list_objects
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.client import Cluster

NETWORK = f"100.{64 + os.getpid() // 256 % 64}.{os.getpid() % 256}"
CHASSIS = f"{NETWORK}.21"
Object = dict[str, t.Any]
ROLE = {"name": "c5c3.ovn.ovn_hypervisor", "rolespec_validate": False, "public": True}
# What the role does before a chassis is configured. A machine that is to be removed is not read.
CONNECT: list[Object] = [
    {
        "c5c3.ovn.hypervisor_check": None,
        "register": "ovn_hypervisor_check",
        "vars": {"ovn_hypervisor_state": "absent"},
    },
    {
        "ansible.builtin.include_role": {"name": "c5c3.ovn.ovn_central", "tasks_from": "endpoints"},
        "vars": {"ovn_central_asked_host": "{{ ovn_hypervisor_check.asked_host }}"},
    },
    {"c5c3.ovn.hypervisor_central": None, "register": "ovn_hypervisor_central"},
]
HYPERVISORS_API = "/apis/ovn.c5c3.io/v1alpha1/ovnchassis"


@pytest.fixture
def vswitch(daemons: None, short_dir: pathlib.Path) -> t.Iterator[Vswitch]:
    """Its network device eth0 leads to this machine, which has the addresses 1 to 3 there."""
    machine = Vswitch(short_dir, "ch1")
    outside = f"c5c3m{os.getpid()}"[:15]
    try:
        run("ip", "link", "add", outside, "type", "veth", "peer", "name", "eth0", "netns", machine.namespace)
        for number in (1, 2, 3):
            run("ip", "address", "add", f"{NETWORK}.{number}/24", "dev", outside)
        run("ip", "link", "set", outside, "up")
        run("ip", "-n", machine.namespace, "address", "add", f"{CHASSIS}/24", "dev", "eth0")
        run("ip", "-n", machine.namespace, "link", "set", "eth0", "up")
        yield machine.start()
    finally:
        machine.stop()  # the other end of the device goes with it


class Inventory:
    """A file with the hosts of one site."""

    def __init__(self, folder: pathlib.Path, server: ApiServer, namespace: str) -> None:
        self.file = folder / "hosts.yml"
        self.folder, self.server, self.namespace = folder, server, namespace

    def cluster(self, **variables: t.Any) -> Object:
        return {
            "ovn_backend": "kubernetes",
            "ovn_kubeconfig": self.server.kubeconfig,
            "ovn_namespace": self.namespace,
            **variables,
        }

    def write(
        self,
        central: Object,
        hypervisors: Object,
        python: str | None = sys.executable,
        gateways: t.Sequence[str] = (),
    ) -> str:
        """`python` None: every host has its own, or that of the control node."""
        common = {
            "ansible_connection": "local",
            **({"ansible_python_interpreter": python} if python else {}),
            "ansible_remote_tmp": str(self.folder / "remote"),
            "ovn_tls": False,
        }
        groups = {"ovn_central": {"hosts": central}, "ovn_hypervisors": {"hosts": hypervisors}}
        groups |= {"ovn_gateways": {"hosts": {name: {} for name in gateways}}} if gateways else {}
        self.file.write_text(json.dumps({"all": {"vars": common, "children": groups}}))
        return str(self.file)


@pytest.fixture
def site(short_dir: pathlib.Path, api_server: ApiServer, namespace: str) -> t.Iterator[Inventory]:
    def clear() -> None:
        for path in ("/api/v1/nodes", HYPERVISORS_API):
            with contextlib.suppress(OSError):  # the kind may not be defined
                api_server.request("DELETE", path)

    clear()
    try:
        yield Inventory(short_dir, api_server, namespace)
    finally:
        clear()


def node(server: ApiServer, name: str, ip: str, **labels: str) -> None:
    status = {
        "addresses": [{"type": "InternalIP", "address": ip}],
        "conditions": [{"type": "Ready", "status": "True"}],
    }
    metadata = {"name": name, "labels": {key.replace("__", "/"): value for key, value in labels.items()}}
    server.request("POST", "/api/v1/nodes", {"metadata": metadata, "status": status})


def control_plane(site: Inventory, spec: Object) -> None:
    """What tells clients where it is; nobody runs its pods here."""
    manifests = manifests_of(spec, name="ovn", namespace=site.namespace)
    metadata = {"name": "ovn", "namespace": site.namespace}
    resource = {"apiVersion": API_VERSION, "kind": "OVNCluster", "metadata": metadata, "spec": spec}
    services = [manifest for manifest in manifests if manifest["kind"] == "Service"]
    cluster = Cluster({"kubeconfig": site.server.kubeconfig})
    live = list_objects(cluster, [("apiextensions.k8s.io/v1", "CustomResourceDefinition")], None, "")
    converge(cluster, [*custom_resource_definitions(), resource, *services], live, check_mode=False)


def refusal(run_playbook: RunPlaybook, inventory: str, *arguments: str, group: str = "ovn_hypervisors") -> str:
    role = ROLE if group == "ovn_hypervisors" else {"name": f"c5c3.ovn.{group}"}
    play = {"hosts": group, "gather_facts": False, "tasks": [{"ansible.builtin.include_role": role}]}
    with pytest.raises(pytest.fail.Exception) as failure:
        run_playbook([play], *arguments, inventory=inventory)
    return re.sub(r"\s+", " ", str(failure.value))


# --- what connects ----------------------------------------------------------------------------------------------------


def test_a_machine_is_chassis_of_a_control_plane_in_kubernetes(
    site: Inventory,
    raft_cluster: MakeCluster,
    run_module: RunModule,
    run_playbook: RunPlaybook,
    vswitch: Vswitch,
) -> None:
    service = {"service": {"type": "NodePort", "allowPlaintext": True}}
    control_plane(site, {"tls": {"enabled": False}, "northbound": service, "southbound": service})
    node(site.server, "plane-1", f"{NETWORK}.1")
    found = run_module("ovn_cluster_info", {"kubeconfig": site.server.kubeconfig, "namespace": site.namespace})
    endpoints = found["endpoints"]["southbound"].split(",")
    southbound = raft_cluster(3, "southbound")
    for member, endpoint in zip(southbound.members, endpoints):  # kube-proxy
        _scheme, host, port = endpoint.split(":")
        member.appctl("ovsdb-server/add-remote", f"ptcp:{port}:{host}")
    vswitch.start_vswitchd()
    vswitch.start_controller()
    play = {
        "hosts": "compute1",
        "gather_facts": False,
        "tasks": [
            *CONNECT,
            {"c5c3.ovn.hypervisor_chassis": None},
        ],
        "vars": {
            "ovn_tls": False,
            "ovn_hypervisor_openvswitch_database": vswitch.endpoint,
            "ovn_hypervisor_datapath_type": "netdev",
            "ovn_wait_timeout": 30,
        },
    }
    inventory = site.write({"plane": site.cluster()}, {"compute1": {"ovn_encapsulation_ip": CHASSIS}})
    assert "changed=1 " in run_playbook([play], inventory=inventory)
    assert vswitch.external_ids["ovn-remote"].split(",") == endpoints
    sbctl = ("ovn-sbctl", f"--db={southbound.leader.endpoint}", "--timeout=20", "--bare")
    assert run(*sbctl, "--columns=ip", "find", "Encap", "chassis_name=compute1").strip() == CHASSIS
    assert "changed=0 " in run_playbook([play], inventory=inventory)


class Worker(threading.Thread):
    """Kubelet and controllers of a cluster with one node: as soon as its DaemonSets are there, agent and ovn-controller run."""

    def __init__(self, site: Inventory, agent: Agent) -> None:
        super().__init__(daemon=True)
        self.site, self.agent = site, agent
        self._end = threading.Event()

    def _get(self, api: str, kind: str, name: str) -> Object:
        path = f"{api}/namespaces/{self.site.namespace}/{kind}/{name}"
        return t.cast("Object", json.loads(self.site.server.request("GET", path)))

    def run(self) -> None:
        started = False
        while not self._end.wait(0.3):
            try:
                settings = self._get("/api/v1", "configmaps", "ovn-chassis")["data"]
                sets = [self._get("/apis/apps/v1", "daemonsets", name) for name in ("ovs", "ovn-controller")]
            except OSError:  # not there yet
                continue
            self.agent.write(json.loads(settings["_default"]), json.loads(settings.get(NODE, "{}")))
            if not started:
                self.agent.start(f"{NETWORK}.200")
                started = True
            if self.agent.settled and "ovn-controller" not in self.agent.vswitch.daemons:
                self.agent.vswitch.start_controller()
            if self.agent.ready:
                for daemon_set in sets:
                    self._is_ready(daemon_set["metadata"])

    def _is_ready(self, metadata: Object) -> None:
        numbers = ("currentNumberScheduled", "desiredNumberScheduled", "numberReady", "updatedNumberScheduled")
        status = {**dict.fromkeys(numbers, 1), "numberMisscheduled": 0, "observedGeneration": metadata["generation"]}
        path = f"/apis/apps/v1/namespaces/{self.site.namespace}/daemonsets/{metadata['name']}/status"
        with contextlib.suppress(OSError):
            self.site.server.request("PATCH", path, {"status": status})

    def stop(self) -> None:
        self._end.set()
        self.join(20)


@pytest.fixture
def worker(site: Inventory, vswitch: Vswitch, short_dir: pathlib.Path) -> t.Iterator[Worker]:
    worker = Worker(site, Agent(vswitch, short_dir))
    try:
        yield worker
    finally:
        worker.stop()
        worker.agent.stop()


@pytest.mark.parametrize(
    ("owner", "port"),
    [
        pytest.param("ours", 16642, id="ours, with a listener for clusters"),
        pytest.param("machines of others", 6642, id="on machines of others"),
        pytest.param("endpoints of others", 7642, id="of others, known by its endpoints"),
    ],
)
def test_a_node_is_chassis_of_a_control_plane_on_machines(
    owner: str, port: int, site: Inventory, raft_cluster: MakeCluster, run_playbook: RunPlaybook, worker: Worker
) -> None:
    """Only the node knows where its tunnels end."""
    southbound = raft_cluster(3, "southbound")
    for number, member in enumerate(southbound.members, 1):
        member.appctl("ovsdb-server/add-remote", f"ptcp:{port}:{NETWORK}.{number}")
    remotes = [f"tcp:{NETWORK}.{number}:{port}" for number in (1, 2, 3)]
    theirs = {"ovn_central_managed": False} if owner == "machines of others" else {}
    named = {"ovn_southbound_endpoints": remotes, "ovn_northbound_endpoints": remotes}  # the Northbound is not asked
    node(site.server, NODE, f"{NETWORK}.200", **{"node-role.kubernetes.io__hypervisor": ""})
    worker.agent.vswitch.start_vswitchd()
    spec = {"encapsulation": {"interface": "eth0"}, "ovs": {"datapathType": "netdev"}}
    inventory = site.write(
        {f"db{number}": {"ovn_address": f"{NETWORK}.{number}", **theirs} for number in (1, 2, 3)}
        if owner != "endpoints of others"
        else {},
        {
            "rack1": site.cluster(
                ovn_cluster_spec=spec,
                ovn_wait_timeout=60,
                **(named if owner == "endpoints of others" else {}),
            )
        },
    )
    play = {"hosts": "ovn_hypervisors", "gather_facts": False, "tasks": [{"ansible.builtin.include_role": ROLE}]}
    worker.start()
    first = run_playbook([play], inventory=inventory)
    assert f"created OVNChassis {NODE}" in first
    assert worker.agent.vswitch.external_ids["ovn-remote"].split(",") == remotes
    chassis = json.loads(site.server.request("GET", f"{HYPERVISORS_API}/{NODE}"))
    assert chassis["spec"]["encapsulation"] == {"type": "geneve", "ip": CHASSIS}
    again = run_playbook([play], "--diff", inventory=inventory)
    assert "changed=0 " in again, again

    worker.stop()
    worker.agent.vswitch.daemons["ovn-controller"].kill()
    assert "changed=1 " in run_playbook([play], "-e", "ovn_hypervisor_state=absent", inventory=inventory)
    sbctl = ("ovn-sbctl", f"--db={southbound.leader.endpoint}", "--timeout=20", "--bare", "--columns=name")
    assert run(*sbctl, "list", "Chassis").strip() == ""


# --- with whose Python, and as whom -----------------------------------------------------------------------------------


def test_a_machine_asks_the_cluster_with_the_python_of_the_control_node(
    site: Inventory, run_playbook: RunPlaybook
) -> None:
    """Its own one is on the machine, and has no Kubernetes client."""
    service = {"service": {"type": "LoadBalancer", "allowPlaintext": True}}
    control_plane(site, {"tls": {"enabled": False}, "northbound": service, "southbound": service})
    address = {"status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.7"}]}}}
    for database in ("northbound", "southbound"):
        for index in range(3):
            path = f"/api/v1/namespaces/{site.namespace}/services/ovn-{database}-{index}/status"
            site.server.request("PATCH", path, address)
    machine = {"ansible_python_interpreter": "/nowhere/python3"}
    inventory = site.write({"plane": site.cluster()}, {"compute1": machine}, python=None)
    told = {"ansible.builtin.debug": {"msg": "{{ ovn_hypervisor_central.southbound }}"}}
    tasks = [*CONNECT, told]
    output = run_playbook([{"hosts": "compute1", "gather_facts": False, "tasks": tasks}], inventory=inventory)
    assert output.count("tcp:192.0.2.7:6642") == 3


def test_pods_are_asked_for_the_name_of_a_machine_before_its_first_change(
    site: Inventory, run_playbook: RunPlaybook
) -> None:
    """Nobody runs pods here, so nobody answers, and the run goes on: ovn_chassis asks again."""
    machine = {"ovn_encapsulation_ip": CHASSIS, "ovn_hypervisor_distribution": {"packages": []}}
    inventory = site.write({"plane": site.cluster()}, {"compute1": machine})
    check = {"ansible.builtin.include_role": {**ROLE, "tasks_from": "check"}}
    told = run_playbook([{"hosts": "compute1", "gather_facts": False, "tasks": [check]}], "-v", inventory=inventory)
    assert f"No pod of the Southbound database of the OVNCluster ovn in namespace {site.namespace} runs" in told


# How the machine db1 runs Python, and how it becomes root: each notes that it was used.
STAND_INS = {
    "python": '#!/bin/sh\necho python >>{log}\nexec {python} "$@"\n',
    "sudo": '#!/bin/sh\necho root >>{log}\nshift 2\nexec "$@"\n',
}


def test_a_cluster_writes_to_the_databases_of_a_machine_as_root_there(
    site: Inventory,
    raft_cluster: MakeCluster,
    run_module: RunModule,
    run_playbook: RunPlaybook,
    short_dir: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also when no guest is left: the switch goes."""
    (socket,) = raft_cluster(1, "northbound").sockets
    port = {"name": "p", "mac": "02:00:00:00:00:01", "ip": "198.18.128.1"}
    run_module("ovn_test_network", {"name": "c5c3-ping", "northbound": [socket], "ports": [port]})
    log = short_dir / "used.log"
    for name, content in STAND_INS.items():
        (short_dir / name).write_text(content.format(log=log, python=sys.executable))
        (short_dir / name).chmod(0o755)
    machine = {
        "ansible_python_interpreter": str(short_dir / "python"),
        "ansible_become_exe": str(short_dir / "sudo"),
        "ansible_become_flags": "",
    }
    monkeypatch.setenv("ANSIBLE_BECOME_ALLOW_SAME_USER", "1")
    content = json.loads(pathlib.Path(site.server.kubeconfig).read_text())  # as it comes from a vault
    role = {"ansible.builtin.include_role": {"name": "c5c3.ovn.ovn_ping"}, "vars": {"ovn_ping_state": "absent"}}
    play = {"hosts": "ovn_hypervisors", "gather_facts": False, "become": False, "tasks": [role]}
    with northbound_below_run(socket) as distribution:
        central = {"db1": {**machine, **distribution}}
        inventory = site.write(central, {"rack1": site.cluster(ovn_kubeconfig=content)}, python=None)
        output = run_playbook([play], "-vvv", inventory=inventory)
        assert "changed=1 " in output
        assert ADMIN_TOKEN not in output
        assert (
            run("ovn-nbctl", f"--db={socket}", "--timeout=20", "--bare", "--columns=name", "list", "Logical_Switch")
            == ""
        )
        assert log.read_text().split() == ["root", "python"]
        assert "changed=0 " in run_playbook([play], inventory=inventory)


# --- what is refused --------------------------------------------------------------------------------------------------


def test_names_of_another_cluster_are_refused(
    site: Inventory, run_playbook: RunPlaybook, short_dir: pathlib.Path
) -> None:
    control_plane(site, {"tls": {"enabled": False}})
    other = shutil.copy(site.server.kubeconfig, short_dir / "rack1.kubeconfig")
    hypervisors = f"{site.namespace}-rack1"
    inventory = site.write(
        {"plane": site.cluster()}, {"rack1": site.cluster(ovn_kubeconfig=str(other), ovn_namespace=hypervisors)}
    )
    words = refusal(run_playbook, inventory)
    assert "The control plane of plane is only reachable inside its cluster (Services of type ClusterIP)" in words
    assert "Set northbound.service.type and southbound.service.type of its ovn_cluster_spec" in words
    assert "so that rack1 can connect" in words
    namespaces = json.loads(site.server.request("GET", "/api/v1/namespaces"))["items"]
    assert hypervisors not in {one["metadata"]["name"] for one in namespaces}
    # In one cluster the names lead there; what is missing then are hypervisors.
    same = site.write({"plane": site.cluster()}, {"rack1": site.cluster(ovn_namespace=hypervisors)})
    assert "has the labels node-role.kubernetes.io/hypervisor=" in refusal(run_playbook, same)


def test_options_of_machines_are_refused_for_a_cluster(site: Inventory, run_playbook: RunPlaybook) -> None:
    options = {
        "ovn_encapsulation_ip": "192.0.2.1",
        "ovn_system_id": "rack",
        "ovn_hypervisor_underlay": {"bridge": "br-phy", "interface": "eth1", "address": "192.0.2.1/24"},
        "ovn_hypervisor_bridges": [{"name": "br-ex"}],
        "ovn_hypervisor_encapsulation_type": ["vxlan"],
        "ovn_hypervisor_gateway": True,
        "ovn_hypervisor_chassis_settings": {"monitor_all": True},
        "ovn_hypervisor_external_ids": {"a": "b"},
    }
    place = {"ovn_southbound_endpoints": ["tcp:192.0.2.9:6642"], "ovn_northbound_endpoints": ["tcp:192.0.2.9:6641"]}
    inventory = site.write({}, {"rack1": site.cluster(**place, **options)}, gateways=["rack1"])
    words = refusal(run_playbook, inventory)
    for option in (
        "group ovn_gateways",
        *options,
    ):
        assert option in words
    assert "for machines only; on the nodes of rack1" in words
    # Those that count for both are none of them.
    both = {"ovn_hypervisor_datapath_type": "netdev", "ovn_hypervisor_bridge_mappings": [], "ovn_address": "192.0.2.1"}
    words = refusal(run_playbook, site.write({}, {"rack1": site.cluster(**place, **both)}))
    assert "has the labels node-role.kubernetes.io/hypervisor=" in words


# --- machines in the list of chassis -----------------------------------------------------------------------------------


def test_machines_of_one_cluster_have_their_objects_by_one_call(site: Inventory, run_playbook: RunPlaybook) -> None:
    """Two in one cluster, one without a cluster of its own, and the shared variable, which asks for nothing."""
    shown = {
        "ovn_hypervisor_resource": True,
        "ovn_kubeconfig": site.server.kubeconfig,
        "ovn_southbound_endpoints": ["tcp:127.0.0.1:1"],
    }
    machines = {
        "compute1": {**shown, "ovn_encapsulation_ip": "198.51.100.21", "ovn_hypervisor_hostname": "c1.example"},
        "compute2": {
            **shown,
            "ovn_encapsulation_ip": ["198.51.100.22", "198.51.100.23"],
            "ovn_hypervisor_hostname": "c2.example",
        },
        "compute3": {
            "ovn_kubeconfig": site.server.kubeconfig,
            "ovn_encapsulation_ip": "198.51.100.24",
            "ovn_southbound_endpoints": shown["ovn_southbound_endpoints"],
        },
    }
    inventory = site.write({"plane": site.cluster()}, machines)
    tasks = [
        {"ansible.builtin.include_role": {**ROLE, "tasks_from": "check"}},
        {"c5c3.ovn.hypervisor_central": None, "register": "ovn_hypervisor_central"},
        {
            "c5c3.ovn.hypervisor_resource": None,
            "delegate_to": "localhost",
            "when": "ovn_hypervisor_check.resource | length > 0",
        },
    ]
    options = {"ovn_hypervisor_distribution": {"packages": []}}
    play = {"hosts": "ovn_hypervisors", "gather_facts": False, "tasks": tasks, "vars": options}
    assert "changed=1 " in run_playbook([play], "--check", inventory=inventory)
    first = run_playbook([play], inventory=inventory)
    assert first.count("changed=1 ") == 1
    found = {
        one["metadata"]["name"]: one["spec"] for one in json.loads(site.server.request("GET", HYPERVISORS_API))["items"]
    }
    assert found == {
        "compute1": {
            "hostname": "c1.example",
            "systemId": "compute1",
            "encapsulation": {"type": "geneve", "ip": "198.51.100.21"},
        },
        "compute2": {
            "hostname": "c2.example",
            "systemId": "compute2",
            "encapsulation": {"type": "geneve", "ip": "198.51.100.22"},
        },
    }
    assert "changed=1 " not in run_playbook([play], inventory=inventory)
    removed = run_playbook([play], "-e", "ovn_hypervisor_state=absent", "--limit", "compute2", inventory=inventory)
    assert "changed=1 " in removed
    assert [one["metadata"]["name"] for one in json.loads(site.server.request("GET", HYPERVISORS_API))["items"]] == [
        "compute1"
    ]
    # A call knows the machines of its batch alone.
    run_playbook([play], "-e", "ovn_hypervisor_state=absent", inventory=inventory)
    batches = run_playbook([{**play, "serial": 1}], inventory=inventory)
    assert batches.count("changed=1 ") == 2
    listed = json.loads(site.server.request("GET", HYPERVISORS_API))["items"]
    assert {one["metadata"]["name"] for one in listed} == {"compute1", "compute2"}
