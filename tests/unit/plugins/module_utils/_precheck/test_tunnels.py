"""Interfaces as `ip -json -details address show` prints them."""

from __future__ import annotations

import json

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._precheck.tunnels import (
    own_addresses,
    parse_interfaces,
    tunnel_devices,
    underlay_of,
)

PRINTED = json.dumps(
    [
        {"ifname": "lo", "mtu": 65536, "addr_info": [{"family": "inet", "local": "127.0.0.1", "prefixlen": 8}]},
        {"ifname": "eth1", "mtu": 1450, "addr_info": [{"local": "192.0.2.21"}, {"local": "2001:db8::21"}]},
        {
            "ifname": "genev_sys_6081",
            "mtu": 65000,
            "linkinfo": {"info_kind": "geneve", "info_data": {"external": True, "port": 6081}},
            "addr_info": [],
        },
        {
            "ifname": "vxlan7",
            "mtu": 1400,
            "linkinfo": {"info_kind": "vxlan", "info_data": {"id": 7, "port": 4789}},
            "addr_info": [],
        },
        {"ifname": "gnv0", "mtu": 1400, "linkinfo": {"info_kind": "geneve"}, "addr_info": []},
        {"ifname": "br0", "mtu": 1500, "linkinfo": {"info_kind": "bridge", "info_data": {"port": 1}}, "addr_info": []},
        {},
    ]
)


def test_devices_that_hold_a_port() -> None:
    assert tunnel_devices(parse_interfaces(PRINTED)) == [
        {"name": "genev_sys_6081", "kind": "geneve", "port": 6081},
        {"name": "vxlan7", "kind": "vxlan", "port": 4789},
    ]


@pytest.mark.parametrize(
    ("address", "name", "expected"),
    [
        pytest.param("192.0.2.21", "", {"name": "eth1", "mtu": 1450}, id="by its address"),
        pytest.param("2001:db8::21", "", {"name": "eth1", "mtu": 1450}, id="by an address of IPv6"),
        pytest.param("192.0.2.99", "", None, id="nobody has the address"),
        pytest.param("192.0.2.21", "br0", {"name": "br0", "mtu": 1500}, id="by its name"),
        pytest.param("192.0.2.21", "eth9", None, id="no such interface"),
    ],
)
def test_the_underlay(address: str, name: str, expected: dict[str, object] | None) -> None:
    assert underlay_of(parse_interfaces(PRINTED), {address}, name) == expected


def test_the_addresses_of_all_interfaces() -> None:
    assert own_addresses(parse_interfaces(PRINTED)) == {"127.0.0.1", "192.0.2.21", "2001:db8::21"}
    assert own_addresses(None) is None
