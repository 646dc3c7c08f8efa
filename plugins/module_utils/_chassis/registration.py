# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

A chassis as the Southbound database sees it: does it clash with another one, is it registered as wanted?
"""

from __future__ import annotations

import typing as t

if t.TYPE_CHECKING:
    Encapsulation = tuple[str, str]  # (type, ip)
else:  # Python 3.8 in a pod cannot evaluate it
    Encapsulation = tuple


class Registered(t.NamedTuple):
    """One chassis of the Southbound database."""

    name: str
    hostname: str
    encapsulations: frozenset[Encapsulation]
    owner: str = ""  # the Kubernetes cluster that it is of

    @property
    def addresses(self) -> frozenset[str]:
        return frozenset(ip for _kind, ip in self.encapsulations)


class Me(t.NamedTuple):
    """The chassis that this task makes."""

    name: str
    hostname: str
    encapsulations: frozenset[Encapsulation]
    owner: str = ""

    @property
    def addresses(self) -> frozenset[str]:
        return frozenset(ip for _kind, ip in self.encapsulations)


def duplicate_id(me: Me, chassis: t.Iterable[Registered]) -> str | None:
    """Why `me` looks like a second machine with the same system id; None if it does not.

    The same host may get a new address or a new name, but not both at once: then it cannot be told from another machine. Nodes of two Kubernetes
    clusters may have the same name; they are told apart by their clusters.
    """
    for other in chassis:
        addresses = other.addresses
        if other.name != me.name or addresses & me.addresses:
            continue
        if other.owner and me.owner and other.owner != me.owner:
            return (
                f'The Southbound database already has a chassis "{other.name}" of another Kubernetes cluster with address '
                f"{', '.join(sorted(addresses)) or '(none)'}; this node has {', '.join(sorted(me.addresses)) or '(none)'}. "
                "Two nodes with one system id take each other's ports away without end. Give this Node another name with the annotation "
                f"ovn.c5c3.io/system-id. If that chassis is gone for good, run `ovn-sbctl chassis-del {other.name}`."
            )
        if other.hostname != me.hostname:
            return (
                f'The Southbound database already has a chassis "{other.name}" of host {other.hostname or "(no name)"} with address '
                f"{', '.join(sorted(addresses)) or '(none)'}; this host is {me.hostname} with {', '.join(sorted(me.addresses)) or '(none)'}. "
                "Two hosts with one system_id take each other's ports away without end. Give this host a system_id of its own. "
                f"If it replaces that host, run `ovn-sbctl chassis-del {other.name}` when that host is off for good, or set allow_takeover: true."
            )
    return None


def address_conflict(me: Me, chassis: t.Iterable[Registered]) -> str | None:
    """Which other chassis has one of our tunnel addresses; None if none has."""
    for other in chassis:
        for kind, ip in sorted(other.encapsulations):
            if other.name != me.name and ip in me.addresses:
                return (
                    f'Encapsulation address {ip} ({kind}) belongs to chassis "{other.name}" in the Southbound database. '
                    "Give this host an address of its own. If that chassis is gone for good or is an old name of this host, "
                    f"run `ovn-sbctl chassis-del {other.name}` first."
                )
    return None


def unregistered(me: Me, chassis: t.Iterable[Registered]) -> str | None:
    """What the Southbound row still lacks; None if the chassis is registered as wanted."""
    for other in chassis:
        if other.name == me.name:
            if other.encapsulations == me.encapsulations:
                return None
            return (
                f"its row has the encapsulations {_shown(other.encapsulations)} instead of {_shown(me.encapsulations)}"
            )
    return "it has no row there"


def _shown(encapsulations: frozenset[Encapsulation]) -> str:
    return ", ".join(f"{kind} {ip}" for kind, ip in sorted(encapsulations)) or "(none)"
