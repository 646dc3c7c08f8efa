# SPDX-License-Identifier: GPL-3.0-or-later
"""A chassis in the Southbound database: does it clash with another one, is it registered as desired?"""

from __future__ import annotations

import typing as t

from .cms_options import owner_in
from .external_ids import CMS_OPTIONS, SYSTEM_ID, encapsulations, settings_in_use
from .southbound_rows import ChassisRow, Encapsulation, chassis_and_address_owners

Rows = t.Mapping[str, t.Sequence[t.Mapping[str, t.Any]]]  # of the Southbound database, by table


class LocalChassis(t.NamedTuple):
    """A chassis as its host's own settings (or the options for a dead host) describe it."""

    name: str
    hostname: str
    encapsulations: frozenset[Encapsulation]
    owner: str = ""  # the Kubernetes cluster that it belongs to

    @property
    def addresses(self) -> frozenset[str]:
        return frozenset(ip for _kind, ip in self.encapsulations)


def chassis_of(external_ids: t.Mapping[str, str], hostname: str = "") -> LocalChassis:
    """Return the chassis that ovn-controller registers with these external_ids; `hostname` if they have none."""
    settings = settings_in_use(external_ids)
    owner = owner_in(settings.get(CMS_OPTIONS, ""))
    return LocalChassis(
        settings.get(SYSTEM_ID, ""), settings.get("hostname") or hostname, encapsulations(settings), owner
    )


def duplicate_id(local: LocalChassis, chassis: t.Iterable[ChassisRow]) -> str | None:
    """Return why `local` looks like a second machine with the same system id; None if it does not.

    The same host may get a new address or a new name, but not both at once: then it looks like another machine. Nodes of two Kubernetes
    clusters may have the same name; their clusters distinguish them.
    """
    for other in chassis:
        addresses = other.addresses
        if other.name != local.name or addresses & local.addresses:
            continue
        if other.owner and local.owner and other.owner != local.owner:
            return (
                f'The Southbound database already has a chassis "{other.name}" of another Kubernetes cluster with address '
                f"{', '.join(sorted(addresses)) or '(none)'}; this node has {', '.join(sorted(local.addresses)) or '(none)'}. "
                "Two nodes with one system id keep claiming each other's ports. Give this Node another name with the annotation "
                f"ovn.c5c3.io/system-id. If that chassis is gone for good, run `ovn-sbctl chassis-del {other.name}`."
            )
        if other.hostname != local.hostname:
            return (
                f'The Southbound database already has a chassis "{other.name}" of host {other.hostname or "(no name)"} with address '
                f"{', '.join(sorted(addresses)) or '(none)'}; this host is {local.hostname} with {', '.join(sorted(local.addresses)) or '(none)'}. "
                "Two hosts with one system_id keep claiming each other's ports. Give this host a system_id of its own (ovn_system_id). "
                f"If it replaces that host, run `ovn-sbctl chassis-del {other.name}` when that host is off for good, "
                "or set allow_takeover: true (ovn_hypervisor_permit=takeover)."
            )
    return None


def address_conflict(local: LocalChassis, chassis: t.Iterable[ChassisRow]) -> str | None:
    """Return a message that names another chassis with one of our tunnel addresses; None if there is none."""
    for other in chassis:
        for kind, ip in sorted(other.encapsulations):
            if other.name != local.name and ip in local.addresses:
                return (
                    f'Encapsulation address {ip} ({kind}) belongs to chassis "{other.name}" in the Southbound database. '
                    "Give this host an address of its own. If that chassis is gone for good or is an old name of this host, "
                    f"run `ovn-sbctl chassis-del {other.name}` first."
                )
    return None


def clash_with(local: LocalChassis, chassis: t.Collection[ChassisRow], *, allow_takeover: bool) -> str | None:
    """Return why `local` must not register beside `chassis`; None if it may."""
    return address_conflict(local, chassis) or (None if allow_takeover else duplicate_id(local, chassis))


def registered_clash(local: LocalChassis, rows: Rows, *, allow_takeover: bool) -> str:
    """Return why `local`, which is no chassis yet, must not register beside all chassis of a Southbound database; empty if it may."""
    chassis = chassis_and_address_owners(lambda table: rows.get(table, ()), local.name)
    return clash_with(local, chassis, allow_takeover=allow_takeover) or ""


def foreign_row(local: LocalChassis, row: ChassisRow) -> str | None:
    """Return why `row`, which has the name of `local`, belongs to another host; None if it is the row of `local`.

    A mark of ownership decides first. Without one, the same host name or a common tunnel address proves that it is the same host.
    """
    if row.owner and row.owner != local.owner:
        owner = f'Kubernetes cluster "{row.owner}"'
    elif row.hostname == local.hostname or row.addresses & local.addresses:
        return None
    else:
        owner = f"host {row.hostname or '(no name)'} with address {', '.join(sorted(row.addresses)) or '(none)'}"
    return (
        f'Chassis "{row.name}" of the Southbound database belongs to {owner}; '
        f"this task may only delete the rows of host {local.hostname} with {', '.join(sorted(local.addresses)) or '(none)'}. "
        f"Correct system_id (ovn_system_id), or if that chassis is gone for good, run `ovn-sbctl chassis-del {row.name}`."
    )


def unregistered(local: LocalChassis, chassis: t.Iterable[ChassisRow]) -> str | None:
    """Return what the Southbound row still lacks; None if the chassis is registered as desired."""
    for other in chassis:
        if other.name == local.name:
            if other.encapsulations == local.encapsulations:
                return None
            return f"its row has the encapsulations {_format(other.encapsulations)} instead of {_format(local.encapsulations)}"
    return "it has no row there"


def _format(encapsulations: frozenset[Encapsulation]) -> str:
    return ", ".join(f"{kind} {ip}" for kind, ip in sorted(encapsulations)) or "(none)"
