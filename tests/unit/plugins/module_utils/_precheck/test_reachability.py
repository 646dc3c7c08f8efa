"""Addresses and ports of this machine."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import socket
import struct
import threading
import time
import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._precheck import reachability
from ansible_collections.c5c3.ovn.plugins.module_utils._precheck import reachability as tunnels
from ansible_collections.c5c3.ovn.plugins.module_utils._precheck.reachability import (
    connect_all,
    own_addresses,
    parse_interfaces,
    read_local,
    tunnel_devices,
    underlay_of,
)

FULL = "127.0.0.3"  # of a server whose queue is full: it never answers


def state_of(port: int) -> t.Any:
    return connect_all([{"host": "a", "address": "127.0.0.1", "port": port}], 2)[0]["state"]


def test_a_port_is_open_or_refuses() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert state_of(port) == "connected"
    assert state_of(port) == "refused"


def test_nothing_to_connect_to() -> None:
    assert connect_all([], 0.1) == []


def test_names_that_are_none() -> None:
    name = f"{'x' * 70}.example.com"
    assert connect_all([{"host": "a", "address": name, "port": 1}], 1)[0]["state"] == "unresolved"
    assert read_local([name])[0]["resolved"] == []


def test_own_and_other_addresses() -> None:
    assert [one["local"] for one in read_local(["127.0.0.1", "192.0.2.77"])] == [True, False]


@pytest.mark.parametrize(
    ("address", "own", "local"),
    [
        pytest.param("192.0.2.77", {"192.0.2.77"}, True, id="of an interface that bind would not know"),
        pytest.param("127.0.0.1", {"192.0.2.77"}, True, id="loopback"),
        pytest.param("2001:DB8:0::7", {"2001:db8::7"}, True, id="another spelling"),
        pytest.param("192.0.2.78", {"192.0.2.77"}, False, id="of nobody"),
    ],
)
def test_the_interfaces_say_what_is_an_own_address(address: str, own: set[str], local: bool) -> None:
    assert [one["local"] for one in read_local([address], own)] == [local]


def test_an_address_that_could_be_bound_is_not_an_own_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """As with net.ipv4.ip_nonlocal_bind, where every address can be bound."""
    monkeypatch.setattr(reachability, "_bind_error", lambda *_arguments: "")
    assert [one["local"] for one in read_local(["192.0.2.77"], {"192.0.2.1"})] == [False]
    assert [one["local"] for one in read_local(["192.0.2.77"], None)] == [True]


class NameService:
    """Names of this test. Each question takes `seconds`, and no answer comes before `together` were asked; `asked` are the questions."""

    def __init__(self, names: dict[str, list[str]], seconds: float = 0.0, together: int = 1) -> None:
        self.names, self.seconds, self._all_asked = names, seconds, threading.Barrier(together, timeout=60)
        self.asked: list[str] = []
        self.lock = threading.Lock()

    def resolve(self, name: str, port: int = 0) -> list[tuple[int, tuple[t.Any, ...]]]:
        with self.lock:
            self.asked.append(name)
        self._all_asked.wait()
        time.sleep(self.seconds)  # longer than the peers have
        if name not in self.names:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return [(socket.AF_INET, (address, port)) for address in self.names[name]]


def test_the_time_of_a_slow_name_service_is_not_that_of_the_peers(monkeypatch: pytest.MonkeyPatch) -> None:
    service = NameService({"a": ["127.0.0.1"], "b": ["127.0.0.1"]}, seconds=1.0, together=3)
    monkeypatch.setattr(reachability, "resolve", service.resolve)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        peers = [{"host": name, "address": name, "port": port} for name in ("a", "b", "c", "a", "b")]
        states = [one["state"] for one in connect_all(peers, 0.3)]
    assert states == ["connected", "connected", "unresolved", "connected", "connected"]
    assert sorted(service.asked) == ["a", "b", "c"]


@contextlib.contextmanager
def full_server(port: int) -> t.Iterator[None]:
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(socket.create_server((FULL, port), backlog=0))
        for _number in range(4):
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(server.getsockname())
        yield


@pytest.mark.parametrize(
    ("addresses", "state", "limit"),
    [
        pytest.param([FULL], "timed_out", 1, id="no answer"),
        pytest.param([FULL, "127.0.0.1"], "connected", 3600, id="the second one answers"),
        pytest.param(["127.0.0.1", FULL], "connected", 3600, id="the first one answers"),
        pytest.param([FULL, "127.0.0.2"], "refused", 3600, id="the second one refuses"),
        pytest.param(["127.0.0.2", "127.0.0.1"], "connected", 3600, id="one refuses, the other answers"),
    ],
)
def test_the_best_answer_of_all_addresses_counts(
    monkeypatch: pytest.MonkeyPatch, addresses: list[str], state: str, limit: int
) -> None:
    monkeypatch.setattr(reachability, "resolve", NameService({"a": addresses}).resolve)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with full_server(port):
            results = connect_all([{"host": "a", "address": "a", "port": port}], limit)
    assert results == [{"host": "a", "address": "a", "port": port, "state": state, "error": ""}]


def test_why_an_address_cannot_be_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reachability, "_start", lambda *_arguments: (None, errno.ENETUNREACH))
    result = connect_all([{"host": "a", "address": "192.0.2.1", "port": 1}], 1)[0]
    assert (result["state"], result["error"]) == ("unreachable", os.strerror(errno.ENETUNREACH))


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
