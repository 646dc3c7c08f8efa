# SPDX-License-Identifier: GPL-3.0-or-later

"""Meaning of the variables of a host, defined once. Pure. An empty value counts as absent, so that an inventory can unset a default."""

from __future__ import annotations

import typing as t

from .ip_addresses import canonical_host

_ADDRESSES = ("ovn_address", "ansible_host")
_ENCAPSULATION_ADDRESSES = ("ovn_encapsulation_ip",)


def address_of(host: str, variables: t.Mapping[str, t.Any]) -> str:
    """Return the address of a host on the control-plane network: `ovn_address`, else `ansible_host`, else its name, in its one spelling."""
    return canonical_host(str(next((variables[name] for name in _ADDRESSES if variables.get(name)), host)))


def system_id_of(host: str, variables: t.Mapping[str, t.Any]) -> str:
    """Return the name of a machine's chassis: the option of the role, else `ovn_system_id`, else the name of the host."""
    return str(variables.get("ovn_system_id") or host)


def encapsulation_ip_of(host: str, variables: t.Mapping[str, t.Any]) -> t.Any:
    """Return where the tunnels of a chassis end: `ovn_encapsulation_ip`, one address or a list, else the address of the host. One spelling of each."""
    given = next((variables[name] for name in _ENCAPSULATION_ADDRESSES if variables.get(name)), None)
    ends = [canonical_host(one) for one in as_list(given or address_of(host, variables))]
    return ends if isinstance(given, list) else ",".join(ends)


def tunnel_ends_of(host: str, variables: t.Mapping[str, t.Any]) -> list[str]:
    """Return all addresses where the tunnels of a chassis end, see `encapsulation_ip_of`."""
    return as_list(encapsulation_ip_of(host, variables))


def as_list(value: str | t.Iterable[str]) -> list[str]:
    """Return a list option, which may also be given as a text with commas, as modules accept it."""
    return [str(one).strip() for one in (value.split(",") if isinstance(value, str) else value) if one]
