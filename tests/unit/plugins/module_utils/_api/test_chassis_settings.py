from __future__ import annotations

import typing as t
from ipaddress import ip_address

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._api.chassis_settings import checked, options_of, settings_of
from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import InvalidInput, OvnError
from ansible_collections.c5c3.ovn.plugins.module_utils._chassis.addresses import Address, parse, tunnel_address

ADDRESSES = [
    Address("lo", ip_address("127.0.0.1")),
    Address("eth0", ip_address("2001:db8::5")),
    Address("eth0", ip_address("192.0.2.5")),
    Address("eth1", ip_address("198.51.100.5")),
]


@pytest.mark.parametrize(
    ("default", "own", "merged"),
    [
        pytest.param({"gateway": False}, {}, {"gateway": False, "encapsulation": {}}, id="nothing of its own"),
        pytest.param(
            {"bridge_mappings": [{"physical_network": "a", "bridge": "b"}]},
            {"bridge_mappings": []},
            {"bridge_mappings": [], "encapsulation": {}},
            id="a list is replaced",
        ),
        pytest.param(
            {"encapsulation": {"type": ["geneve"], "interface": "eth1"}},
            {"encapsulation": {"ip": ["192.0.2.1"]}},
            {"encapsulation": {"type": ["geneve"], "ip": ["192.0.2.1"]}},
            id="another place, the same type",
        ),
        pytest.param(
            {"encapsulation": {"type": ["geneve"], "interface": "eth1"}},
            {"encapsulation": {"type": ["vxlan"]}},
            {"encapsulation": {"type": ["vxlan"], "interface": "eth1"}},
            id="another type, the same place",
        ),
        pytest.param(
            {"external_ids": {"a": "1", "b": "2"}},
            {"external_ids": {"b": "3"}},
            {"external_ids": {"a": "1", "b": "3"}, "encapsulation": {}},
            id="maps add up",
        ),
    ],
)
def test_settings_of(default: dict[str, t.Any], own: dict[str, t.Any], merged: dict[str, t.Any]) -> None:
    assert settings_of(default, own) == merged


@pytest.mark.parametrize(
    "settings",
    [
        [],
        {"system_id": 1},
        {"remote": "ssl:a:1"},
        {"remote": [1]},
        {"gateway": "true"},
        {"remote_probe_interval": True},
        {"external_ids": []},
        {"bridge_mappings": {}},
        {"bridge_mappings": [{"physical_network": "p"}]},
        {"bridge_mappings": [{"physical_network": "p", "bridge": "b", "port": "eth1"}]},
        {"bridge_mappings": [{"physical_network": "p", "bridge": "b", "ports": "eth1"}]},
        {"encapsulation": []},
        {"encapsulation": {"ip": "192.0.2.1"}},
        {"encapsulation": {"address": []}},
        {"encapsulation": {"ip": ["192.0.2.1"], "cidr": "192.0.2.0/24"}},
        {"purge": True},
    ],
)
def test_unusable_settings_name_their_place(settings: t.Any) -> None:
    with pytest.raises(InvalidInput) as e:
        checked(settings, "the place")
    assert str(e.value).startswith("the place: ")


def test_usable_settings_pass() -> None:
    settings = {
        "system_id": "c1",
        "remote": [],
        "encapsulation": {"type": ["geneve"], "cidr": "192.0.2.0/24"},
        "bridge_mappings": [{"physical_network": "p", "bridge": "b", "ports": ["eth1"]}],
        "gateway": True,
        "remote_probe_interval": 60000,
        "external_ids": {"a": None},
    }
    assert checked(settings, "x") is settings


@pytest.mark.parametrize(
    ("encapsulation", "ip"),
    [
        ({}, ["192.0.2.77"]),
        ({"ip": ["203.0.113.1"]}, ["203.0.113.1"]),
        ({"interface": "eth1"}, ["198.51.100.5"]),
        ({"interface": "eth0"}, ["192.0.2.5"]),
        ({"cidr": "198.51.100.0/24"}, ["198.51.100.5"]),
        ({"cidr": "2001:db8::/64"}, ["2001:db8::5"]),
    ],
)
def test_options_of_a_node(encapsulation: dict[str, t.Any], ip: list[str]) -> None:
    options = options_of({"encapsulation": encapsulation}, node="n1", node_ip="192.0.2.77", addresses=lambda: ADDRESSES)
    assert options == {
        "encapsulation": {"type": ["geneve"], "ip": ip},
        "system_id": "n1",
        "hostname": "n1",
        "purge": True,
    }


@pytest.mark.parametrize(
    ("interface", "cidr", "words"),
    [
        ("eth9", None, "network device eth9 of this node has no address"),
        (None, "203.0.113.0/24", "no address in 203.0.113.0/24"),
    ],
)
def test_tunnels_without_end_tell_what_there_is(interface: str | None, cidr: str | None, words: str) -> None:
    with pytest.raises(OvnError) as e:
        tunnel_address(ADDRESSES, interface=interface, cidr=cidr)
    assert words in str(e.value)
    assert "192.0.2.5 (eth0)" in str(e.value)
    assert "127.0.0.1" not in str(e.value)


SEVERAL = [
    Address("kube-ipvs0", ip_address("192.0.2.100"), 32),
    Address("bond0", ip_address("192.0.2.50"), 32),
    Address("bond0", ip_address("192.0.2.5"), 24),
    Address("eth9", ip_address("192.0.2.9"), 24),
    Address("lo", ip_address("192.0.2.77"), 32),
]


@pytest.mark.parametrize(
    ("devices", "interface", "node_ip", "ip"),
    [
        pytest.param(SEVERAL, None, "192.0.2.9", "192.0.2.9", id="the node's address"),
        pytest.param(SEVERAL, None, "203.0.113.1", "192.0.2.5", id="no virtual address"),
        pytest.param(SEVERAL, "bond0", "", "192.0.2.5", id="no virtual address of a device"),
        pytest.param(SEVERAL, "bond0", "192.0.2.9", "192.0.2.5", id="not one of another device"),
        pytest.param(SEVERAL[4:], None, "", "192.0.2.77", id="a routed address of its own"),
    ],
)
def test_one_of_several_addresses(devices: list[Address], interface: str | None, node_ip: str, ip: str) -> None:
    cidr = None if interface else "192.0.2.0/24"
    assert tunnel_address(devices, interface=interface, cidr=cidr, node_ip=node_ip) == ip


def test_addresses_of_all_nodes_are_none() -> None:
    with pytest.raises(OvnError, match="no address in"):
        tunnel_address(SEVERAL[:1], interface=None, cidr="192.0.2.0/24")


# RTM_GETADDR of Linux 6.18: lo, far with a link-local address, and eth0 with 192.0.2.2/24, 2001:db8::2/64 and a link-local one.
ANSWER = bytes.fromhex(
    "4c0000001400020001000000ca670000020880fe01000000080001007f000001080002007f000001070003006c6f0000"
    "080008008000000014000600ffffffffffffffff9415180094151800500000001400020001000000ca67000002188000"
    "0300000008000100c000020208000200c0000202090003006574683000000000080008008000000014000600ffffffff"
    "ffffffff9615180096151800500000001400020001000000ca6700000a8080fe01000000140001000000000000000000"
    "000000000000000114000600ffffffffffffffff9415180094151800080008008000000005000b000100000050000000"
    "1400020001000000ca6700000a4080fd0200000014000100fe8000000000000080b0d2fffeb5d04b14000600ffffffff"
    "ffffffff9815180098151800080008008000000005000b0003000000480000001400020001000000ca6700000a408200"
    "030000001400010020010db800000000000000000000000214000600ffffffffffffffff961518009615180008000800"
    "82000000500000001400020001000000ca6700000a4080fd0300000014000100fe80000000000000a41211fffe4ed54a"
    "14000600ffffffffffffffff9815180098151800080008008000000005000b0003000000"
)
NAMES = {1: "lo", 2: "far", 3: "eth0"}
END = bytes.fromhex("140000000300020001000000ca67000000000000")


def test_parse_what_the_kernel_says() -> None:
    found, done = parse(ANSWER, NAMES)
    assert [(one.device, str(one.ip), one.prefix) for one in found] == [
        ("eth0", "192.0.2.2", 24),
        ("eth0", "2001:db8::2", 64),
    ]
    assert not done
    assert parse(END, {}) == ([], True)


# NLMSG_ERROR, and NLMSG_DONE of a dump that failed, each with a negative errno.
@pytest.mark.parametrize("kind", ["02", "03"])
def test_netlink_error_is_no_end_of_the_addresses(kind: str) -> None:
    with pytest.raises(OSError, match="Operation not permitted"):
        parse(ANSWER + bytes.fromhex(f"14000000{kind}0000000100000000000000ffffffff"), NAMES)


@pytest.mark.parametrize("length", range(0, len(ANSWER), 7))
def test_a_cut_answer_is_no_traceback(length: int) -> None:
    parse(ANSWER[:length], NAMES)
