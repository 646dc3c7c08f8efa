# SPDX-License-Identifier: GPL-3.0-or-later
"""IP addresses in one spelling, so that equal addresses are equal texts. Pure, and part of the archive for pods."""

from __future__ import annotations

import ipaddress
import typing as t

Literal = t.Union[ipaddress.IPv4Address, ipaddress.IPv6Address]


def literal(text: str) -> Literal | None:
    """Return the address that a text is, an IPv4 address mapped into IPv6 as that of IPv4; None for a name."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


def canonical(text: str) -> str:
    """Return an address as the kernel prints it, any other text as it is."""
    return str(literal(text) or text)


def canonical_host(text: str) -> str:
    """Return the host that a person wrote, an address with or without brackets, in its one spelling."""
    return canonical(text.strip().strip("[]"))


def overlap(one: str, other: str) -> bool:
    """Return whether two sockets at these addresses, in their canonical spelling, cannot have the same port. A socket at `::` has IPv4, too."""
    mine, theirs = _place(one), _place(other)
    if "::" in (mine, theirs):
        return True
    if "0.0.0.0" in (mine, theirs):
        return ":" not in mine + theirs
    return mine == theirs


def _place(address: str) -> str:
    return address or "::"
