# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

The addresses of this node's network devices (rtnetlink, RTM_GETADDR), and which of them the tunnels end at.
"""

from __future__ import annotations

import ipaddress
import socket
import struct
import typing as t

from .._errors import OvnError, Refused

IpAddress = t.Union[ipaddress.IPv4Address, ipaddress.IPv6Address]

_GET, _NEW, _DONE, _ERROR = 22, 20, 3, 2  # RTM_GETADDR, RTM_NEWADDR, NLMSG_DONE, NLMSG_ERROR
_REQUEST_DUMP = 0x301
_ADDRESS, _LOCAL, _FLAGS = 1, 2, 8  # IFA_ADDRESS, IFA_LOCAL, IFA_FLAGS
_UNUSABLE = 0x08 | 0x40 | 0x100  # DAD failed, tentative, temporary for privacy (see _FLAGS)
_OF_ALL_NODES = frozenset({"kube-ipvs0"})  # has the addresses of all Services, the same ones on every node
_HEADER, _BODY, _ATTRIBUTE = struct.Struct("=IHHII"), struct.Struct("=BBBBi"), struct.Struct("=HH")


class Address(t.NamedTuple):
    device: str
    ip: IpAddress
    prefix: int = 0  # bits of its network; 0: not known


def node_addresses() -> list[Address]:
    """Return the addresses of this network namespace with global scope, in the kernel's order."""
    names = dict(socket.if_nameindex())
    try:
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as netlink:
            netlink.settimeout(5)
            netlink.sendto(
                _HEADER.pack(_HEADER.size + _BODY.size, _GET, _REQUEST_DUMP, 1, 0) + _BODY.pack(0, 0, 0, 0, 0), (0, 0)
            )
            found: list[Address] = []
            while True:
                answers, done = parse(netlink.recv(1 << 17), names)
                found += answers
                if done:
                    return found
    except OSError as e:
        raise OvnError(f"The addresses of this node cannot be listed: {e.strerror or e}.") from e


def parse(data: bytes, names: t.Mapping[int, str]) -> tuple[list[Address], bool]:
    """Return the addresses of one netlink datagram, and whether it is the last one. `names`: interface index to device."""
    found: list[Address] = []
    offset = 0
    while offset + _HEADER.size <= len(data):
        length, kind, *_rest = _HEADER.unpack_from(data, offset)
        if kind in (_DONE, _ERROR) or length < _HEADER.size:
            return found, True
        if kind == _NEW:
            address = _parse_address(data[offset + _HEADER.size : offset + length], names)
            if address:
                found.append(address)
        offset += (length + 3) & ~3
    return found, False


def _parse_address(message: bytes, names: t.Mapping[int, str]) -> Address | None:
    if len(message) < _BODY.size:
        return None
    _family, prefix, flags, scope, index = _BODY.unpack_from(message)
    attributes, offset = {}, _BODY.size
    while offset + _ATTRIBUTE.size <= len(message):
        length, kind = _ATTRIBUTE.unpack_from(message, offset)
        if length < _ATTRIBUTE.size:
            break
        attributes[kind] = message[offset + _ATTRIBUTE.size : offset + length]
        offset += (length + 3) & ~3
    if len(attributes.get(_FLAGS, b"")) == 4:
        (flags,) = struct.unpack("=I", attributes[_FLAGS])
    packed = attributes.get(_LOCAL) or attributes.get(_ADDRESS)
    if scope != 0 or not packed or len(packed) not in (4, 16) or index not in names:
        return None
    ip: IpAddress = ipaddress.IPv4Address(packed) if len(packed) == 4 else ipaddress.IPv6Address(packed)
    # A "temporary" IPv4 address is a secondary one, which is as good as any.
    return None if ip.version == 6 and flags & _UNUSABLE else Address(names[index], ip, prefix)


def tunnel_address(
    addresses: t.Sequence[Address], *, interface: str | None, cidr: str | None, node_ip: str = ""
) -> str:
    """Return the address of `interface`, or the one in `cidr`; `Refused` if there is none (yet).

    Of several, `node_ip` comes first, the InternalIP that the Node shows, and an address that moves between nodes last.
    """
    addresses = [a for a in addresses if a.device not in _OF_ALL_NODES]
    if interface:
        candidates = [a for a in addresses if a.device == interface]
        where = f"network device {interface} of this node has no address"
    else:
        network = ipaddress.ip_network(str(cidr), strict=False)
        candidates = [a for a in addresses if a.ip in network]
        where = f"this node has no address in {cidr}"
    # IPv4 first: the option does not say which family a device with both should use.
    candidates.sort(key=lambda a: (str(a.ip) != node_ip, _moves(a, addresses), a.ip.version))
    if not candidates:
        present = ", ".join(f"{a.ip} ({a.device})" for a in addresses if not a.ip.is_loopback) or "none at all"
        raise Refused(
            f"The tunnels have no local address: {where}. Its addresses: {present}. Correct spec.encapsulation, or give the node that address."
        )
    return str(candidates[0].ip)


def _moves(address: Address, addresses: t.Iterable[Address]) -> bool:
    """Return whether the address is a virtual IP beside the device's own address: it has no network of its own."""
    return address.prefix == address.ip.max_prefixlen and any(
        other.device == address.device and other.ip.version == address.ip.version and other.prefix < address.prefix
        for other in addresses
    )
