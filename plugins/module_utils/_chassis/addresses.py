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
from .._ovsdb.rows import as_list
from .southbound_rows import Columns, Tables, value_of
from .text import read_items

# What any chassis can claim in the Southbound database although it is another one's: the role ovn-controller does not prevent it, so it is reported. Pure,
# and part of the archive for pods.

# Beside the columns of southbound_rows.py. A chassis may name any row of Encap as one of its own.
CLAIMS: Columns = {
    "Chassis": ["name", "hostname", "encaps"],
    "Encap": ["chassis_name", "type", "ip"],
    "Port_Binding": ["logical_port", "type", "options", "chassis", "additional_chassis"],
}
_REQUESTED = "requested-chassis"


class MisplacedPort(t.NamedTuple):
    """A port that chassis have bound which options:requested-chassis does not name. All are names of chassis, `requested` as it was requested."""

    port: str
    requested: tuple[str, ...]
    chassis: tuple[str, ...]


def misplaced_ports(tables: Tables) -> list[MisplacedPort]:
    """Return the ports that are bound elsewhere than requested, sorted. Ports of other availability zones are not bound by chassis."""
    names: dict[t.Any, str] = {}
    by_hostname: dict[str, set[str]] = {}
    for row in tables("Chassis"):
        names[_uuid(row)] = name = value_of(row, "name", "")
        by_hostname.setdefault(value_of(row, "hostname", ""), set()).add(name)
    known = set(names.values())
    found = []
    for row in tables("Port_Binding"):
        requested = tuple(read_items(value_of(row, "options", {}).get(_REQUESTED, "")))
        if not requested or value_of(row, "type", "") == "remote":
            continue
        # northd looks for a name first, then for a host name.
        allowed = {name for one in requested for name in ({one} if one in known else by_hostname.get(one, set()))}
        bound = [*as_list(value_of(row, "chassis", [])), *as_list(value_of(row, "additional_chassis", []))]
        elsewhere = {names.get(_uuid(one), "") for one in bound} - allowed - {""}
        if elsewhere:
            found.append(MisplacedPort(value_of(row, "logical_port", ""), requested, tuple(sorted(elsewhere))))
    return sorted(found)


def borrowed_encapsulations(tables: Tables) -> dict[str, list[tuple[str, str]]]:
    """Return the (type, ip) of Encap rows that a chassis names as its own although they are another one's, by the name of the former."""
    encapsulations = {_uuid(row): row for row in tables("Encap")}
    found: dict[str, list[tuple[str, str]]] = {}
    for row in tables("Chassis"):
        name = value_of(row, "name", "")
        for one in as_list(value_of(row, "encaps", [])):
            encapsulation = encapsulations.get(_uuid(one))
            if encapsulation is not None and value_of(encapsulation, "chassis_name", "") != name:
                pair = (value_of(encapsulation, "type", ""), canonical(value_of(encapsulation, "ip", "")))
                found.setdefault(name, []).append(pair)
    return {name: sorted(pairs) for name, pairs in found.items()}


def conflicting_claims(tables: Tables) -> list[str]:
    """Return a message for each tunnel address and host name of several chassis, and for each port that is bound elsewhere than requested."""
    addresses = [(value_of(row, "chassis_name", ""), value_of(row, "ip", "")) for row in tables("Encap")]
    addresses += [(name, ip) for name, pairs in borrowed_encapsulations(tables).items() for _kind, ip in pairs]
    hostnames = ((value_of(row, "name", ""), value_of(row, "hostname", "")) for row in tables("Chassis"))
    return [
        *(
            f"Chassis {', '.join(names)} have the tunnel address {ip}."
            for ip, names in shared_values(addresses).items()
        ),
        *(f"Chassis {', '.join(names)} have the host name {name}." for name, names in shared_values(hostnames).items()),
        *(
            f"Port {one.port} is requested on {', '.join(one.requested)}, but bound by {', '.join(one.chassis)}."
            for one in misplaced_ports(tables)
        ),
    ]


def shared_values(pairs: t.Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Return each value that several chassis have, with their names; `pairs` of (name, value). An address counts in any of its spellings."""
    holders: dict[str, set[str]] = {}
    for name, value in pairs:
        if value:
            holders.setdefault(canonical(value).lower(), set()).add(name)
    return {value: sorted(names) for value, names in sorted(holders.items()) if len(names) > 1}


def _uuid(row: t.Any) -> t.Any:
    """Return the UUID of a dictionary, of a row of ovs.db.idl, or of a reference, which is a UUID already."""
    return row["_uuid"] if isinstance(row, dict) else getattr(row, "uuid", row)


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
