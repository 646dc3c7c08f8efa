# SPDX-License-Identifier: GPL-3.0-or-later
"""The underlay of a hypervisor's tunnels: its interface and MTU, tunnel devices of the kernel, and whether full packets reach other hypervisors."""

from __future__ import annotations

import itertools
import json
import os
import select
import socket
import struct
import typing as t

from .._base.deadline import Deadline
from .._connectivity_test.icmp import checksum
from .._machine.commands import Commands

_SECONDS = 1.0  # for the answers to packets that were sent together
_ATTEMPTS = 3
_SMALL = 100  # octets of a packet that every path carries
_HEADER = 8  # octets of an ICMP header
_IP_HEADER = {socket.AF_INET: 20, socket.AF_INET6: 40}
_ECHO = {socket.AF_INET: (8, 0), socket.AF_INET6: (128, 129)}  # request and reply
_PROTOCOL = {socket.AF_INET: socket.IPPROTO_ICMP, socket.AF_INET6: socket.IPPROTO_ICMPV6}
_IP_MTU_DISCOVER, _IPV6_MTU_DISCOVER = 10, 23
_IP_PMTUDISC_PROBE, _IPV6_PMTUDISC_PROBE = 3, 3  # never fragment, whatever the kernel thinks of the path
_PMTU_PROBE = {
    socket.AF_INET: (socket.IPPROTO_IP, _IP_MTU_DISCOVER, _IP_PMTUDISC_PROBE),
    socket.AF_INET6: (socket.IPPROTO_IPV6, _IPV6_MTU_DISCOVER, _IPV6_PMTUDISC_PROBE),
}


def read_interfaces(commands: Commands) -> list[dict[str, t.Any]] | None:
    """Return the interfaces with `name`, `addresses`, `mtu`, and `kind` and `port` of tunnels; None if ip(8) is missing or cannot print JSON."""
    program = commands.find("ip")
    code, out, _err = commands.run([program, "-json", "-details", "address", "show"]) if program else (1, "", "")
    try:
        return parse_interfaces(out) if code == 0 else None
    except ValueError:
        return None


def parse_interfaces(text: str) -> list[dict[str, t.Any]]:
    """Return the same from what ip(8) prints."""
    interfaces = []
    for link in json.loads(text):
        if not link.get("ifname"):
            continue
        info = link.get("linkinfo") or {}
        interfaces.append(
            {
                "name": link["ifname"],
                "addresses": [address["local"] for address in link.get("addr_info") or () if address.get("local")],
                "mtu": link.get("mtu") or 0,
                "kind": info.get("info_kind") or "",
                "port": int((info.get("info_data") or {}).get("port") or 0),
            }
        )
    return interfaces


def own_addresses(interfaces: t.Iterable[t.Mapping[str, t.Any]] | None) -> set[str] | None:
    """Return all addresses of the interfaces, None if the interfaces are not known."""
    return None if interfaces is None else {address for one in interfaces for address in one["addresses"]}


def tunnel_devices(interfaces: t.Iterable[t.Mapping[str, t.Any]]) -> list[dict[str, t.Any]]:
    """Return the tunnels of the kernel that hold a UDP port."""
    return [
        {"name": one["name"], "kind": one["kind"], "port": one["port"]}
        for one in interfaces
        if one["kind"] in ("geneve", "vxlan") and one["port"]
    ]


def underlay_of(
    interfaces: t.Iterable[t.Mapping[str, t.Any]], addresses: t.Container[str], name: str
) -> dict[str, t.Any] | None:
    """Return `name` and `mtu` of the interface of this name, or else of the one that has one of the addresses."""
    for one in interfaces:
        if one["name"] == name if name else any(address in addresses for address in one["addresses"]):
            return {"name": one["name"], "mtu": one["mtu"]}
    return None


def probe_paths(source: str, peers: t.Sequence[t.Mapping[str, t.Any]], packet_size: int) -> list[dict[str, t.Any]]:
    """Return each peer (`host`, `address`) with which packets came back: a `small` one, and then at least one of up to three `large` ones of
    `packet_size` octets that nobody may fragment.

    Returns nothing if the host may not send echo requests, or does not have the address `source`.
    """
    results = []
    for family in (socket.AF_INET, socket.AF_INET6):
        own = [
            dict(peer, small=False, large=False)
            for peer in peers
            if (":" in str(peer["address"])) == (family == socket.AF_INET6)
        ]
        if not own:
            continue
        try:
            with socket.socket(family, socket.SOCK_RAW, _PROTOCOL[family]) as probe:
                probe.bind((source, 0))
                probe.setsockopt(*_PMTU_PROBE[family])
                _echo(probe, family, own, packet_size)
        except OSError:
            continue
        results += own
    return results


def _echo(probe: socket.socket, family: socket.AddressFamily, peers: list[dict[str, t.Any]], packet_size: int) -> None:
    """Full packets go only where small ones came back from, and again where they did not: one that is lost is no path that is too small."""
    identifier, numbers = os.getpid() & 0xFFFF, itertools.count()
    sent: dict[int, tuple[dict[str, t.Any], str]] = {}  # late answers count, too
    for kind, size in (("small", _SMALL), *[("large", packet_size)] * _ATTEMPTS):
        waiting = False
        for peer in peers:
            if peer[kind] or (kind == "large" and not peer["small"]):
                continue
            sequence = next(numbers)
            try:
                probe.sendto(_request(family, identifier, sequence, size), (peer["address"], 0))
            except OSError:  # no route, or longer than the MTU of the own interface, which is known
                continue
            sent[sequence], waiting = (peer, kind), True
        deadline = Deadline(_SECONDS if waiting else 0)
        while not deadline.expired and any(one == kind and not peer[kind] for peer, one in sent.values()):
            if select.select([probe], [], [], deadline.left())[0]:
                peer, one = sent.get(_reply(family, probe.recv(65536), identifier), ({}, kind))
                peer[one] = True


def _request(family: socket.AddressFamily, identifier: int, sequence: int, packet_size: int) -> bytes:
    """The kernel writes the checksum of ICMPv6."""
    payload = bytes(max(0, packet_size - _IP_HEADER[family] - _HEADER))
    header = struct.pack("!BBHHH", _ECHO[family][0], 0, 0, identifier, sequence)
    if family == socket.AF_INET6:
        return header + payload
    return struct.pack("!BBHHH", _ECHO[family][0], 0, checksum(header + payload), identifier, sequence) + payload


def _reply(family: socket.AddressFamily, packet: bytes, identifier: int) -> int:
    """Return the sequence number if this answers one of our requests, else -1. Only packets of IPv4 come with their IP header."""
    icmp = packet[(packet[0] & 0x0F) * 4 :] if family == socket.AF_INET and packet else packet
    if len(icmp) < _HEADER:
        return -1
    kind, _code, _checksum, its_identifier, sequence = struct.unpack("!BBHHH", icmp[:_HEADER])
    return int(sequence) if (kind, its_identifier) == (_ECHO[family][1], identifier) else -1
