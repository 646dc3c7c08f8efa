"""Bridges of bridge mappings that lead nowhere, with a real Open vSwitch: what ovn_chassis warns of."""

from __future__ import annotations

import typing as t

import _chassis
import pytest
from _chassis import Chassis
from _vswitch import Vswitch
from conftest import run, until

MAPPED = {
    "system_id": "c1",
    "datapath_type": "netdev",
    "bridge_mappings": [{"physical_network": "physnet1", "bridge": "br-ex"}],
    "wait_for": "applied",
}
WITH_PORT = {**MAPPED, "bridge_mappings": [{"physical_network": "physnet1", "bridge": "br-ex", "ports": ["eth1"]}]}
PATCH = ("type=patch", "options:peer=p-int", "--", "set", "Port", "p-ex", "external_ids:ovn-localnet-port=net")
TUNNEL = ("type=vxlan", "options:remote_ip=192.0.2.9")


vswitch, chassis = _chassis.vswitch, _chassis.chassis  # fixtures


@pytest.fixture(autouse=True)
def uplink(vswitch: Vswitch) -> None:
    vswitch.device("eth1")
    vswitch.start_vswitchd()


def link(vswitch: Vswitch, device: str, state: str, column: str) -> None:
    run("ip", "-n", vswitch.namespace, "link", "set", device, state)
    until(lambda: vswitch.vsctl("get", "Interface", "eth1", column) == state, f"{column} of eth1")


def warning(ran: t.Any) -> str:
    """The one warning, without what comes before its object."""
    (text,) = ran.warnings
    return str(text).partition("Chassis c1: ")[2]


def test_a_bridge_without_a_port(vswitch: Vswitch, chassis: Chassis) -> None:
    for check in (True, False, False):
        assert warning(chassis(MAPPED, check=check)).startswith("bridge br-ex (physnet1) has no port that leads out")
    assert chassis({**MAPPED, "wait_for": "none"}).warnings == []
    # Those of ovn-controller lead to the integration bridge alone.
    vswitch.vsctl("add-port", "br-ex", "p-ex", "--", "set", "Interface", "p-ex", *PATCH)
    assert warning(chassis(MAPPED)).startswith("bridge br-ex (physnet1) has no port that leads out")
    vswitch.vsctl("add-port", "br-ex", "host", "--", "set", "Interface", "host", "type=internal")
    assert warning(chassis(MAPPED)).startswith("bridge br-ex (physnet1) has no port that leads out"), (
        "a leg of the host"
    )
    vswitch.vsctl("add-port", "br-ex", "tunnel", "--", "set", "Interface", "tunnel", *TUNNEL)
    assert chassis(MAPPED).warnings == [], "somebody else has added one"


def test_a_port_that_passes_nothing(vswitch: Vswitch, chassis: Chassis) -> None:
    assert chassis(WITH_PORT, check=True).warnings == [], "the run adds the port"
    assert warning(chassis(WITH_PORT)).startswith("port eth1 of bridge br-ex (physnet1) is down (admin_state)")
    link(vswitch, "eth1", "up", "admin_state")
    assert warning(chassis(WITH_PORT)).startswith("port eth1 of bridge br-ex (physnet1) has no link")
    link(vswitch, "p-eth1", "up", "link_state")
    assert chassis(WITH_PORT).warnings == []


def test_mappings_and_ports_of_others(vswitch: Vswitch, chassis: Chassis) -> None:
    vswitch.vsctl("set", "Open_vSwitch", ".", "external_ids:ovn-bridge-mappings=theirs:br-theirs")
    own = {"system_id": "c1", "wait_for": "applied"}
    assert warning(chassis(own)).startswith("bridge br-theirs (theirs) does not exist")
    vswitch.vsctl("add-br", "br-theirs", "--", "set", "Bridge", "br-theirs", "datapath_type=netdev")
    theirs = [{"physical_network": "theirs", "bridge": "br-theirs"}]
    ran = chassis({**MAPPED, "bridge_mappings": theirs, "preserve_foreign": True})
    assert warning(ran).endswith("Let whoever manages that bridge add its port.")
    vswitch.vsctl("add-port", "br-theirs", "eth1")
    text = warning(chassis(own))
    assert text.startswith("port eth1 of bridge br-theirs (theirs) is down")
    assert "no other port leads out" in text
    vswitch.vsctl("add-port", "br-theirs", "tunnel", "--", "set", "Interface", "tunnel", *TUNNEL)
    assert chassis(own).warnings == [], "another port leads out"
    missing = [{"physical_network": "p", "bridge": "br-ex", "ports": ["eth9"]}]
    ran = chassis({**MAPPED, "bridge_mappings": missing, "allow_missing_ports": True})
    assert "eth9" in ran["port_errors"]
    assert ran.warnings == [], "it waits for its device"
