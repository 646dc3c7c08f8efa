# SPDX-License-Identifier: GPL-3.0-or-later
"""The nodes of a workflow and what leads from one to the next.

AWX starts every node that nothing leads to. So a node behind another one is made there, in one request with its link, and a wrong link goes only after the
right ones are there: a run that is cut off never leaves a node that starts without its approval.
"""

from __future__ import annotations

import typing as t

from .client import AwxClient
from .desired import DesiredNode, DesiredObject
from .observed import ObservedAwx, resolve
from .plan import approval_differs, waits_for_approval

Json = dict[str, t.Any]
NEW_ID = 0  # of what a run in check mode would create
RELATIONS = ("success_nodes", "failure_nodes", "always_nodes")
_WANTED = RELATIONS[0]
# From a node, to a node (both by identifier), and the relation.
Link = tuple[str, str, str]


class Writer:
    """Send what is written to AWX, nothing in check mode, and note every change.

    `changes` are the objects that were changed (in check mode: would be), with before and after. `warnings` are sentences for people.
    """

    def __init__(self, client: AwxClient, observed: ObservedAwx, *, check_mode: bool) -> None:
        self.client, self.observed, self.check_mode = client, observed, check_mode
        self.changes: list[Json] = []
        self.warnings: list[str] = []

    def note(self, action: str, title: str, before: Json, after: Json) -> None:
        self.changes.append({"action": action, "object": title, "before": before, "after": after})

    def id_of(self, one: DesiredObject) -> int:
        return self.observed.ids.get((one.kind, one.name)) or NEW_ID

    def send(self, method: str, path: str, body: Json | None, what: str) -> Json:
        return {} if self.check_mode else self.client.send(method, path, body, what)


def apply_nodes(writer: Writer, one: DesiredObject) -> None:
    found = writer.observed.nodes.get(one.name, {})
    ids: dict[str, int] = {}
    made: set[Link] = set()
    for node in one.nodes:
        before = next((other.identifier for other in one.nodes if node.identifier in other.success), "")
        there = found.get(node.identifier)
        ids[node.identifier] = _apply_node(writer, one, node, there, ids.get(before))
        if before and not there:
            made.add((before, node.identifier, _WANTED))
    wanted = {(node.identifier, identifier, _WANTED) for node in one.nodes for identifier in node.success}
    for action, link in link_steps(list(ids), own_links(found, ids) | made, wanted):
        _write_link(writer, one, ids, action, link)
    writer.warnings += [
        f"Node {other} of {one.title}, which people have added, leads to node {identifier}: that starts after it, approved or not."
        " Take the link away in AWX, or leave it if it is meant."
        for other, identifier in foreign_links(found, ids)
    ]


def own_links(found: t.Mapping[str, Json], ids: t.Mapping[str, int]) -> set[Link]:
    """Return what leads from one of our nodes to another, in all relations. Pure."""
    own = {number: identifier for identifier, number in ids.items()}
    return {
        (identifier, own[number], relation)
        for identifier in ids
        for relation in RELATIONS
        for number in (found.get(identifier) or {}).get(relation) or ()
        if number in own
    }


def foreign_links(found: t.Mapping[str, Json], ids: t.Mapping[str, int]) -> list[tuple[str, str]]:
    """Return the nodes of others that lead to ours, each with ours. Pure."""
    own = {number: identifier for identifier, number in ids.items()}
    return sorted(
        {
            (other, own[number])
            for other, node in found.items()
            if other not in ids
            for relation in RELATIONS
            for number in node.get(relation) or ()
            if number in own
        }
    )


def link_steps(order: t.Sequence[str], there: set[Link], wanted: set[Link]) -> list[tuple[str, Link]]:
    """Return what to attach and detach, in this order. Pure.

    First goes what AWX would refuse the right links for: another relation between the same nodes, and what leads back. The other wrong links go last, so that
    no node is without one meanwhile. `order`: our nodes, each before those that it leads to.
    """
    pairs = {(before, after) for before, after, _relation in wanted - there}

    def place(link: Link) -> tuple[int, int, int]:
        return order.index(link[0]), order.index(link[1]), RELATIONS.index(link[2])

    wrong = sorted(there - wanted, key=place)
    in_the_way = [link for link in wrong if link[:2] in pairs or order.index(link[0]) > order.index(link[1])]
    return [
        *(("detached", link) for link in in_the_way),
        *(("attached", link) for link in sorted(wanted - there, key=place)),
        *(("detached", link) for link in wrong if link not in in_the_way),
    ]


def _write_link(writer: Writer, one: DesiredObject, ids: t.Mapping[str, int], action: str, link: Link) -> None:
    before, after, relation = link
    path = f"workflow_job_template_nodes/{ids[before]}/{relation}/"
    body = {"id": ids[after], **({"disassociate": True} if action == "detached" else {})}
    writer.send("POST", path, body, f"order the nodes of {one.title}")
    told = {relation.removesuffix("_nodes"): after}
    sides = (told, {}) if action == "detached" else ({}, told)
    writer.note(action, f"node {before} of {one.title}", *sides)


def _apply_node(writer: Writer, one: DesiredObject, node: DesiredNode, found: Json | None, before: int | None) -> int:
    """Return the id of the node, in check mode a negative one for a node that would be created, behind the node `before` if there is one."""
    title = f"node {node.identifier} of {one.title}"
    starts = None if node.approval else resolve(writer.observed, "unified_job_template", node.template)
    number = int(found["id"]) if found else -1 - list(one.nodes).index(node)
    if not found:
        body = {"workflow_job_template": writer.id_of(one), "identifier": node.identifier}
        body |= {} if node.approval else {"unified_job_template": starts}
        behind = "" if before is None else f"{before}/{_WANTED}/"
        made = writer.send("POST", f"workflow_job_template_nodes/{behind}", body, f"create {title}")
        number = int(made.get("id", number))
        writer.note("created", title, {}, {"template": node.template} if node.template else {"approval": node.approval})
    elif not node.approval and found["unified_job_template"] != starts:
        path = f"workflow_job_template_nodes/{number}/"
        writer.send("PATCH", path, {"unified_job_template": starts}, f"update {title}")
        writer.note("updated", title, {"template": found["unified_job_template"]}, {"template": node.template})
    if node.approval and approval_differs(node, found):
        _write_approval(writer, node, found, number, title)
    return number


def _write_approval(writer: Writer, node: DesiredNode, found: Json | None, number: int, title: str) -> None:
    if found and waits_for_approval(found):
        path, method = f"workflow_approval_templates/{found['unified_job_template']}/", "PATCH"
    else:
        path, method = f"workflow_job_template_nodes/{number}/create_approval_template/", "POST"
    writer.send(method, path, node.approval, f"write the approval of {title}")
    if found:
        writer.note("updated", title, {}, {"approval": node.approval})
