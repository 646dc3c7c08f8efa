# SPDX-License-Identifier: GPL-3.0-or-later
"""Which addresses a host resolves, has itself and can connect to. All connections are tried at the same time."""

from __future__ import annotations

import concurrent.futures
import errno
import ipaddress
import itertools
import json
import os
import select
import selectors
import socket
import struct
import typing as t

from .._base.deadline import Deadline
from .._connectivity_test.icmp import checksum
from .._machine.commands import Commands

# The underlay of a hypervisor's tunnels: its interface and MTU, tunnel devices of the kernel, and whether full packets reach other hypervisors.

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


Address = tuple[t.Any, ...]  # of the socket module
_THREADS = 16
_ANSWERS = ("connected", "refused")
_STATES = (*_ANSWERS, "timed_out", "unreachable")  # the best one first


def resolve(name: str, port: int = 0) -> list[tuple[int, Address]]:
    """Return families and addresses of a name or literal; `OSError` if it has none."""
    try:
        found = socket.getaddrinfo(name, port, type=socket.SOCK_STREAM)
    except UnicodeError as e:  # a label that is empty or too long
        raise OSError(f"{name} is no name of a host") from e
    return [(family, address) for family, _type, _protocol, _name, address in found]


def resolve_all(names: t.Iterable[str]) -> dict[str, list[tuple[int, Address]] | OSError]:
    """Return what `resolve` returns or raises for each name. A name service may take seconds: each is asked once, and all at the same time."""

    def ask(name: str) -> list[tuple[int, Address]] | OSError:
        try:
            return resolve(name)
        except OSError as e:
            return e

    different = list(dict.fromkeys(names))
    if not different:
        return {}
    with concurrent.futures.ThreadPoolExecutor(min(len(different), _THREADS)) as pool:
        return dict(zip(different, pool.map(ask, different)))


def read_local(addresses: t.Iterable[str], own: t.Collection[str] | None = None) -> list[dict[str, t.Any]]:
    """Return for each address whether it resolves (`resolved`, a list) and is one of this host (`local`); `error` says why not.

    `own` are the addresses of the interfaces, None if nobody knows them.
    """
    result = []
    for address, found in resolve_all(addresses).items():
        if isinstance(found, OSError):
            result.append({"address": address, "resolved": [], "local": False, "error": _cause(found)})
            continue
        errors = [error for family, place in found if (error := _foreign(family, place, own))]
        names = list(dict.fromkeys(str(place[0]) for _family, place in found))
        error = errors[0] if len(errors) == len(found) else ""
        result.append({"address": address, "resolved": names, "local": not error, "error": error})
    return result


def _foreign(family: int, address: Address, own: t.Collection[str] | None) -> str:
    """Return why this is no address of the host, empty if it is one.

    The interfaces count: with `net.ipv4.ip_nonlocal_bind`, as load balancers set it, any address can be bound.
    """
    if own is None:
        return _bind_error(family, address)
    place = ipaddress.ip_address(str(address[0]).partition("%")[0])
    is_own = place.is_loopback or str(place) in own  # interfaces do not list all of 127.0.0.0/8
    return "" if is_own else os.strerror(errno.EADDRNOTAVAIL)


def _bind_error(family: int, address: Address) -> str:
    """A datagram socket without a port disturbs nobody, and the kernel binds it to own addresses only."""
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.bind(address)
    except OSError as e:
        return _cause(e)
    return ""


def connect_all(peers: t.Sequence[t.Mapping[str, t.Any]], seconds: float) -> list[dict[str, t.Any]]:
    """Return each peer (`host`, `address`, `port`) with `state` and `error`.

    The state is `connected`, `refused` if nothing listens there, `timed_out`, `unreachable` or `unresolved`. Of a name with several addresses the best
    answer counts. The time for the name service is not part of `seconds`.
    """
    found = resolve_all(str(peer["address"]) for peer in peers)
    results = [dict(peer, state="unreachable", error="") for peer in peers]
    waiting: dict[int, int] = {}  # connections that are under way, by the number of the peer
    deadline = Deadline(seconds)
    with selectors.DefaultSelector() as selector:
        for number, result in enumerate(results):
            places = found[str(result["address"])]
            if isinstance(places, OSError):
                result.update(state="unresolved", error=_cause(places))
                continue
            waiting[number] = 0
            for family, address in places:
                probe, code = _start(family, address, int(result["port"]))
                if probe is None:
                    _note(result, code)
                else:
                    selector.register(probe, selectors.EVENT_WRITE, number)
                    waiting[number] += 1
        # Whoever has answered at one address is not waited for at the others.
        while not deadline.expired and any(
            left and results[number]["state"] not in _ANSWERS for number, left in waiting.items()
        ):
            for key, _events in selector.select(deadline.left()):
                probe = t.cast("socket.socket", key.fileobj)
                selector.unregister(probe)
                with probe:
                    _note(results[key.data], probe.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR))
                waiting[key.data] -= 1
        for key in list(selector.get_map().values()):
            t.cast("socket.socket", key.fileobj).close()
            _note(results[key.data], errno.ETIMEDOUT)
    return results


def _start(family: int, address: Address, port: int) -> tuple[socket.socket | None, int]:
    """Return a connection that is under way, or None and how it ended already."""
    try:
        probe = socket.socket(family, socket.SOCK_STREAM)
    except OSError as e:  # a kernel without IPv6
        return None, e.errno or errno.EAFNOSUPPORT
    probe.setblocking(False)
    code = probe.connect_ex((address[0], port, *address[2:]))
    if code in (errno.EINPROGRESS, errno.EWOULDBLOCK):
        return probe, 0
    probe.close()
    return None, code


def _note(result: dict[str, t.Any], code: int) -> None:
    """Write down how a connection ended, unless another address of the peer has a better answer."""
    if code == 0:
        state, error = "connected", ""
    elif code == errno.ECONNREFUSED:
        state, error = "refused", ""
    elif code == errno.ETIMEDOUT:
        state, error = "timed_out", ""
    else:
        state, error = "unreachable", os.strerror(code)
    if _STATES.index(state) <= _STATES.index(result["state"]):
        result.update(state=state, error=error)


def _cause(error: OSError) -> str:
    return error.strerror or str(error)
