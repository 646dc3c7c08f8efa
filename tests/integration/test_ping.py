"""The guests of the connectivity test against a real ovs-vswitchd, on loopback."""

from __future__ import annotations

import os
import pathlib
import subprocess
import typing as t

import pytest
from _vswitch import Vswitch
from conftest import RunModule, run, until


@pytest.fixture
def vswitch(daemons: None, short_dir: pathlib.Path) -> t.Iterator[Vswitch]:
    """With a bridge br-int that switches by itself: the part of ovn-controller is played by the test."""
    vswitch = Vswitch(short_dir, "ping")
    try:
        vswitch.start()
        vswitch.start_vswitchd()
        vswitch.vsctl("add-br", "br-int", "--", "set", "Bridge", "br-int", "datapath_type=netdev")
        yield vswitch
    finally:
        for number in (1, 2):
            subprocess.run(["ip", "netns", "delete", f"c5c3-{os.getpid()}-t{number}"], check=False, timeout=20)
        vswitch.stop()


class Guests:
    """Two guests of one switch. nsenter, not `ip netns exec`: namespaces made in its mount namespace would be lost."""

    def __init__(self, vswitch: Vswitch, run_module: RunModule) -> None:
        self.vswitch = vswitch
        self.run_module = run_module
        self.prefix = ["nsenter", f"--net=/run/netns/{vswitch.namespace}"]

    def limit(self, capabilities: t.Iterable[str]) -> None:
        """As in the pod of a guest: whatever root does from now on, it has these capabilities and never more."""
        kept = ",".join(["-all", *(f"+{capability}" for capability in capabilities)])
        self.prefix += ["setpriv", "--no-new-privs", f"--bounding-set={kept}", "--inh-caps=-all"]

    def namespace(self, number: int) -> str:
        return f"c5c3-{os.getpid()}-t{number}"

    def port(self, number: int, *, check: bool = False, may_fail: bool = False, **changes: t.Any) -> t.Any:
        options = {
            "logical_port": f"t-h{number}",
            "mac": f"02:c5:c3:00:00:0{number}",
            "address": f"198.18.0.{number}/16",
            "namespace": self.namespace(number),
            "device": f"guest{number}",
            "database": self.vswitch.endpoint,
            "wait_timeout": 20,
            **changes,
        }
        return self.run_module("ovn_test_port", options, check, may_fail=may_fail, prefix=self.prefix)

    def installed(self, number: int) -> None:
        """What ovn-controller does once the flows are there."""
        self.vswitch.vsctl("set", "Interface", f"guest{number}", "external_ids:ovn-installed=true")

    def ping(self, address: str, *, may_fail: bool = False, **changes: t.Any) -> t.Any:
        options = {
            "namespace": self.namespace(1),
            "targets": [{"name": "t-h2", "address": address}],
            "wait_timeout": 10,
            **changes,
        }
        return self.run_module("ovn_ping", options, may_fail=may_fail, prefix=self.prefix)


def test_guests_ping(vswitch: Vswitch, run_module: RunModule) -> None:
    guests = Guests(vswitch, run_module)

    assert guests.port(1, check=True)["changed"]
    assert vswitch.bridges() == {"br-int": []}
    late = guests.port(1, may_fail=True, wait_timeout=3)
    assert late.failed
    assert "did not install the flows of logical port t-h1 within 3 s" in late["msg"]
    guests.installed(1)
    assert not guests.port(1)["changed"]  # the run that failed had done its part
    assert not guests.port(1, check=True)["changed"]
    guests.port(2, may_fail=True, wait_timeout=3)
    guests.installed(2)

    result = guests.ping("198.18.0.2")
    assert result["results"][0]["received"] == 5
    assert result["results"][0]["tunnel"] is None
    assert not result["changed"]
    assert "5 of 5 answers" in result["report"][0]

    silent = guests.ping("198.18.0.99", may_fail=True, wait_timeout=1)
    assert silent.failed
    assert "no answer at all" in silent["msg"]
    assert not guests.ping("198.18.0.99", wait_timeout=1, max_loss=100).failed
    large = guests.ping("198.18.0.2", may_fail=True, wait_timeout=1, packet_size=2000)
    assert "Message too long" in large["msg"]

    offload = f"ip netns exec {guests.namespace(1)} ethtool -K eth0 tx on".split()
    subprocess.run(offload, check=False, timeout=20, capture_output=True)  # ethtool is not everywhere
    run("ip", "-n", guests.namespace(1), "link", "set", "dev", "eth0", "mtu", "1000")
    assert guests.port(1, check=True)["commands"] == [f"ip -netns {guests.namespace(1)} link set dev eth0 mtu 1400"]
    assert guests.port(1)["changed"]
    assert not guests.port(1)["changed"]

    # The namespace is lost, as after a reboot, while Open vSwitch still has the port.
    run("ip", "netns", "delete", guests.namespace(1))
    until(lambda: guests.port(1, check=True, may_fail=True)["changed"], "the loss to be seen")
    # On a busy host a run may end before, while the old port is removed; the next one goes on.
    flows = "did not install the flows"
    until(lambda: flows in guests.port(1, may_fail=True, wait_timeout=2)["msg"], "the port to be there again")
    guests.installed(1)
    assert not guests.port(1)["changed"]
    assert guests.ping("198.18.0.2")["ok"]

    for number in (1, 2):
        assert guests.port(number, state="absent", check=True)["changed"]
        assert guests.port(number, state="absent")["changed"]
        assert not guests.port(number, state="absent")["changed"]
    assert vswitch.bridges() == {"br-int": []}


def test_guests_ping_over_ipv6(vswitch: Vswitch, run_module: RunModule) -> None:
    guests = Guests(vswitch, run_module)
    for number in (1, 2):
        guests.port(number, may_fail=True, wait_timeout=3)  # one that had IPv4 before
        guests.installed(number)
        assert guests.port(number, address=f"2001:2::{number}/48")["changed"]
        assert not guests.port(number, address=f"2001:2::{number}/48")["changed"]
    result = guests.ping("2001:2::0:2", packet_size=1400)
    assert result["results"][0]["received"] == 5
    assert guests.ping("198.18.0.2", may_fail=True, wait_timeout=1).failed
    silent = guests.ping("2001:2::99", may_fail=True, wait_timeout=1)
    assert "no answer at all" in silent["msg"]
    large = guests.ping("2001:2::2", may_fail=True, wait_timeout=1, packet_size=2000)
    assert "Message too long" in large["msg"]
    for number in (1, 2):
        assert guests.port(number, state="absent")["changed"]


POD = ("sys_admin", "net_admin", "net_raw")  # roles/ovn_ping/templates/guest_pods.yml.j2


def test_the_capabilities_of_the_pod_are_enough(vswitch: Vswitch, run_module: RunModule) -> None:
    guests = Guests(vswitch, run_module)
    guests.limit(POD)
    for number in (1, 2):
        late = guests.port(number, may_fail=True, wait_timeout=3)
        assert "did not install the flows" in late["msg"]
        guests.installed(number)
        assert not guests.port(number)["changed"]
    assert guests.ping("198.18.0.2")["results"][0]["received"] == 5
    for number in (1, 2):
        assert guests.port(number, state="absent")["changed"]
    assert vswitch.bridges() == {"br-int": []}


@pytest.mark.parametrize(
    ("missing", "words"),
    [
        pytest.param("sys_admin", "netns add", id="no namespaces"),
        pytest.param("net_admin", "Operation not permitted", id="no devices"),
        pytest.param("net_raw", "raw sockets need root", id="no packets"),
    ],
)
def test_each_capability_of_the_pod_is_needed(
    vswitch: Vswitch, run_module: RunModule, missing: str, words: str
) -> None:
    guests = Guests(vswitch, run_module)
    guests.limit(capability for capability in POD if capability != missing)
    failed = guests.port(1, may_fail=True, wait_timeout=1)
    if missing == "net_raw":
        guests.installed(1)
        failed = guests.ping("198.18.0.2", may_fail=True)
    assert failed.failed
    assert words in failed["msg"]


def test_guest_refuses(vswitch: Vswitch, run_module: RunModule) -> None:
    guests = Guests(vswitch, run_module)
    vswitch.device("guest1")
    vswitch.vsctl("add-br", "br-ex", "--", "add-port", "br-ex", "guest1")
    before = vswitch.dump()
    for changes, words in (
        ({}, "already a port of bridge br-ex"),
        ({"bridge": "br-none"}, "There is no bridge br-none"),
        ({"address": "198.18.0.1/99"}, "not an IP address with a prefix length"),
        ({"database": "unix:/nonexistent"}, "not reachable"),
    ):
        failed = guests.port(1, may_fail=True, **changes)
        assert failed.failed
        assert words in failed["msg"]
    assert not guests.port(1, state="absent", device="guest9")["changed"]
    assert vswitch.dump() == before


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"targets": [{"name": "x", "address": "::1.2"}]}, "not an IP address"),
        (
            {"targets": [{"name": "x", "address": "::1"}, {"name": "y", "address": "198.18.0.1"}]},
            "IPv4 and IPv6 cannot be mixed",
        ),
        ({"targets": [{"name": "x", "address": "::1"}], "packet_size": 47}, "not between 48 and 65535"),
        ({"targets": [], "packet_size": 10}, "not between"),
        ({"targets": [], "count": 0}, "at least 1"),
        ({"targets": [], "namespace": "c5c3-nonexistent"}, "cannot be entered"),
        (
            {"targets": [{"name": "x", "address": "127.0.0.1", "chassis": "c"}], "database": "unix:/nonexistent"},
            "reach",
        ),
    ],
)
def test_ping_bad_input(run_module: RunModule, options: dict[str, t.Any], words: str) -> None:
    failed = run_module("ovn_ping", options, may_fail=True)
    assert failed.failed
    assert words in failed["msg"]


def test_ping_nobody(run_module: RunModule) -> None:
    if os.geteuid() != 0:
        pytest.skip("NOT TESTED: raw sockets need root")
    assert run_module("ovn_ping", {"targets": []})["results"] == []
