from __future__ import annotations

import socket
import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import InvalidInput, OvnError, Refused
from ansible_collections.c5c3.ovn.plugins.module_utils._chassis.bridges import (
    Bridge,
    BridgePort,
    DesiredBridge,
    desired_bridges,
    plan_bridges,
    refuse_missing_devices,
    refuse_port_errors,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._chassis.southbound_removal import plan_removal


def test_mappings_and_bridges_add_up() -> None:
    params = {
        "bridges": [{"name": "br-ex", "datapath_type": "netdev", "ports": ["eth1"]}, {"name": "br-x", "ports": None}],
        "bridge_mappings": [{"physical_network": "p", "bridge": "br-ex", "ports": ["eth2", "eth1"]}],
    }
    assert desired_bridges(params) == {
        "br-ex": DesiredBridge("netdev", ("eth1", "eth2")),
        "br-x": DesiredBridge(None, ()),
    }


@pytest.mark.parametrize(
    ("bridges", "words"),
    [
        ([{"name": "a", "ports": ["e"]}, {"name": "b", "ports": ["e"]}], "two bridges"),
        ([{"name": "a", "ports": ["b"]}, {"name": "b"}], "as a bridge and as a port"),
        ([{"name": "a", "datapath_type": "system"}, {"name": "a", "datapath_type": "netdev"}], "two datapath types"),
        ([{"name": "a/b"}], "no name"),
        ([{"name": ".."}], "no name"),
        ([{"name": "x" * 10000}], "10000"),
        ([{"name": "a", "ports": ["eth 1"]}], "no name"),
        ([{"name": "a", "ports": [""]}], "empty"),
    ],
)
def test_bridges_that_can_never_work(bridges: list[dict[str, t.Any]], words: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        desired_bridges({"bridges": bridges})
    assert words in str(caught.value)


DESIRED = {"br-ex": DesiredBridge(None, ("eth1",))}


def test_everything_is_new() -> None:
    plan = plan_bridges(DESIRED, {}, {}, "netdev")
    assert (plan.new_bridges, plan.new_ports) == ({"br-ex": "netdev"}, {"eth1": "br-ex"})


def test_nothing_to_do() -> None:
    assert plan_bridges(DESIRED, {"br-ex": Bridge()}, {"eth1": BridgePort("br-ex")}, "netdev").empty


@pytest.mark.parametrize(
    ("stored", "desired", "change"),
    [("", "system", {}), ("system", "system", {}), ("", "netdev", {"b": "netdev"}), ("netdev", None, {})],
)
def test_datapath_types(stored: str, desired: str | None, change: dict[str, str]) -> None:
    assert plan_bridges({"b": DesiredBridge(desired)}, {"b": Bridge(stored)}, {}, "system").datapath_types == change


@pytest.mark.parametrize(
    ("ports", "words"),
    [
        ({"eth1": BridgePort("br-other")}, "already a port of bridge br-other"),
        ({"eth1": BridgePort("")}, "an interface of another port"),
        ({"eth1": BridgePort("eth1")}, "a bridge itself"),
    ],
)
def test_a_port_elsewhere_is_refused(ports: dict[str, BridgePort], words: str) -> None:
    with pytest.raises(Refused) as caught:
        plan_bridges(DESIRED, {"br-ex": Bridge()}, ports, "")
    assert words in str(caught.value)
    assert "eth1" in str(caught.value)


def test_a_bridge_cannot_have_the_name_of_a_port() -> None:
    with pytest.raises(Refused, match="br-ex is already a port of bridge br-other"):
        plan_bridges(DESIRED, {}, {"br-ex": BridgePort("br-other")}, "")


def test_removal_spares_what_others_made() -> None:
    bridges = {
        "ours": Bridge("", frozenset({"ours", "eth1", "patch"}), True),
        "shared": Bridge("", frozenset({"shared", "eth2", "theirs"}), True),
        "foreign": Bridge("", frozenset({"foreign", "eth3"}), False),
        "br-int": Bridge("", frozenset({"br-int", "patch2"}), False),
    }
    ports = {
        "br-int": BridgePort("br-int"),
        "patch2": BridgePort("br-int", ovn=True),
        "ours": BridgePort("ours"),
        "eth1": BridgePort("ours", ours=True),
        "patch": BridgePort("ours", ovn=True),
        "shared": BridgePort("shared"),
        "eth2": BridgePort("shared", ours=True),
        "theirs": BridgePort("shared"),
        "foreign": BridgePort("foreign"),
        "eth3": BridgePort("foreign", ours=True),
    }
    plan, kept = plan_removal(bridges, ports)
    assert plan.old_bridges == ["ours"]
    assert plan.old_ports == {"eth2": "shared", "eth3": "foreign"}
    assert kept == ["Bridge shared stays because ports of others are on it: theirs. Delete it when they are gone."]


def test_removal_of_the_integration_bridge_waits_for_its_guests() -> None:
    bridges = {"br-int": Bridge("", frozenset({"br-int", "patch", "tap1"}))}
    ports = {"br-int": BridgePort("br-int"), "patch": BridgePort("br-int", ovn=True), "tap1": BridgePort("br-int")}
    plan, kept = plan_removal(bridges, ports, "br-int")
    assert (plan.old_bridges, kept) == (
        [],
        ["Bridge br-int stays because ports of others are on it: tap1. Delete it when they are gone."],
    )
    without = {"br-int": Bridge("", frozenset({"br-int", "patch"}))}
    assert plan_removal(without, ports, "br-int")[0].old_bridges == ["br-int"]
    assert not plan_removal(without, ports)[0].old_bridges


def test_missing_devices_are_named_with_their_bridges(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "if_nameindex", lambda: [(1, "lo"), (2, "eth1")])
    with pytest.raises(Refused) as e:
        refuse_missing_devices({"eth1": "br-ex", "eth9": "br-vlan"}, "node", "Correct the name.")
    assert str(e.value) == (
        "No such network device on this node: eth9 (for bridge br-vlan). Nothing was written. Correct the name."
    )


def test_devices_that_are_there_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "if_nameindex", lambda: [(1, "eth1")])
    refuse_missing_devices({"eth1": "br-ex"}, "node", "Correct the name.")


def test_devices_that_cannot_be_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> list[tuple[int, str]]:
        raise OSError(1, "Operation not permitted")

    monkeypatch.setattr(socket, "if_nameindex", fail)
    with pytest.raises(OvnError, match="cannot be listed: Operation not permitted"):
        refuse_missing_devices({"eth1": "br-ex"}, "host", "")


@pytest.mark.parametrize(
    ("errors", "allow_missing_ports", "told"),
    [
        pytest.param({}, False, "", id="no error"),
        pytest.param({"eth9": "no such device"}, False, "eth9: no such device", id="a port"),
        pytest.param({"eth9": "no such device"}, True, "", id="a port that may be missing"),
        pytest.param({"eth9": "x", "br-ex": "y"}, True, "br-ex: y", id="a bridge is always a failure"),
        pytest.param({"eth9": "x", "br-ex": "y"}, False, "br-ex: y; eth9: x", id="all at once"),
    ],
)
def test_port_errors(errors: dict[str, str], allow_missing_ports: bool, told: str) -> None:
    if not told:
        refuse_port_errors(errors, {"br-ex"}, allow_missing_ports)
        return
    with pytest.raises(Refused) as e:
        refuse_port_errors(errors, {"br-ex"}, allow_missing_ports)
    assert str(e.value) == f"The settings are written, but ovs-vswitchd cannot use all bridges and ports: {told}."
