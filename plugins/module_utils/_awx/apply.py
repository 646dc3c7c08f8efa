# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes AWX as desired: reads, refuses, then creates and updates in the order of what refers to what."""

from __future__ import annotations

import time
import typing as t

from .._base.deadline import Deadline
from .._base.errors import Refused, TimedOut, list_names
from .client import AwxClient
from .desired import DesiredNode, DesiredObject, credential_slot, desired_objects
from .observed import ObservedAwx, foreign_objects, read_awx, resolve
from .plan import approval_differs, changed_fields, shown, survey_differs, waits_for_approval

# The nodes of a workflow and what leads from one to the next. AWX starts every node that nothing leads to. So a node behind another one is made there, in one
# request with its link, and a wrong link goes only after the right ones are there: a run that is cut off never leaves a node that starts without its
# approval.

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


Json = dict[str, t.Any]
_UPDATING = ("new", "pending", "waiting", "running")
_POLL = 2.0  # seconds


class AwxRun:
    """One run. What it changed is in `writer`."""

    def __init__(self, client: AwxClient, observed: ObservedAwx, *, check_mode: bool, wait_timeout: float) -> None:
        self.writer = Writer(client, observed, check_mode=check_mode)
        self._client, self._observed, self._check_mode = client, observed, check_mode
        self._wait_timeout = wait_timeout
        self._playbooks: dict[str, list[str]] = {}  # of each project that was looked at

    def apply(self, one: DesiredObject) -> None:
        """Create or update an object, then what is written through pages of its own."""
        existed = (one.kind, one.name) in self._observed.objects
        differing = changed_fields(one, self._observed)
        if differing:
            self._write(one, existed, differing)
        self._apply_survey(one)
        for relation, names in one.links.items():
            self._link(one, relation, names)
        if one.nodes:
            apply_nodes(self.writer, one)

    def _write(self, one: DesiredObject, existed: bool, differing: t.Mapping[str, tuple[t.Any, t.Any]]) -> None:
        body = {field: after for field, (_before, after) in differing.items()}
        if one.kind == "job_templates" and {"project", "playbook"} & set(differing):
            self._await_playbook(str(one.fields["project"]), str(one.fields["playbook"]))
        if existed:
            self.writer.send("PATCH", f"{one.kind}/{self.writer.id_of(one)}/", body, f"update {one.title}")
        else:
            made = self.writer.send("POST", f"{one.kind}/", body, f"create {one.title}")
            self._observed.ids[one.kind, one.name] = int(made.get("id", NEW_ID))
        told = {field: shown(field, values[0], one.fields[field]) for field, values in differing.items()}
        before = {field: sides[0] for field, sides in told.items()} if existed else {}
        after = {field: sides[1] for field, sides in told.items()}
        self.writer.note("updated" if existed else "created", one.title, before, after)

    def _await_playbook(self, project: str, playbook: str) -> None:
        """AWX knows the playbooks of a project as of the last time that it fetched it, and takes no template of another one."""
        if self._check_mode:
            return
        path, title = f"projects/{self._observed.ids['projects', project]}/", f'the project "{project}"'
        if project not in self._playbooks:
            self._await_project(path, project)
            self._playbooks[project] = self._client.names(f"{path}playbooks/", f"list the playbooks of {title}")
            if playbook not in self._playbooks[project]:
                self.writer.send("POST", f"{path}update/", None, f"update {title}")
                self._await_project(path, project)

    def _await_project(self, path: str, name: str) -> None:
        deadline = Deadline(self._wait_timeout)
        while True:
            status = str(self._client.get(path, f'show the project "{name}"').get("status"))
            if status == "successful":
                return
            if status not in _UPDATING and status != "never updated":
                raise Refused(
                    f'AWX did not fetch the project "{name}": its update ended as {status}. Read the output of the update in AWX, correct'
                    " ovn_awx_project.url, ovn_awx_project.branch or ovn_awx_project.credential, update the project there, and run again."
                )
            if deadline.expired:
                raise TimedOut(
                    f'Timed out after {self._wait_timeout:g} s waiting for AWX to fetch the project "{name}" (now {status}).'
                    " Look at its update in AWX, then run again, or raise ovn_wait_timeout."
                )
            time.sleep(min(_POLL, deadline.left()))

    def _apply_survey(self, one: DesiredObject) -> None:
        found = self._observed.surveys.get((one.kind, one.name), {})
        if one.survey is None or not survey_differs(one.survey, found):
            return
        self.writer.send(
            "POST", f"{one.kind}/{self.writer.id_of(one)}/survey_spec/", one.survey, f"write the survey of {one.title}"
        )
        before = {"questions": [asked["variable"] for asked in found.get("spec") or ()]}
        after = {"questions": [asked["variable"] for asked in one.survey["spec"]]}
        self.writer.note("updated", f"survey of {one.title}", before, after)

    def _link(self, one: DesiredObject, relation: str, names: t.Iterable[str]) -> None:
        kind = "credentials" if relation == "credentials" else "notification_templates"
        linked = self._observed.linked.get((one.kind, one.name, relation), set())
        missing = [
            name for name in names if not (number := self._observed.ids.get((kind, name))) or number not in linked
        ]
        path, title = f"{one.kind}/{self.writer.id_of(one)}/{relation}/", f"{relation} of {one.title}"
        if kind == "credentials" and missing and linked:
            # AWX takes no second one of the same type.
            slots = {credential_slot(self._observed.credentials[name]) for name in missing}
            for other in self._client.list(path, f"list the {title}"):
                if credential_slot(other) in slots:
                    body = {"id": other["id"], "disassociate": True}
                    self.writer.send("POST", path, body, f'detach "{other["name"]}" from {one.title}')
                    self.writer.note("detached", title, {"name": other["name"]}, {})
        for name in missing:
            body = {"id": self._observed.ids.get((kind, name))}
            self.writer.send("POST", path, body, f'attach "{name}" to {one.title}')
            self.writer.note("attached", title, {}, {"name": name})


def _refuse_inputs_in_use(client: AwxClient, desired: t.Iterable[DesiredObject], observed: ObservedAwx) -> None:
    """AWX changes the fields of a credential type only while no credential has it."""
    for one in desired:
        number = observed.ids.get((one.kind, one.name))
        if one.kind != "credential_types" or not number or "inputs" not in changed_fields(one, observed):
            continue
        using = client.list("credentials/", f"list the credentials of {one.title}", credential_type=number)
        if using:
            raise Refused(
                f"AWX cannot change the fields of {one.title} while credentials have that type: {list_names([str(it['name']) for it in using])}."
                " Rename the type in AWX, so that the next run makes it anew, then make credentials of the new one and name them in"
                " ovn_awx_credentials. Or delete these credentials, run again, and make them anew. Nothing was changed."
            )


def apply_resources(client: AwxClient, params: t.Mapping[str, t.Any], *, check_mode: bool) -> Json:
    """Return `changed`, `objects` (action and object), `diff` and `warnings`. Nothing is changed if anything is refused that can be known before."""
    desired = desired_objects(params["resources"])
    observed = read_awx(client, str(params["organization"]), desired)
    foreign = foreign_objects(desired, observed, str(params["organization"]), params["take_over"])
    if foreign:
        raise Refused(
            f"AWX at {client.host} has objects of these names that c5c3.ovn.awx did not make: {', '.join(foreign)}. Rename them, choose another"
            " ovn_awx_name, or list them in ovn_awx_take_over as they are named here, and they become as the collection has them; one of another"
            " organization never does. Nothing was changed."
        )
    _refuse_inputs_in_use(client, desired, observed)
    run = AwxRun(client, observed, check_mode=check_mode, wait_timeout=float(params["wait_timeout"]))
    for one in desired:
        try:
            run.apply(one)
        except (Refused, TimedOut) as e:
            if not run.writer.changes or check_mode:
                raise
            done = len(run.writer.changes)
            raise type(e)(
                f"{e} {done} change{'s' if done > 1 else ''} before it {'were' if done > 1 else 'was'} made; the next run goes on."
            ) from e
    return {
        "changed": bool(run.writer.changes),
        "objects": [{"action": change["action"], "object": change["object"]} for change in run.writer.changes],
        "warnings": run.writer.warnings,
        "diff": {
            side: {f"{number} {change['object']}": change[side] for number, change in enumerate(run.writer.changes, 1)}
            for side in ("before", "after")
        },
    }
