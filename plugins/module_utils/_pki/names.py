# SPDX-License-Identifier: GPL-3.0-or-later
"""The names inside a certificate, brought into one form so that they can be compared. Pure."""

from __future__ import annotations

import ipaddress
import typing as t

from .._base.errors import InvalidInput

# X.520: ub-common-name, in characters. Libraries differ in how they count, bytes are safe with all of them.
COMMON_NAME_LIMIT = 64


def checked_common_name(value: str) -> str:
    """Return the common name itself; `InvalidInput` if a certificate cannot have it."""
    if not value.strip():
        raise InvalidInput(
            "The common name is empty. Southbound RBAC compares it with the chassis' system id, so give one (common_name)."
        )
    if not value.isprintable():
        raise InvalidInput(f"The common name {value!r} contains control characters. Remove them.")
    size = len(value.encode())
    if size > COMMON_NAME_LIMIT:
        raise InvalidInput(
            f"The common name {value!r} has {size} bytes in UTF-8, a certificate can carry {COMMON_NAME_LIMIT}. "
            "Give a shorter one; on a chassis it is the system id, which then has to be shorter as well."
        )
    if value != value.strip():
        # Tools trim such names in different ways, and RBAC compares byte by byte.
        raise InvalidInput(f"The common name {value!r} begins or ends with a blank. Remove it.")
    return value


def subject_alt_name(value: str) -> str:
    """Return `DNS:name` or `IP:address`, else `InvalidInput`; without a prefix an address is recognized by its form."""
    prefix, separator, rest = value.partition(":")
    if separator and prefix in ("DNS", "IP"):
        kind, name = prefix, rest
    else:
        kind, name = ("IP" if _is_address(value) else "DNS"), value
    if kind == "IP":
        try:
            return f"IP:{ipaddress.ip_address(name)}"
        except ValueError as error:
            raise InvalidInput(f"The subject alternative name {value!r} is not an IP address: {error}.") from error
    if not name or not name.isascii() or not name.isprintable() or " " in name:
        raise InvalidInput(
            f"The subject alternative name {value!r} is not a DNS name: only ASCII letters, digits, '-', '_', '.' and '*'. "
            "Give another list (subject_alt_names); OVN itself does not check these names."
        )
    # DNS names are compared without regard to case.
    return f"DNS:{name.lower()}"


def subject_alt_names(values: t.Iterable[str]) -> tuple[str, ...]:
    """Return the names in their given order, in one form and without repetitions."""
    return tuple(dict.fromkeys(subject_alt_name(value) for value in values))


def _is_address(value: str) -> bool:
    try:
        ipaddress.ip_address(value)
    except ValueError:
        return False
    return True
