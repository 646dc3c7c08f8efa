"""Relays in the pods of Southbound members: what the key of a chassis opens there, and how they take over the port of chassis from running members."""

from __future__ import annotations

import copy
import pathlib
import subprocess
import threading
import typing as t

import _control_plane
import pytest
from _control_plane import ControlPlane
from _lan import Lan
from _pki import Pki, TlsPaths
from _pods_in_lan import HYPERVISOR, KubeletInLan
from conftest import until, within

from ansible_collections.c5c3.ovn.plugins.module_utils._control_plane import members
from ansible_collections.c5c3.ovn.plugins.module_utils._databases import PORTS, Ports
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes import client
from ansible_collections.c5c3.ovn.plugins.module_utils._manifests import central as manifests

plane = _control_plane.plane  # a fixture

Object = dict[str, t.Any]
SIZES = {"northbound": 1, "southbound": 3}
SBCTL = ("ovn-sbctl", "--no-leader-only", "--timeout=20")


class Site:
    """A control plane whose Southbound has three members, and the keys of those who try to use it."""

    def __init__(self, plane: ControlPlane, kubelet: KubeletInLan, chassis: Pki) -> None:
        self.plane, self.kubelet, self.authority = plane, kubelet, chassis
        self.chassis = chassis.issue("c1", usages=["client"])

    def run(self, *, rbac: bool = True, **options: t.Any) -> t.Any:
        spec = {
            "northbound": {"replicas": SIZES["northbound"], "electionTimer": 2000},
            "southbound": {"replicas": SIZES["southbound"], "electionTimer": 2000},
            "relay": {"rbac": rbac},
            "tls": {"southboundClientCaKey": "client-ca.crt"},
        }
        return self.plane(**{"spec": spec, "wait": False, "wait_timeout": 300, **options})

    def as_chassis(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Run a client of the port of chassis with the key of chassis c1; ENDPOINTS stands for those ports."""
        endpoints = self.kubelet.chassis_endpoints()
        return self.kubelet.ask(self.chassis, *(word.replace("ENDPOINTS", endpoints) for word in command))

    def listeners(self) -> set[str]:
        found = self.kubelet.sbctl("ovn-southbound-0", "--bare", "--columns=target", "list", "Connection")
        return set(found.split())


@pytest.fixture
def site(
    plane: ControlPlane, daemons: None, make_pki: t.Callable[[str], Pki], short_dir: pathlib.Path
) -> t.Iterator[Site]:
    central, chassis = make_pki("central"), make_pki("chassis")
    kubelet = KubeletInLan(plane.server, plane.namespace, SIZES, (central, chassis), short_dir)
    try:
        plane.monkeypatch.setattr(client, "Cluster", kubelet.cluster)
        plane.monkeypatch.setattr(members, "raft_address", kubelet.address)
        plane.server.request("POST", f"/api/v1/namespaces/{plane.namespace}/secrets", kubelet.secret())
        yield Site(plane, kubelet, chassis)
    finally:
        kubelet.close()


def test_what_the_key_of_a_chassis_opens(site: Site, short_dir: pathlib.Path) -> None:
    """The Southbound with the role of a chassis, and nothing else."""
    site.run()
    kubelet = site.kubelet
    assert site.listeners() == {"pssl:16642:[::]"}
    for pod in kubelet.relays:
        assert kubelet.model(pod, kubelet.pair) == kubelet.model(pod, site.chassis) == "relay"

    # Northbound, Southbound without a role, and both Raft ports: the handshake fails.
    for pod, ports in {"ovn-northbound-0": (6641, 6643), "ovn-southbound-0": (16642, 6644)}.items():
        for port in ports:
            assert refusal(kubelet.lan, site.chassis, kubelet.lan.ipv4(pod), port) == "UNKNOWN_CA", (pod, port)
            assert refusal(kubelet.lan, kubelet.pair, kubelet.lan.ipv4(pod), port) == "", (pod, port)

    # Its own rows, and not those of another chassis. northd writes the rules: until then nobody may write anything.
    northd = kubelet.members["ovn-northbound-0"]
    rules = [
        "ovn-northd",
        "-vconsole:off",
        "-vfile:off",
        f"--unixctl={short_dir}/northd.ctl",
        f"--ovnnb-db=unix:{northd.sock}",
        f"--ovnsb-db={','.join(f'unix:{m.sock}' for n, m in kubelet.members.items() if 'southbound' in n)}",
    ]
    process = subprocess.Popen(rules)
    try:
        until(
            lambda: (
                "ovn-controller" in kubelet.sbctl("ovn-southbound-0", "--bare", "--columns=name", "list", "RBAC_Role")
            ),
            "the rules of northd",
            within(20),
        )
    finally:
        process.kill()
        process.wait()
    kubelet.sbctl(
        "ovn-southbound-0",
        "chassis-add",
        "c2",
        "geneve",
        "192.0.2.252",
    )
    until(
        lambda: site.as_chassis(*SBCTL, "--db=ENDPOINTS", "chassis-add", "c1", "geneve", "192.0.2.251").returncode == 0,
        "a chassis that registers",
        within(20),
    )
    for attack in (("chassis-del", "c2"), ("set", "SB_Global", ".", "options:x=y")):
        answer = site.as_chassis(*SBCTL, "--db=ENDPOINTS", *attack)
        assert "permission error" in answer.stderr, attack
    assert set(kubelet.sbctl("ovn-southbound-0", "--bare", "--columns=name", "list", "Chassis").split()) == {"c1", "c2"}

    # Without a role, as for nodes that share a certificate: the Southbound is open, the rest is not.
    first = {pod: relay.pid for pod, relay in kubelet.relays.items()}
    site.run(rbac=False)
    assert {pod: relay.pid for pod, relay in kubelet.relays.items()}.keys() == first.keys()
    assert site.as_chassis(*SBCTL, "--db=ENDPOINTS", "chassis-del", "c2").returncode == 0
    assert refusal(kubelet.lan, site.chassis, kubelet.lan.ipv4("ovn-southbound-0"), 6644) == "UNKNOWN_CA"


def test_relays_take_over_from_members_that_serve_chassis(site: Site) -> None:
    """As an earlier version set them up. No write of a chassis fails meanwhile, and none is lost."""
    kubelet, monkeypatch = site.kubelet, site.plane.monkeypatch
    with monkeypatch.context() as former:
        former.setitem(t.cast("dict[str, Ports]", PORTS), "southbound", Ports(6642, 6644, 6642))
        build = manifests.stateful_set
        former.setattr(manifests, "stateful_set", lambda context, database: former_set(build(context, database)))
        site.run(rbac=False)
    pods = [name for name in kubelet.members if "southbound" in name]
    assert site.listeners() == {"pssl:6642:[::]"}
    assert not kubelet.relays
    assert [kubelet.model(pod, site.chassis) for pod in pods] == ["clustered"] * 3
    assert refusal(kubelet.lan, site.chassis, kubelet.lan.ipv4(pods[0]), 6644) == ""
    assert site.as_chassis(*SBCTL, "--db=ENDPOINTS", "chassis-add", "c1", "geneve", "192.0.2.251").returncode == 0

    northds: list[str] = []

    def about_to_end(pod: str) -> None:
        deployment = site.plane.get("Deployment", "ovn-northd")
        command = deployment["spec"]["template"]["spec"]["containers"][0]["command"]
        northds.extend(word for word in command if word.startswith("--ovnsb-db="))

    kubelet.on_end = about_to_end
    writer = Writer(site)
    writer.start()
    try:
        predicted = site.run(rbac=False, check=True)
        ran = site.run(rbac=False)
    finally:
        writer.stop()
    assert "southbound: remove connection pssl:6642:[::]" in predicted["steps"]
    steps = ran["steps"]
    opened = steps.index("southbound: add connection pssl:16642:[::]")
    restarts = [steps.index(step) for step in steps if "restart" in step and "southbound" in step]
    assert len(restarts) == 3
    assert opened < min(restarts) < max(restarts) < steps.index("southbound: remove connection pssl:6642:[::]")
    # northd went to the other port before the first member ended.
    assert len(northds) == 3
    assert all(northd.count(":16642") == 3 for northd in northds)
    assert writer.failures == []
    assert writer.count > 5
    assert f"n={writer.count}" in kubelet.sbctl(pods[0], "get", "Chassis", "c1", "external_ids").replace('"', "")
    assert sorted(kubelet.relays) == pods
    assert [kubelet.model(pod, site.chassis) for pod in pods] == ["relay"] * 3
    assert refusal(kubelet.lan, site.chassis, kubelet.lan.ipv4(pods[0]), 6644) == "UNKNOWN_CA"
    again = site.run(rbac=False)
    assert again["steps"] == []
    assert not again["changed"]


def test_a_relay_that_serves_nobody_stops_the_rollout(site: Site) -> None:
    """Chassis still have the other pods; the next run goes on."""
    site.run()
    kubelet = site.kubelet
    ended: list[str] = []
    kubelet.on_end, kubelet.is_deaf = ended.append, True
    ran = site.run(rbac=False, wait_timeout=45, may_fail=True)
    assert ran.failed
    assert len(ended) == 1
    assert f"The relay in pod {ended[0]} serves no chassis after" in ran["msg"]
    assert f"logs {ended[0]} -c relay, then run again." in ran["msg"]
    # The template has not changed since, so the next run does not restart this pod again, and waits for it before it goes on.
    ran = site.run(rbac=False, wait_timeout=45, may_fail=True)
    assert f"The relay in pod {ended[0]} serves no chassis after" in ran["msg"]
    assert len(ended) == 1
    kubelet.is_deaf = False
    kubelet.report_ready(ended[0])
    site.run(rbac=False)
    assert len(ended) == 3


class Writer(threading.Thread):
    """Chassis c1 writes one number after the other, each with a new connection to any of the ports."""

    def __init__(self, site: Site) -> None:
        super().__init__(daemon=True)
        self.site, self.count, self.failures = site, 0, list[str]()
        self._stopped = threading.Event()

    def run(self) -> None:
        while not self._stopped.is_set():
            number = self.count + 1
            done = self.site.as_chassis(*SBCTL, "--db=ENDPOINTS", "set", "Chassis", "c1", f"external_ids:n={number}")
            if done.returncode != 0:
                self.failures.append(done.stderr)
            self.count = number

    def stop(self) -> None:
        self._stopped.set()
        self.join()


def former_set(stateful_set: Object) -> Object:
    """Return the StatefulSet as it was before there were relays: members trust chassis, and serve them."""
    result = copy.deepcopy(stateful_set)
    pod = result["spec"]["template"]["spec"]
    if pod.pop("initContainers", None):
        pod["volumes"] = [volume for volume in pod["volumes"] if not volume["name"].startswith("relay-")]
        (member,) = pod["containers"]
        names = (("client", 6642), ("raft", 6644))
        member["ports"] = [{"name": name, "containerPort": port, "protocol": "TCP"} for name, port in names]
        for variable in member["env"]:
            if variable["name"] == "OVN_CA_CERTIFICATE":
                variable["value"] = "/tls/client-ca.crt"
    return result


def refusal(lan: Lan, pair: TlsPaths, host: str, port: int) -> str:
    """Return why a server refuses this certificate, empty if it does not."""
    program = (
        "import socket, ssl, sys\n"
        "key, certificate, authority, host, port = sys.argv[1:]\n"
        "context = ssl.create_default_context(cafile=authority)\n"
        "context.check_hostname = False\n"
        "context.load_cert_chain(certificate, key)\n"
        "context.verify_mode = ssl.CERT_NONE\n"
        "try:\n"
        "    with context.wrap_socket(socket.create_connection((host, int(port)), 5)) as connection:\n"
        "        connection.settimeout(3)\n"
        "        connection.recv(1)\n"
        "except ssl.SSLError as e:\n"
        "    print('UNKNOWN_CA' if 'UNKNOWN_CA' in str(e) else e)\n"
        "except TimeoutError:\n"
        "    pass\n"
    )
    words = [pair.private_key, pair.certificate, pair.ca_certificate, host, str(port)]
    command = [*lan.enter(HYPERVISOR), "python3", "-c", program, *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=30, check=True).stdout.strip()
