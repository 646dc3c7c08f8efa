"""What guests notice when the pods of a hypervisor restart, on a node whose kernel switches the packets: Geneve leads to a hypervisor outside Kubernetes.

The nodes of the test clusters have no such kernel. So a machine with a kernel of its own runs what the DaemonSets say, and no kubelet is there.
"""

from __future__ import annotations

import re
import typing as t

import pytest
from _datapath import Site, copy_stream, running_site, watch
from _machine_pods import FOLDER, IMAGE, MachinePod
from built_manifests import hypervisor_manifests_of

from ansible_collections.c5c3.ovn.plugins.module_utils._agent.archive import build_archive
from ansible_collections.c5c3.ovn.plugins.module_utils._api.spec import parse_spec
from ansible_collections.c5c3.ovn.plugins.module_utils._hypervisors.settings import default_settings, settings_files

pytestmark = pytest.mark.own_machines
HOST = "hypervisor1"
OVS, CONTROLLER = "ovs", "ovn-controller"
# NET_ADMIN, NET_RAW and NET_BROADCAST
RIGHTS = {"ovs-vswitchd": 0x3800, "ovsdb-server": 0, "ovn-controller": 0}
# As c5c3.ovn.ping has plugged it. Tools of the machine find the pods' Open vSwitch where its own one was.
PLUG = """
set -e
[ -L /run/openvswitch ] || { rm -rf /run/openvswitch; ln -s c5c3-ovn/openvswitch /run/openvswitch; }
ip netns add c5c3-ping
ip link add c5c3-ping type veth peer name eth0 address 02:c5:c3:00:00:01 mtu 1400 netns c5c3-ping
ip -n c5c3-ping address add 198.18.0.1/16 dev eth0
ip -n c5c3-ping link set eth0 up
ip link set c5c3-ping up
ovs-vsctl --may-exist add-port br-int c5c3-ping -- set Interface c5c3-ping external_ids:iface-id=c5c3-ping-hypervisor1
for i in $(seq 60); do ip netns exec c5c3-ping ping -q -c 1 -W 1 198.18.0.2 && exit; sleep 0.5; done
exit 1
"""


class Node:
    """The machine as a node of Kubernetes. Its chassis has the name and the certificate that it had before."""

    def __init__(self, site: Site) -> None:
        self.site = site
        names = {"tls.key": "chassis-key.pem", "tls.crt": "chassis-cert.pem", "ca.crt": "ca.pem"}
        secret = {key: site.on(HOST, f"base64 -w0 /etc/ovn/tls/{name}") for key, name in names.items()}
        spec = parse_spec({"encapsulation": {"cidr": "172.31.0.0/24"}}, name="ovn", namespace="ovn")
        southbound = [f"ssl:{site.address(f'central{number}')}:6642" for number in (1, 2, 3)]
        manifests = hypervisor_manifests_of(
            spec,
            namespace="ovn",
            southbound=southbound,
            settings=settings_files(default_settings(spec, southbound), [], {}),
            archive=build_archive(),
        )
        objects: dict[str, dict[str, t.Any]] = {
            one["metadata"]["name"]: one for one in manifests if one["kind"] == "ConfigMap"
        }
        objects["ovn-tls"] = {"kind": "Secret", "data": secret}
        fields = {"spec.nodeName": HOST, "status.hostIP": site.address(HOST)}
        self.pods = {
            one["metadata"]["name"]: MachinePod(
                one["metadata"]["name"], one["spec"]["template"]["spec"], objects, fields
            )
            for one in manifests
            if one["kind"] == "DaemonSet"
        }

    def boot(self, verb: str) -> None:
        self.site.machines(verb, HOST)
        self.site.machines("boot", HOST)
        assert self.site.on(HOST, "grep -c ^openvswitch /proc/modules || true") == "0"

    def start(self) -> None:
        """As kubelet does it after a boot, then a guest is plugged. The image has what the packages of the machine have."""
        tree = (self.site.state / HOST / "settings").read_text().split()[2]
        mount = f"mount -t hostfs none {IMAGE} -o ro"
        self.site.on(HOST, f"mkdir -p {IMAGE}; {mount},hostfs={tree} 2>/dev/null || {mount},{tree}")  # Linux 6.12, 6.1
        for pod in self.pods.values():
            script = f"root/pod-{pod.name}"
            (self.site.state / HOST / "root" / script).write_text(f"{pod.create}\n{pod.start()}")
            self.site.on(HOST, f"sh /{script}")
        self.until_ready()
        self.site.on(HOST, PLUG)
        copy_stream(self.site, HOST)
        echo = "systemd-run --quiet --collect --unit=echo ip netns exec c5c3-ping python3 /run/stream.py serve 5001"
        self.site.on("hypervisor2", f"systemctl is-active --quiet echo || {echo}")

    def until_ready(self) -> None:
        for pod in self.pods.values():
            self.site.on(HOST, pod.ready)
        hooks = self.site.on(HOST, f"cat {FOLDER}/hooks 2>/dev/null || true")
        assert hooks == ""


@pytest.fixture(scope="module", params=["bookworm", "trixie"], ids="{}-kernel".format)
def node(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> t.Iterator[Node]:
    site = Site(tmp_path_factory.mktemp("pods"), request.param, "kernel", hypervisors=2, label="pods")
    with running_site(site, request.config):
        node = Node(site)
        site.playbook("hypervisors", "--limit", HOST, "-e", "ovn_hypervisor_state=absent")
        site.on(HOST, "systemctl disable --quiet --now openvswitch-switch ovs-record-hostname")
        node.boot("poweroff")
        node.start()
        yield node


def test_the_kernel_loads_the_datapath_for_the_pod(node: Node) -> None:
    """No container is privileged, and none may load a module."""
    assert "system@ovs-system" in node.site.on(HOST, "ovs-dpctl dump-dps")
    for daemon, rights in RIGHTS.items():
        status = node.site.on(HOST, f"cat /proc/$(pidof {daemon})/status")
        assert int(re.findall(r"CapBnd:\s*(\w+)", status)[0], 16) == rights
        assert re.search(r"NoNewPrivs:\s*1", status)


FEW = 5
# Name: pod, containers that are killed (none: another pod takes its place), datagrams that may be lost
EVENTS = {
    "the pod of Open vSwitch is replaced": (OVS, [], FEW),
    "ovs-vswitchd is killed": (OVS, ["ovs-vswitchd"], FEW),
    "ovsdb-server is killed": (OVS, ["ovsdb-server"], 0),
    "Open vSwitch is killed": (OVS, ["ovsdb-server", "ovs-vswitchd"], FEW),
    "the pod of ovn-controller is replaced": (CONTROLLER, [], 0),
    "ovn-controller is killed": (CONTROLLER, ["ovn-controller"], 0),
    "the pod of ovn-controller is killed": (CONTROLLER, ["ovn-controller", "agent"], 0),
}


@pytest.mark.parametrize("event", EVENTS)
def test_containers_restart_under_traffic(node: Node, event: str) -> None:
    """As on machines (test_datapath): the stream goes on, and on a host that is short of processors some attempts lose a packet more."""
    name, killed, most = EVENTS[event]
    pod, site = node.pods[name], node.site
    for _attempt in range(3):
        seen = watch(site, event, pod.kill(*killed) if killed else pod.replace, 30)
        node.until_ready()
        assert (seen.stream_lost, seen.error) == (0, "")
        if seen.lost_outside_tunnel_gap <= most:
            return
        assert seen.lost_outside_tunnel_gap < 50
    pytest.fail(f"More than {most} packets were lost each time: {site.seen[-3:]}")


@pytest.mark.parametrize("verb", ["poweroff", "crash"])
def test_a_node_boots_and_its_guests_answer(node: Node, verb: str) -> None:
    node.boot(verb)
    node.start()
