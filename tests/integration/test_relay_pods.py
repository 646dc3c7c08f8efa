"""Relays in the pods of Southbound members: what the key of a chassis opens there, and how they take over the port of chassis from running members."""

from __future__ import annotations

import copy
import json
import pathlib
import signal
import subprocess
import sys
import time
import typing as t

import _chassis_writer
import _control_plane
import pytest
from _control_plane import ControlPlane
from _lan import Lan
from _loopback import RunKilled
from _pki import Pki, TlsPaths
from _pods_in_lan import HYPERVISOR, KubeletInLan
from conftest import until, within

from ansible_collections.c5c3.ovn.plugins.module_utils._base.databases import PORTS, Ports
from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import Unreachable
from ansible_collections.c5c3.ovn.plugins.module_utils._control_plane import checks, control_plane, handover
from ansible_collections.c5c3.ovn.plugins.module_utils._control_plane.handover import SouthboundHandover
from ansible_collections.c5c3.ovn.plugins.module_utils._control_plane.leader_proxy import Relays
from ansible_collections.c5c3.ovn.plugins.module_utils._control_plane.pod_database import PodDatabase
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes import client
from ansible_collections.c5c3.ovn.plugins.module_utils._manifests import central as manifests

plane = _control_plane.plane  # a fixture

Object = dict[str, t.Any]
SIZES = {"northbound": 1, "southbound": 3}
SBCTL = ("ovn-sbctl", "--no-leader-only", "--timeout=20")
CHASSIS_ROW, UNRESTRICTED_ROW = "pssl:6642:[::]", "pssl:16642:[::]"


class Site:
    """A control plane whose Southbound has three members, and the keys of those who try to use it."""

    def __init__(self, plane: ControlPlane, kubelet: KubeletInLan, chassis: Pki) -> None:
        self.plane, self.kubelet, self.authority = plane, kubelet, chassis
        self.chassis = chassis.issue("c1", usages=["client"])

    def run(self, *, rbac: bool = True, memory: str = "64Mi", **options: t.Any) -> t.Any:
        """Another `memory` is another template of the pods."""
        spec = {
            "northbound": {"replicas": SIZES["northbound"], "electionTimer": 2000},
            "southbound": {"replicas": SIZES["southbound"], "electionTimer": 2000},
            "relay": {"rbac": rbac, "resources": {"requests": {"memory": memory}}},
            "tls": {"southboundClientCaKey": "client-ca.crt"},
            "neutronIntegration": {"sbConnection": {"allowedCidrs": []}},  # there is no other client
        }
        return self.plane(**{"spec": spec, "wait": False, "wait_timeout": 300, **options})

    def as_chassis(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Run a client of the port of chassis with the key of chassis c1; ENDPOINTS stands for those ports."""
        endpoints = self.kubelet.chassis_endpoints()
        return self.kubelet.ask(self.chassis, *(word.replace("ENDPOINTS", endpoints) for word in command))

    def run_of_before(self) -> list[str]:
        """Set it up as before there were relays: members trust chassis, and serve them. Return the pods of the Southbound."""
        with self.plane.monkeypatch.context() as former:
            former.setitem(t.cast("dict[str, Ports]", PORTS), "southbound", Ports(6642, 6644, 6642))
            build = manifests.stateful_set
            former.setattr(manifests, "stateful_set", lambda context, database: former_set(build(context, database)))
            former.setattr(manifests, "relay_listeners", lambda *_: [])
            former.setattr(SouthboundHandover, "open_port", lambda *_: False)
            former.setattr(SouthboundHandover, "prepare", lambda *_: None)
            self.run(rbac=False)
        assert self.listeners() == {CHASSIS_ROW}
        assert not self.kubelet.relays
        return [name for name in self.kubelet.members if "southbound" in name]

    def killed(self, target: t.Any, name: str, instead: t.Callable[..., object] | None = None) -> None:
        """A run that dies where it would call this, or in what is called instead."""

        def die(*_: t.Any, **_options: t.Any) -> t.NoReturn:
            raise RunKilled

        with self.plane.monkeypatch.context() as one:
            one.setattr(target, name, instead or die)
            with pytest.raises(RunKilled):
                self.run(rbac=False)

    def northd_moved(self) -> bool:
        """Whether a pod of northd is ready that uses the port without a role."""
        pods = json.loads(self.plane.server.request("GET", f"/api/v1/namespaces/{self.plane.namespace}/pods"))["items"]
        words = [
            word
            for pod in pods
            if pod["metadata"]["name"].startswith("ovn-northd-")
            and (pod["status"].get("conditions") or [{}])[0].get("status") == "True"
            for word in pod["spec"]["containers"][0]["command"]
        ]
        return any(word.startswith("--ovnsb-db=") and word.count(":16642") == 3 for word in words)

    def observer_endpoints(self) -> str:
        (container,) = self.plane.get("Deployment", "ovn-observer")["spec"]["template"]["spec"]["containers"]
        (found,) = (one["value"] for one in container["env"] if one["name"] == "OVN_SOUTHBOUND")
        return str(found)

    def has_relays(self) -> bool:
        template = self.plane.get("StatefulSet", "ovn-southbound")["spec"]["template"]["spec"]
        return "initContainers" in template

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
        plane.monkeypatch.setattr(checks, "raft_address", kubelet.address)
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

    # Without a role, as for nodes that share a certificate: the Southbound is open, the rest is not. No process is restarted for that (R34).
    before = {name: process.pid for name, process in kubelet.relays.items()}
    assert site.run(rbac=False)["changed"]
    until(
        lambda: site.as_chassis(*SBCTL, "--db=ENDPOINTS", "chassis-del", "c2").returncode == 0,
        "relays that follow their settings",
        within(20),
    )
    assert {name: process.pid for name, process in kubelet.relays.items()} == before
    assert refusal(kubelet.lan, site.chassis, kubelet.lan.ipv4("ovn-southbound-0"), 6644) == "UNKNOWN_CA"
    # And back, in every relay.
    site.run()
    for pod in before:

        def is_refused(endpoint: str = f"--db=ssl:{kubelet.lan.ipv4(pod)}:6642") -> bool:
            # Another value each time: what is there already is not written.
            attack = ("set", "SB_Global", ".", f"options:x={time.monotonic_ns()}")
            return "permission error" in site.as_chassis(*SBCTL, endpoint, *attack).stderr

        until(is_refused, f"the role in {pod}", 20)


def test_relays_take_over_from_members_that_serve_chassis(site: Site) -> None:
    """As an earlier version set them up, with a northd that works. A chassis notices next to nothing, no write is lost, and there is always a northd."""
    kubelet = site.kubelet
    kubelet.northd_starts = True
    pods = site.run_of_before()
    until(kubelet.is_northd_active, "a northd", 30)
    assert [kubelet.model(pod, site.chassis) for pod in pods] == ["clustered"] * 3
    assert refusal(kubelet.lan, site.chassis, kubelet.lan.ipv4(pods[0]), 6644) == ""
    assert site.as_chassis(*SBCTL, "--db=ENDPOINTS", "chassis-add", "c1", "geneve", "192.0.2.251").returncode == 0

    seen: list[tuple[str, bool, str]] = []

    def about_to_end(pod: str) -> None:
        until(kubelet.is_northd_active, "a northd when a member ends", 5)
        seen.append((pod, site.northd_moved(), site.observer_endpoints()))

    kubelet.on_end = about_to_end
    writer = Writer(site)
    try:
        predicted = site.run(rbac=False, check=True)
        ran = site.run(rbac=False)
    finally:
        written = writer.stop()
    assert f"southbound: remove connection {CHASSIS_ROW}" in predicted["steps"]
    steps = ran["steps"]
    opened = steps.index(f"southbound: add connection {UNRESTRICTED_ROW}")
    restarts = [steps.index(step) for step in steps if "restart" in step and "southbound" in step]
    assert len(restarts) == 3
    assert opened < min(restarts) < max(restarts) < steps.index(f"southbound: remove connection {CHASSIS_ROW}")
    # northd and the observer went to the other port before the first member ended.
    assert sorted(pod for pod, _moved, _observer in seen) == pods
    assert all(moved for _pod, moved, _observer in seen)
    assert all(observer.count(":16642") == 3 for _pod, _moved, observer in seen)
    until(kubelet.is_northd_active, "a northd afterwards", 10)
    # What a chassis sees: the end of its connection, and the next pod at once.
    assert written["last"] > 20
    assert 2 <= written["connected"] <= 4 + 3
    assert written["longest"] < within(8), written
    (number,) = kubelet.sbctl(pods[0], "get", "Chassis", "c1", "external_ids:n").replace('"', "").split()
    assert int(number) >= written["last"]  # the last one may be written and not acknowledged
    assert sorted(kubelet.relays) == pods
    assert [kubelet.model(pod, site.chassis) for pod in pods] == ["relay"] * 3
    assert refusal(kubelet.lan, site.chassis, kubelet.lan.ipv4(pods[0]), 6644) == "UNKNOWN_CA"
    again = site.run(rbac=False)
    assert again["steps"] == []
    assert not again["changed"]


def test_a_handover_that_is_killed_anywhere_is_finished(site: Site) -> None:
    """By the next run, from what members and northd say. No member ends before a northd is at the other port."""
    kubelet, ended = site.kubelet, list[str]()
    kubelet.northd_starts = True
    pods = site.run_of_before()
    until(kubelet.is_northd_active, "a northd", 30)

    def about_to_end(pod: str) -> None:
        assert site.northd_moved()
        until(kubelet.is_northd_active, "a northd when a member ends", 5)
        ended.append(pod)

    kubelet.on_end = about_to_end
    # Once the row is there.
    site.killed(SouthboundHandover, "move_clients")
    assert site.listeners() == {CHASSIS_ROW, UNRESTRICTED_ROW}
    assert not site.has_relays()
    # Once the Deployment of northd is applied; its pod may be ready or not.
    site.killed(handover, "await_northd_pods")
    assert not site.has_relays()
    # Once northd has moved.
    prepare = SouthboundHandover.prepare

    def die_afterwards(*arguments: t.Any) -> t.NoReturn:
        prepare(*arguments)
        raise RunKilled

    site.killed(SouthboundHandover, "prepare", die_afterwards)
    assert site.northd_moved()
    assert not site.has_relays()
    assert ended == []
    # Once the StatefulSet is applied.
    site.killed(control_plane, "roll_out_databases")
    assert site.has_relays()
    assert ended == []
    # Once the first member was restarted.
    wait = Relays.wait

    def die_after_the_first(relays: Relays, names: t.Collection[str], deadline: t.Any) -> bool:
        if names:
            raise RunKilled
        return wait(relays, names, deadline)

    site.killed(Relays, "wait", die_after_the_first)
    assert len(ended) == 1
    site.run(rbac=False)
    assert sorted(ended) == pods
    assert site.listeners() == {UNRESTRICTED_ROW}
    until(kubelet.is_northd_active, "a northd afterwards", 10)


def test_a_northd_that_cannot_move_stops_the_run_before_the_first_restart(site: Site) -> None:
    kubelet, ended = site.kubelet, list[str]()
    kubelet.northd_starts = True
    site.run_of_before()
    until(kubelet.is_northd_active, "a northd", 30)
    kubelet.on_end, kubelet.northd_starts = ended.append, False
    with site.plane.monkeypatch.context() as impatient:
        impatient.setattr(handover, "_NORTHD_SECONDS", 5.0)
        for _attempt in range(2):  # the Deployment is applied by then, and decides nothing
            ran = site.run(rbac=False, may_fail=True)
            assert ran["msg"].startswith("northd did not move to port 16642: none of its new pods is ready, after 5 s.")
            assert ran["msg"].endswith("This run restarts no Southbound member before. Correct it, then run again.")
    assert ended == []
    assert not site.has_relays()
    assert kubelet.is_northd_active()
    kubelet.northd_starts = True
    kubelet.run_northd()
    site.run(rbac=False)
    assert len(ended) == 3
    until(kubelet.is_northd_active, "a northd afterwards", 10)


def test_a_port_that_members_have_lost_is_opened_before_a_restart(site: Site) -> None:
    """The next relay would wait for it for ever (R29): with a database of before that was restored, or by hand. If it cannot be, nothing is restarted."""
    site.run()
    kubelet, ended = site.kubelet, list[str]()
    kubelet.sbctl("ovn-southbound-0", "set-connection", CHASSIS_ROW)
    kubelet.on_end = ended.append

    def unreachable(*_: t.Any) -> t.NoReturn:
        raise Unreachable("the node does not answer")

    before = site.plane.get("StatefulSet", "ovn-southbound")["spec"]["template"]
    with site.plane.monkeypatch.context() as broken:
        broken.setattr(PodDatabase, "write", unreachable)
        broken.setattr(handover, "_OPEN_SECONDS", 3.0)
        ran = site.run(memory="65Mi", may_fail=True)
    assert ran["msg"].startswith("The Southbound members cannot listen on port 16642, where their relays connect: ")
    assert "the node does not answer" in ran["msg"]
    assert ended == []
    assert site.plane.get("StatefulSet", "ovn-southbound")["spec"]["template"] == before
    steps = site.run(memory="65Mi")["steps"]
    assert len(ended) == 3
    opened = steps.index(f"southbound: add connection {UNRESTRICTED_ROW}")
    assert opened < min(index for index, step in enumerate(steps) if "restart" in step)
    assert site.listeners() == {UNRESTRICTED_ROW}


def test_a_first_run_that_was_killed_before_the_ports_were_opened(site: Site) -> None:
    """Then the template changes. Without rows no relay would ever serve a chassis."""
    site.killed(control_plane, "converge_settings")
    assert site.listeners() == set()
    ended: list[str] = []
    site.kubelet.on_end = ended.append
    site.run(rbac=False, memory="65Mi")
    assert len(ended) == 3
    assert [site.kubelet.model(pod, site.chassis) for pod in site.kubelet.relays] == ["relay"] * 3


def test_a_relay_that_serves_nobody_stops_the_rollout(site: Site) -> None:
    """Something else has its port. Chassis still have the other pods; the next run goes on."""
    site.run()
    kubelet = site.kubelet
    ended: list[str] = []
    kubelet.on_end, kubelet.occupies_port = ended.append, True
    ran = site.run(memory="65Mi", wait_timeout=60, may_fail=True)
    assert ran.failed
    assert len(ended) == 1
    assert f"The relay in pod {ended[0]} serves no chassis after" in ran["msg"]
    assert "does not listen for chassis" in ran["msg"]
    assert f"logs {ended[0]} -c relay, then run again." in ran["msg"]
    # The template has not changed since, so the next run does not restart this pod again, and waits for it before it goes on.
    ran = site.run(memory="65Mi", wait_timeout=60, may_fail=True)
    assert f"The relay in pod {ended[0]} serves no chassis after" in ran["msg"]
    assert len(ended) == 1
    kubelet.occupies_port = False
    kubelet.free_port(ended[0])
    site.run(memory="65Mi")
    assert len(ended) == 3
    assert len(set(ended)) == 3


class Writer:
    """Chassis c1 writes one number after the other, through one connection as long as that lasts."""

    def __init__(self, site: Site) -> None:
        kubelet, pair = site.kubelet, site.chassis
        script = [sys.executable, _chassis_writer.__file__]
        words = [pair.private_key, pair.certificate, str(kubelet.tls / "ca.crt"), kubelet.chassis_endpoints()]
        command = [*kubelet.lan.enter(HYPERVISOR), *script, *words]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    def stop(self) -> t.Any:
        self._process.send_signal(signal.SIGTERM)
        return json.loads(self._process.communicate(timeout=90)[0])


def former_set(stateful_set: Object) -> Object:
    """Return the StatefulSet as it was before there were relays: members trust chassis, and serve them."""
    result = copy.deepcopy(stateful_set)
    pod = result["spec"]["template"]["spec"]
    if pod.pop("initContainers", None):
        pod["volumes"] = [volume for volume in pod["volumes"] if not volume["name"].startswith(("relay-", "listeners"))]
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
