# SPDX-License-Identifier: GPL-3.0-or-later
"""Which node may have a certificate with the name of its chassis. With one it becomes that chassis, and a kubelet writes the annotations of its own Node, the
tunnel address among them: so a name counts only if it is that of the Node, or somebody else gave it, and if no chassis of others has it. Pure.
"""

from __future__ import annotations

import typing as t

from .._base.errors import InvalidInput
from .._base.tls_options import COMMON_NAME
from .ownership import format_addresses

if t.TYPE_CHECKING:
    from .nodes import Node
    from .settings import Chassis
    from .southbound import Registry

Names = t.Mapping[str, str]  # node to system id


class NameEvidence(t.NamedTuple):
    """What was known before: `confirmed` for a certificate by an earlier run, None if none of them gave certificates.

    `given` are names that OVNChassis have from other clients; no kubelet may write these. `owner` is the mark of our rows in the Southbound database.
    `others` are chassis that are not of this cluster, for example machines of the inventory.
    """

    owner: str
    confirmed: Names | None
    given: Names
    others: t.Collection[str] = ()


class ConfirmedNames(t.NamedTuple):
    """`names` are those that nodes may have certificates with, to be recorded; None if nothing is known yet. `problems` says by node why not."""

    names: Names | None
    problems: Names


def confirm_names(chassis: t.Sequence[Chassis], registry: Registry | None, evidence: NameEvidence) -> ConfirmedNames:
    """Return which nodes may have a certificate.

    A name that was confirmed once stays so for its node, and a renewal needs no Southbound database. But not if the row is marked as that of another cluster:
    then the name was confirmed while the row was away.
    """
    problems = {one.node.name: problem for one in chassis if (problem := _problem(one, registry, evidence))}
    if evidence.confirmed is None and registry is None:
        return ConfirmedNames(None, problems)
    names = {one.node.name: one.system_id for one in chassis if one.node.name not in problems}
    return ConfirmedNames(names, problems)


def _problem(one: Chassis, registry: Registry | None, evidence: NameEvidence) -> str:
    node, name = one.node.name, one.system_id
    if name in evidence.others:
        return f'The inventory has another chassis "{name}". Give node {node} another name, then run again.'
    is_confirmed = (evidence.confirmed or {}).get(node) == name
    row = registry.chassis.get(name) if registry is not None else None
    is_ours = row is None or (row.owner and row.owner == evidence.owner)
    if row is not None and not is_ours and (row.owner or not is_confirmed):
        return (
            f'The Southbound database has a chassis "{name}" of host {row.hostname or "(no name)"} with address {format_addresses(row)}, which is not '
            f"marked as one of this cluster, so node {node} gets no certificate with that name. Give the node another one. If that chassis was this node, or "
            f"is gone for good, run `ovn-sbctl chassis-del {name}`, then run again."
        )
    if is_confirmed:
        return ""
    if registry is None:
        return (
            f'Nobody knows whether another chassis has the name "{name}" of node {node}: the Southbound database was not asked. Give this control node '
            "access to it, then run again."
        )
    if name in (node, evidence.given.get(node)):
        return ""
    return (
        f'Node {node} has the name "{name}" from an annotation, which a node can write itself. If it is right, declare it as spec.systemId of OVNChassis '
        f"{node}, with kubectl apply --server-side, then run again."
    )


def renewable_names(
    nodes: t.Iterable[Node],
    confirmed: Names,
    recorded: Names,
    registry: Registry | None,
    owner: str,
    others: t.Collection[str],
) -> Names:
    """Return the names of nodes that are as the last run recorded them, and that nothing speaks against: for a run that has no plan.

    A node can bring a run into that by its annotations, so it must not keep a name this way that a plan would take from it. `registry` None: not asked.
    """
    rows = registry.chassis if registry is not None else {}
    names = {node.name: confirmed[node.name] for node in nodes if node.name in confirmed}
    return {
        node: name
        for node, name in names.items()
        if name == recorded.get(node)
        and name not in others
        and ((row := rows.get(name)) is None or row.owner in ("", owner))
    }


def common_name_problems(chassis: t.Iterable[Chassis]) -> list[str]:
    """Return a message for each chassis whose name no certificate can have."""
    return [
        f'Node {one.node.name} is the chassis "{one.system_id}", which cannot be the name in a certificate: it has at most 64 letters, digits, dots, '
        "dashes and underscores. Give the node another one with the annotation ovn.c5c3.io/system-id and as spec.systemId of its OVNChassis, or let nodes "
        "share a certificate (tls.nodeCertificates)."
        for one in chassis
        if not COMMON_NAME.fullmatch(one.system_id)
    ]


def check_common_name(name: str) -> None:
    """Raise `InvalidInput` if no certificate can have this name."""
    if not COMMON_NAME.fullmatch(name):
        raise InvalidInput(
            f'The chassis name "{name}" cannot be that of a certificate: use up to 64 letters, digits, dots, dashes and underscores.'
        )
