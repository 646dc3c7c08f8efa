# SPDX-License-Identifier: GPL-3.0-or-later
"""Which cluster a chassis row of the Southbound database belongs to. Several clusters share one database, and their nodes may have the same names. Pure."""

from __future__ import annotations

import typing as t

from .._chassis.southbound_rows import ChassisRow

if t.TYPE_CHECKING:
    from .settings import Chassis
    from .southbound import Registry


class OwnershipEvidence(t.NamedTuple):
    """`owner` is what our agents write into each row (empty before the first run), `addresses` the recorded tunnel addresses by node."""

    owner: str
    addresses: t.Mapping[str, t.Collection[str]]

    def classify(self, node: str, row: ChassisRow) -> t.Literal["ours", "theirs", "doubtful"]:
        """Return whose row it is. `theirs` is proven, too: the row names another cluster."""
        if row.owner:
            return "ours" if row.owner == self.owner else "theirs"
        return "ours" if row.addresses & set(self.addresses.get(node, ())) else "doubtful"


def orphaned_chassis(registry: Registry | None, ours: OwnershipEvidence, taken: t.Collection[str]) -> dict[str, str]:
    """Return node to system id of our chassis that no run has recorded: nodes that registered and lost their label before the next run."""
    if registry is None or not ours.owner:
        return {}
    return {
        row.hostname or name: name
        for name, row in registry.chassis.items()
        if row.owner == ours.owner and name not in taken
    }


def clashes(
    chassis: t.Iterable[Chassis],
    registry: Registry | None,
    ours: OwnershipEvidence,
    known: t.Container[str],
    to_remove: t.Container[str],
) -> list[str]:
    """Return a message for each new node whose system id or tunnel address another chassis has. `known` are nodes, `to_remove` system ids."""
    if registry is None:
        return []
    places = {ip: row for row in registry.chassis.values() for ip in row.addresses}
    problems = []
    for one in chassis:
        if one.node.name in known:
            continue
        row = registry.chassis.get(one.system_id)
        mine = set(one.ips or ())
        if row and not row.addresses & mine and (not row.owner or row.owner != ours.owner):
            problems.append(_same_name(one, row))
        for ip in sorted(mine):
            other = places.get(ip)
            if other and other.name != one.system_id and other.name not in to_remove:
                problems.append(
                    f'The tunnel address {ip} of Node {one.node.name} belongs to chassis "{other.name}" in the Southbound database. Give one of them '
                    f"another address. If that chassis is gone for good, run `ovn-sbctl chassis-del {other.name}`."
                )
    return problems


def _same_name(one: Chassis, row: ChassisRow) -> str:
    return (
        f'The Southbound database already has a chassis "{row.name}" of host {row.hostname or "(no name)"} with address {format_addresses(row)}, '
        f"which is not known to be Node {one.node.name} of this cluster ({', '.join(one.ips or ()) or 'its address is not known yet'}). "
        "Two nodes with one system id keep claiming each other's ports. Give this Node another one with the annotation ovn.c5c3.io/system-id. "
        f"If that chassis is gone for good, run `ovn-sbctl chassis-del {row.name}`."
    )


def format_addresses(row: ChassisRow) -> str:
    return ", ".join(sorted(row.addresses)) or "(none)"
