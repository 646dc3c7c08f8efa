"""Interfaces as `ip -json -details address show` prints them."""

from __future__ import annotations

import json
import socket
import struct
import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._precheck import tunnels
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


class Wire:
    """A socket to hosts of which each drops some packets. `lost` are small or large ones and how many of them are lost first."""

    def __init__(self, lost: dict[str, int]) -> None:
        self.lost = lost
        self.sent: list[str] = []
        self.near, self.far = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)

    def fileno(self) -> int:
        return self.near.fileno()

    def recv(self, size: int) -> bytes:
        return self.near.recv(size)

    def sendto(self, packet: bytes, _address: tuple[str, int]) -> None:
        kind = "large" if len(packet) > 1000 else "small"
        self.sent.append(kind)
        if self.lost.get(kind, 0) > 0:
            self.lost[kind] -= 1
        else:
            self.far.send(struct.pack("!B", 129) + packet[1:])  # echo reply of IPv6


@pytest.mark.parametrize(
    ("lost", "small", "large", "sent"),
    [
        pytest.param({}, True, True, ["small", "large"], id="a good path"),
        pytest.param({"large": 1}, True, True, ["small", "large", "large"], id="one full packet is lost"),
        pytest.param({"large": 2}, True, True, ["small", *["large"] * 3], id="two are lost"),
        pytest.param({"large": 9}, True, False, ["small", *["large"] * 3], id="full packets do not fit"),
        pytest.param({"small": 9}, False, False, ["small"], id="echo requests are filtered"),
    ],
)
def test_full_packets_get_three_chances(
    monkeypatch: pytest.MonkeyPatch, lost: dict[str, int], small: bool, large: bool, sent: list[str]
) -> None:
    monkeypatch.setattr(tunnels, "_SECONDS", 0.1)
    wire, peer = Wire(lost), {"host": "c2", "address": "2001:db8::2", "small": False, "large": False}
    tunnels._echo(t.cast("socket.socket", wire), socket.AF_INET6, [peer], 1500)
    assert (peer["small"], peer["large"], wire.sent) == (small, large, sent)


def test_good_paths_are_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tunnels, "_SECONDS", 3600)
    peers = [{"host": "", "address": f"2001:db8::{n}", "small": False, "large": False} for n in range(3)]
    tunnels._echo(t.cast("socket.socket", Wire({})), socket.AF_INET6, peers, 1500)
    assert all(peer["small"] and peer["large"] for peer in peers)
