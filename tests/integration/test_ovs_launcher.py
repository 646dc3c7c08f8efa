"""The script of the hypervisor pods with real daemons, in a network namespace that stands for a node."""

from __future__ import annotations

import contextlib
import itertools
import os
import pathlib
import shutil
import signal
import subprocess
import typing as t

import pytest
from _vswitch import Vswitch, require_vswitch
from _waits import stays
from conftest import Daemon, listens, run, until

from ansible_collections.c5c3.ovn.plugins.module_utils._daemons.chassis_launcher import SCRIPT


class Node:
    """A node: `start(role)` is a container, `sh(role, verb)` a probe or hook in it."""

    def __init__(self, directory: pathlib.Path) -> None:
        self.directory = directory
        self.script = directory / "ovn-chassis-launcher"
        self.script.write_text(SCRIPT)
        self.sockets, self.databases, self.run = (directory / name for name in ("run", "db", "ovn"))
        for folder in (self.sockets, self.databases, self.run):
            folder.mkdir()
        self.namespace = f"c5c3-{os.getpid()}-launcher"
        self.variables: dict[str, str] = {"OVS_DATAPATH": "netdev"}
        self.daemons: dict[str, Daemon] = {}
        run("ip", "netns", "add", self.namespace)
        self.ip("link", "set", "lo", "up")

    def ip(self, *arguments: str) -> str:
        return run("ip", "-n", self.namespace, *arguments)

    @property
    def environment(self) -> list[str]:
        places = {
            "OVS_RUNDIR": self.sockets,
            "OVS_DB_FILE": self.databases / "conf.db",
            "OVN_RUNDIR": self.run,
            "OVS_SYSCONFDIR": self.run,
            "OVS_LOGDIR": self.run,
            "OVN_LOGDIR": self.run,
        }
        return [f"{key}={value}" for key, value in {**places, **self.variables}.items()]

    def command(self, *arguments: str) -> list[str]:
        # A mount namespace of its own: `ip netns exec` shows the sysfs of the namespace.
        return ["ip", "netns", "exec", self.namespace, "env", *self.environment, "sh", str(self.script), *arguments]

    def start(self, *roles: str) -> None:
        for role in roles:
            self.daemons[role] = Daemon(self.command(role), self.directory / f"{role}.log")

    def output(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(self.command(*arguments), check=False, timeout=30, capture_output=True, text=True)

    def sh(self, *arguments: str) -> int:
        return self.output(*arguments).returncode

    def until_ready(self, *roles: str) -> None:
        for role in roles:
            until(lambda role=role: self.sh("ready", role) == 0, f"{role} to be ready: {self.log(role)}", 40)

    def log(self, role: str) -> str:
        path = self.directory / f"{role}.log"
        return path.read_text() if path.exists() else ""

    def vsctl(self, *arguments: str) -> str:
        return run("ovs-vsctl", f"--db=unix:{self.sockets}/db.sock", "--timeout=20", *arguments).strip()

    def stop(self, role: str) -> int:
        """As kubelet: the hook, then the signal, then patience."""
        assert self.sh("stop", role) == 0
        self.daemons[role].signal(signal.SIGTERM)
        return self.daemons[role].wait(20)

    def end(self) -> None:
        for role, target in (("controller", None), ("vswitchd", "ovs-vswitchd.ctl"), ("database", "ovsdb-server.ctl")):
            if role in self.daemons and self.daemons[role].running:
                self.daemons[role].signal(signal.SIGTERM)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self.daemons[role].wait(10)
            if target and (self.sockets / target).exists():
                subprocess.run(
                    ["ovs-appctl", "-T", "2", "-t", str(self.sockets / target), "exit"],
                    check=False,
                    capture_output=True,
                )
            if role in self.daemons:
                self.daemons[role].kill()
        subprocess.run(["ip", "netns", "delete", self.namespace], check=False, timeout=20)

    def addresses(self, device: str) -> list[str]:
        lines = subprocess.run(
            ["ip", "-n", self.namespace, "-o", "address", "show", "dev", device, "scope", "global"],
            capture_output=True,
            text=True,
            check=False,
        ).stdout.splitlines()
        return sorted(line.split()[3] for line in lines)

    def routes(self) -> list[str]:
        return [line.strip() for line in self.ip("-4", "route", "show").splitlines()]


@pytest.fixture
def node(short_dir: pathlib.Path) -> t.Iterator[Node]:
    require_vswitch()
    node = Node(short_dir)
    try:
        yield node
    finally:
        node.end()


@pytest.fixture
def underlay(node: Node) -> Node:
    """eth1 with two addresses and a route; the other end answers."""
    node.variables.update(OVS_UNDERLAY_BRIDGE="br-phy", OVS_UNDERLAY_INTERFACE="eth1")
    node.ip("link", "add", "eth1", "mtu", "1600", "type", "veth", "peer", "name", "far", "mtu", "1600")
    node.ip("link", "set", "eth1", "up")
    node.ip("link", "set", "far", "up")
    node.ip("address", "add", "198.51.100.21/24", "dev", "eth1")
    node.ip("address", "add", "2001:db8::21/64", "dev", "eth1", "nodad")
    node.ip("route", "add", "203.0.113.0/24", "via", "198.51.100.1", "dev", "eth1")
    return node


BOTH = ["198.51.100.21/24", "2001:db8::21/64"]


def test_the_database_outlives_its_containers(node: Node) -> None:
    node.start("database")
    node.until_ready("database")
    node.vsctl("--no-wait", "set", "Open_vSwitch", ".", "external_ids:mine=1")
    assert node.stop("database") == 0
    node.start("database")
    node.until_ready("database")
    assert node.vsctl("get", "Open_vSwitch", ".", "external_ids:mine") == '"1"'
    node.daemons["database"].kill()
    # The shell was killed, as a container is; its child goes with the container.
    subprocess.run(["ovs-appctl", "-T", "5", "-t", f"{node.sockets}/ovsdb-server.ctl", "exit"], check=True)
    node.start("database")
    node.until_ready("database")
    assert node.vsctl("get", "Open_vSwitch", ".", "external_ids:mine") == '"1"'


def test_an_older_schema_is_converted_and_kept(node: Node) -> None:
    schema = pathlib.Path("/usr/share/openvswitch/vswitch.ovsschema").read_text()
    run("ovsdb-tool", "create", str(node.databases / "conf.db"), "/usr/share/openvswitch/vswitch.ovsschema")
    newer = node.directory / "newer.ovsschema"
    version = run("ovsdb-tool", "db-version", str(node.databases / "conf.db")).strip()
    newer.write_text(schema.replace(f'"version": "{version}"', '"version": "99.0.0"'))
    node.variables["OVS_SCHEMA"] = str(newer)
    node.start("database")
    node.until_ready("database")
    assert "converting" in node.log("database")
    assert (node.databases / f"conf.db.before-{version}").exists()
    assert node.stop("database") == 0
    assert run("ovsdb-tool", "db-version", str(node.databases / "conf.db")).strip() == "99.0.0"


def test_a_damaged_database_is_left_alone(node: Node) -> None:
    file = node.databases / "conf.db"
    file.write_text("this is no database\n")
    node.start("database")
    assert node.daemons["database"].wait(20) == 1
    assert "is unreadable. It is left alone" in node.log("database")
    assert file.read_text() == "this is no database\n"


def test_the_controller_waits_for_settings_and_ends_gently(node: Node) -> None:
    node.start("database", "vswitchd", "controller")
    node.until_ready("database", "vswitchd")
    until(lambda: "waiting for the settings" in node.log("controller"), "the controller to wait")
    assert node.sh("alive", "controller") == 0
    assert node.sh("ready", "controller") != 0
    assert "br-int" not in node.vsctl("list-br")
    node.vsctl("--no-wait", "set", "Open_vSwitch", ".", "external_ids:ovn-bridge-datapath-type=netdev")
    (node.run / "settled").touch()
    until(lambda: "br-int" in node.vsctl("list-br").split(), "br-int")
    assert node.vsctl("get", "Bridge", "br-int", "datapath_type") == "netdev"
    assert node.sh("alive", "controller") == 0
    assert node.sh("ready", "controller") != 0, "not connected to a Southbound database"
    assert node.stop("controller") == 0


def test_a_controller_that_waits_ends_at_once(node: Node) -> None:
    node.start("controller")
    until(lambda: "waiting" in node.log("controller"), "the controller to wait")
    node.daemons["controller"].signal(signal.SIGTERM)
    assert node.daemons["controller"].wait(5) == 0


def test_the_underlay_moves_to_the_bridge_and_back(underlay: Node) -> None:
    node = underlay
    node.start("database", "vswitchd")
    node.until_ready("database", "vswitchd")
    assert node.addresses("br-phy") == BOTH
    assert node.addresses("eth1") == []
    assert any(r.startswith("203.0.113.0/24 via 198.51.100.1 dev br-phy") for r in node.routes())
    assert node.vsctl("list-ports", "br-phy") == "eth1"
    mac = node.ip("-o", "link", "show", "dev", "eth1").split("link/ether ")[1].split()[0]
    assert mac in node.ip("-o", "link", "show", "dev", "br-phy")
    assert "mtu 1600" in node.ip("-o", "link", "show", "dev", "br-phy")

    assert node.stop("vswitchd") == 0
    assert node.addresses("eth1") == BOTH, "without ovs-vswitchd the node has to be reachable"
    assert node.addresses("br-phy") == []
    assert any(r.startswith("203.0.113.0/24 via 198.51.100.1 dev eth1") for r in node.routes())

    node.start("vswitchd")
    node.until_ready("vswitchd")
    assert node.addresses("br-phy") == BOTH
    assert node.addresses("eth1") == []


def test_the_underlay_survives_a_kill(underlay: Node) -> None:
    node = underlay
    node.start("database", "vswitchd")
    node.until_ready("database", "vswitchd")
    pid = int(run("pgrep", "-f", f"ovs-vswitchd unix:{node.sockets}/db.sock").split()[0])
    node.daemons["vswitchd"].kill()
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    assert node.addresses("eth1") == []
    subprocess.run(["ip", "-n", node.namespace, "link", "delete", "br-phy"], check=False, timeout=20)
    node.start("vswitchd")
    node.until_ready("vswitchd")
    assert node.addresses("br-phy") == BOTH


def test_a_reboot_takes_the_addresses_of_the_day(underlay: Node) -> None:
    node = underlay
    node.start("database", "vswitchd")
    node.until_ready("database", "vswitchd")
    assert node.stop("vswitchd") == 0
    assert node.stop("database") == 0
    node.ip("address", "flush", "dev", "eth1")
    node.ip("address", "add", "198.51.100.99/24", "dev", "eth1")
    node.start("database", "vswitchd")
    node.until_ready("database", "vswitchd")
    assert node.addresses("br-phy") == ["198.51.100.99/24"]


def reboot(node: Node) -> None:
    """Without an address of eth1 yet."""
    assert node.stop("vswitchd") == 0
    assert node.stop("database") == 0
    node.ip("address", "flush", "dev", "eth1")
    file = node.databases / "underlay-br-phy"
    boot = pathlib.Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    assert f"boot {boot}" in file.read_text()
    file.write_text(file.read_text().replace(boot, "another"))


def test_after_a_reboot_an_address_may_come_late(underlay: Node) -> None:
    node = underlay
    node.start("database", "vswitchd")
    node.until_ready("database", "vswitchd")
    reboot(node)
    node.start("database", "vswitchd")
    until(lambda: "waiting for an address" in node.log("vswitchd"), "the script to wait")
    assert node.sh("ready", "vswitchd") != 0
    node.ip("address", "add", "198.51.100.99/24", "dev", "eth1")
    node.until_ready("vswitchd")
    assert node.addresses("br-phy") == ["198.51.100.99/24"]
    assert node.addresses("eth1") == []


def test_after_a_reboot_without_any_address_those_of_the_last_day_count(underlay: Node) -> None:
    node = underlay
    node.variables["OVS_UNDERLAY_TRIES"] = "1"
    node.start("database", "vswitchd")
    node.until_ready("database", "vswitchd")
    reboot(node)
    node.start("database", "vswitchd")
    node.until_ready("database", "vswitchd")
    assert node.addresses("br-phy") == BOTH


@pytest.fixture
def kernel(node: Node) -> Node:
    """A node with br-int that has run before. Its bridge is in user space here, for want of the kernel's module."""
    node.variables["OVS_DATAPATH"] = "system"
    node.start("database")
    node.until_ready("database")
    node.vsctl("--no-wait", "add-br", "br-int", "--", "set", "Bridge", "br-int", "datapath_type=netdev")
    node.vsctl("--no-wait", "set-fail-mode", "br-int", "secure")
    node.ip("link", "add", "ovs-system", "type", "veth", "peer", "name", "other-end")
    return node


def fail_every_other(node: Node, program: str) -> None:
    """Let every second call of the program fail in the containers of the node."""
    folder = node.directory / "programs"
    folder.mkdir()
    mark, path = folder / "fails", shutil.which(program)
    wrapper = folder / program
    wrapper.write_text(f'#!/bin/sh\nrm {mark} 2>/dev/null && exit 1\n>{mark}\nexec {path} "$@"\n')
    wrapper.chmod(0o755)
    node.variables["PATH"] = f"{folder}:{os.environ['PATH']}"


def waits(node: Node) -> bool:
    return "flow-restore-wait" in node.vsctl("get", "Open_vSwitch", ".", "other_config")


def test_the_kernel_keeps_its_flows_until_there_are_new_ones(kernel: Node) -> None:
    kernel.start("vswitchd")
    kernel.until_ready("vswitchd")
    assert waits(kernel)
    until(lambda: listens(kernel.sockets / "br-int.mgmt"), "the bridge")
    run("ovs-ofctl", "add-flow", f"unix:{kernel.sockets}/br-int.mgmt", "actions=drop")
    until(lambda: not waits(kernel), "the end of the wait", 10)
    until(lambda: "br-int has 1 flows" in kernel.log("vswitchd"), "the reason in its log", 10)


def test_the_kernel_does_not_keep_its_flows_forever(kernel: Node) -> None:
    kernel.variables["OVS_FLOW_WAIT"] = "2"
    kernel.start("vswitchd")
    until(lambda: waits(kernel), "the wait")
    until(lambda: not waits(kernel), "its end", 15)


@pytest.mark.parametrize("fails", [False, True], ids=["each reading succeeds", "every other reading fails"])
def test_the_kernel_keeps_its_flows_as_long_as_new_ones_come(kernel: Node, fails: bool) -> None:
    """Longer than it would wait without any."""
    kernel.variables["OVS_FLOW_WAIT"] = "2"
    if fails:
        fail_every_other(kernel, "ovs-ofctl")
    kernel.start("vswitchd")
    kernel.until_ready("vswitchd")
    bridge = kernel.sockets / "br-int.mgmt"
    until(lambda: listens(bridge), "the bridge")
    priorities = itertools.count(1)

    def waits_with_one_more() -> bool:
        run("ovs-ofctl", "add-flow", f"unix:{bridge}", f"priority={next(priorities)},actions=drop")
        return waits(kernel)

    stays(waits_with_one_more, "flow-restore-wait stays set", 6)
    until(lambda: not waits(kernel), "the end of the wait", 10)


def test_the_kernel_keeps_its_flows_in_a_pause_of_many_new_ones(kernel: Node) -> None:
    """ovn-controller writes those of thousands of ports in parts."""
    kernel.start("vswitchd")
    kernel.until_ready("vswitchd")
    bridge = kernel.sockets / "br-int.mgmt"
    until(lambda: listens(bridge), "the bridge")
    flows = kernel.directory / "flows"
    flows.write_text("".join(f"priority={number},actions=drop\n" for number in range(1, 20001)))
    run("ovs-ofctl", "--bundle", "add-flows", f"unix:{bridge}", str(flows))
    stays(lambda: waits(kernel), "flow-restore-wait stays set", 3)
    until(lambda: not waits(kernel), "the end of the wait", 15)


@pytest.mark.parametrize("first", [True, False], ids=["after a boot", "in user space"])
def test_nothing_waits_where_no_flows_are_kept(kernel: Node, first: bool) -> None:
    kernel.vsctl("--no-wait", "set", "Open_vSwitch", ".", "other_config:flow-restore-wait=true")
    if first:
        kernel.ip("link", "delete", "ovs-system")
    else:
        kernel.variables["OVS_DATAPATH"] = "netdev"
    kernel.start("vswitchd")
    kernel.until_ready("vswitchd")
    assert not waits(kernel)


def test_an_underlay_that_is_not_wanted_any_more_is_given_back(underlay: Node) -> None:
    node = underlay
    node.start("database", "vswitchd")
    node.until_ready("database", "vswitchd")
    assert node.stop("vswitchd") == 0
    del node.variables["OVS_UNDERLAY_BRIDGE"], node.variables["OVS_UNDERLAY_INTERFACE"]
    node.start("vswitchd")
    node.until_ready("vswitchd")
    assert node.vsctl("list-br") == ""
    assert node.addresses("eth1") == BOTH
    assert list(node.databases.glob("underlay-*")) == []


def test_a_missing_interface_is_reported_and_awaited(node: Node) -> None:
    node.variables.update(OVS_UNDERLAY_BRIDGE="br-phy", OVS_UNDERLAY_INTERFACE="eth9")
    node.start("database", "vswitchd")
    node.until_ready("database")
    until(lambda: "this node has no interface eth9" in node.log("vswitchd"), "the reason")
    until(lambda: node.sh("alive", "vswitchd") == 0, "ovs-vswitchd runs all the same")
    assert node.sh("ready", "vswitchd") != 0
    node.ip("link", "add", "eth9", "type", "veth", "peer", "name", "far")
    node.ip("address", "add", "198.51.100.21/24", "dev", "eth9")
    node.until_ready("vswitchd")
    assert node.addresses("br-phy") == ["198.51.100.21/24"]


@pytest.fixture
def theirs(node: Node) -> t.Iterator[Vswitch]:
    """An Open vSwitch of a network plugin in the network of the node, in user space, with a bridge and a port."""
    with Vswitch(node.directory, "plugin", namespace=node.namespace) as plugin:
        plugin.start_vswitchd()
        node.ip("link", "add", "pod1", "type", "veth", "peer", "name", "pod1-end")
        plugin.vsctl("add-br", "br-plugin", "--", "set", "Bridge", "br-plugin", "datapath_type=netdev")
        plugin.vsctl("add-port", "br-plugin", "pod1", "--", "set", "Interface", "pod1", "external_ids:pod=theirs")
        version = ("get", "Bridge", "br-plugin", "datapath_version")
        until(lambda: plugin.vsctl(*version) == '"<built-in>"', "the last thing that ovs-vswitchd writes")
        yield plugin


@pytest.mark.parametrize("datapath", ["netdev", "system"])
def test_ours_waits_beside_an_open_vswitch_of_others(node: Node, theirs: Vswitch, datapath: str) -> None:
    node.variables.update(OVS_DATAPATH=datapath, OVS_OTHERS_PAUSE="1")
    file, pid = (theirs.directory / "conf.db").read_bytes(), theirs.daemons["ovs-vswitchd"].pid
    node.start("database", "vswitchd")
    node.until_ready("database")
    until(lambda: "this node has another Open vSwitch" in node.log("vswitchd"), "the reason")
    assert f"it listens at {theirs.directory}/ovs-vswitchd.ctl and has the bridges br-plugin" in node.log("vswitchd")
    assert node.sh("alive", "vswitchd") == 0, "it must not be killed and started again without end"
    ready = node.output("ready", "vswitchd")
    assert ready.returncode != 0
    assert "ovs-vswitchd is not started, because" in ready.stdout, "the event of the probe"
    assert not (node.sockets / "ovs-vswitchd.ctl").exists()
    assert (theirs.directory / "conf.db").read_bytes() == file
    assert os.path.exists(f"/proc/{pid}")
    theirs.daemons["ovs-vswitchd"].kill()
    node.until_ready("vswitchd")


def test_a_pod_that_waits_ends_at_once(node: Node, theirs: Vswitch) -> None:
    node.start("database", "vswitchd")
    until(lambda: "this node has another Open vSwitch" in node.log("vswitchd"), "the reason")
    node.daemons["vswitchd"].signal(signal.SIGTERM)
    assert node.daemons["vswitchd"].wait(5) == 0


@pytest.fixture
def left(node: Node) -> Node:
    """The kernel's datapath with two ports of a plugin whose daemon is away. It is a bridge of Linux here, for want of the module."""
    node.variables.update(OVS_DATAPATH="system", OVS_OTHERS_PAUSE="1")
    node.ip("link", "add", "ovs-system", "type", "bridge")
    for name in ("pod1", "pod2"):
        node.ip("link", "add", name, "type", "veth", "peer", "name", f"{name}-end")
        node.ip("link", "set", name, "master", "ovs-system")
    return node


def test_ports_that_others_have_in_the_kernel(left: Node) -> None:
    left.start("database", "vswitchd")
    until(lambda: "this node has another Open vSwitch" in left.log("vswitchd"), "the reason")
    assert "the kernel's datapath has the ports pod1 pod2, which the database of this node lacks" in left.log(
        "vswitchd"
    )
    left.vsctl("--no-wait", "add-br", "br-x", "--", "set", "Bridge", "br-x", "datapath_type=netdev")
    left.vsctl("--no-wait", "add-port", "br-x", "pod1")
    until(lambda: "has the ports pod2, which" in left.log("vswitchd"), "the one that is left")
    left.vsctl("--no-wait", "add-port", "br-x", "pod2")
    left.until_ready("vswitchd")


def test_a_port_that_was_removed_while_ours_was_away(left: Node) -> None:
    left.ip("link", "set", "pod1", "nomaster")
    left.ip("link", "set", "pod2", "nomaster")
    left.start("database", "vswitchd")
    left.until_ready("vswitchd")
    assert left.stop("vswitchd") == 0
    left.ip("link", "set", "pod1", "master", "ovs-system")
    left.start("vswitchd")
    left.until_ready("vswitchd")
    assert left.stop("vswitchd") == 0
    mark = left.databases / "datapath"
    mark.write_text("an earlier boot\n")
    left.start("vswitchd")
    until(lambda: "this node has another Open vSwitch" in left.log("vswitchd"), "the reason")


def test_a_node_that_has_just_booted_is_given_time(node: Node) -> None:
    """Open vSwitch 3.1 would have no thread for new packets (`_daemons/flow_restore.py`)."""
    node.start("database")
    node.until_ready("database")
    uptime = node.directory / "uptime"
    uptime.write_text("6.90 12.00\n")
    exec_in, command = node.command("vswitchd")[:4], node.command("vswitchd")[4:]
    just_booted = ["sh", "-c", 'mount --bind "$0" /proc/uptime && exec "$@"', str(uptime)]
    node.daemons["vswitchd"] = Daemon([*exec_in, *just_booted, *command], node.directory / "vswitchd.log")
    pause = ["pgrep", "--parent", str(node.daemons["vswitchd"].pid), "--full", "^sleep 4$"]
    until(lambda: subprocess.run(pause, check=False, capture_output=True).returncode == 0, "the launcher to wait")
    assert not (node.sockets / "ovs-vswitchd.ctl").exists()
    node.until_ready("vswitchd")
