# SPDX-License-Identifier: GPL-3.0-or-later
"""The addresses of this node's network devices (rtnetlink, RTM_GETADDR), and which of them the tunnels end at."""

from __future__ import annotations

import errno
import ipaddress
import os
import socket
import struct
import typing as t

from .._base.errors import OvnError, Refused
from .._base.ip_addresses import canonical

IpAddress = t.Union[ipaddress.IPv4Address, ipaddress.IPv6Address]

# rtnetlink(7), with the kernel's names: tests/integration/test_kernel_interface.py compares the values with its headers.
_RTM_NEWADDR, _RTM_GETADDR = 20, 22
_NLMSG_ERROR, _NLMSG_DONE = 2, 3
_NLM_F_REQUEST, _NLM_F_DUMP = 0x1, 0x300
_IFA_ADDRESS, _IFA_LOCAL, _IFA_FLAGS = 1, 2, 8
_IFA_F_TEMPORARY, _IFA_F_DADFAILED, _IFA_F_DEPRECATED, _IFA_F_TENTATIVE = 0x01, 0x08, 0x20, 0x40
_UNUSABLE = _IFA_F_TEMPORARY | _IFA_F_DADFAILED | _IFA_F_TENTATIVE
_OF_ALL_NODES = frozenset({"kube-ipvs0"})  # has the addresses of all Services, the same ones on every node
_HEADER, _BODY, _ATTRIBUTE, _ERROR = (struct.Struct(form) for form in ("=IHHII", "=BBBBi", "=HH", "=i"))


class Address(t.NamedTuple):
    device: str
    ip: IpAddress
    prefix: int = 0  # bits of its network; 0: not known
    deprecated: bool = False  # its preferred lifetime has ended: new connections should use another one


def node_addresses() -> list[Address]:
    """Return the addresses of this network namespace with global scope, in the kernel's order."""
    names = dict(socket.if_nameindex())
    try:
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as netlink:
            netlink.settimeout(5)
            netlink.sendto(
                _HEADER.pack(_HEADER.size + _BODY.size, _RTM_GETADDR, _NLM_F_REQUEST | _NLM_F_DUMP, 1, 0)
                + _BODY.pack(0, 0, 0, 0, 0),
                (0, 0),
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
    """Return the addresses of one netlink datagram, and whether it is the last one; `OSError` with the kernel's reason. `names`: interface index to device."""
    found: list[Address] = []
    offset = 0
    while offset + _HEADER.size <= len(data):
        length, kind, *_rest = _HEADER.unpack_from(data, offset)
        if kind in (_NLMSG_DONE, _NLMSG_ERROR):
            _raise_error(data[offset + _HEADER.size : offset + length])
            return found, True
        if length < _HEADER.size:
            raise OSError(errno.EBADMSG, os.strerror(errno.EBADMSG))
        if kind == _RTM_NEWADDR:
            address = _parse_address(data[offset + _HEADER.size : offset + length], names)
            if address:
                found.append(address)
        offset += (length + 3) & ~3
    return found, False


def _raise_error(message: bytes) -> None:
    """Raise the error that ends a netlink answer, a negative errno; zero is none."""
    (code,) = _ERROR.unpack_from(message) if len(message) >= _ERROR.size else (0,)
    if code:
        raise OSError(-code, os.strerror(-code))


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
    if len(attributes.get(_IFA_FLAGS, b"")) == 4:
        (flags,) = struct.unpack("=I", attributes[_IFA_FLAGS])
    packed = attributes.get(_IFA_LOCAL) or attributes.get(_IFA_ADDRESS)
    if scope != 0 or not packed or len(packed) not in (4, 16) or index not in names:
        return None
    ip: IpAddress = ipaddress.IPv4Address(packed) if len(packed) == 4 else ipaddress.IPv6Address(packed)
    # For IPv4, the flag of temporary addresses is IFA_F_SECONDARY: such an address is as good as any.
    if ip.version == 6 and flags & _UNUSABLE:
        return None
    return Address(names[index], ip, prefix, bool(flags & _IFA_F_DEPRECATED))


def tunnel_address(
    addresses: t.Sequence[Address], *, interface: str | None, cidr: str | None, node_ip: str = ""
) -> str:
    """Return the address of `interface`, or the one in `cidr`; `Refused` if there is none (yet).

    Of several, `node_ip` comes first, the InternalIP that the Node shows, then an address that moves between nodes, and deprecated ones last.
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
    candidates.sort(key=lambda a: (a.deprecated, str(a.ip) != canonical(node_ip), _moves(a, addresses), a.ip.version))
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
