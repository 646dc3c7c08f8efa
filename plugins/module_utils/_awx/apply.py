# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

Makes AWX as desired: reads, refuses, then creates and updates in the order of what refers to what.
"""

from __future__ import annotations

import time
import typing as t

from .._deadline import Deadline
from .._errors import Refused, TimedOut
from .client import AwxClient
from .desired import DesiredNode, DesiredObject, desired_objects
from .observed import ObservedAwx, foreign_objects, read_awx, resolve
from .plan import approval_differs, changed_fields, survey_differs, waits_for_approval

Json = dict[str, t.Any]
NEW_ID = 0  # of what a run in check mode would create
_UPDATING = ("new", "pending", "waiting", "running")
_POLL = 2.0  # seconds


class AwxRun:
    """One run. `changes` are the objects that it changed (in check mode: would change), with before and after of each field that differs."""

    def __init__(self, client: AwxClient, observed: ObservedAwx, *, check_mode: bool, wait_timeout: float) -> None:
        self._client, self._observed, self._check_mode = client, observed, check_mode
        self._wait_timeout = wait_timeout
        self.changes: list[Json] = []

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
            self._apply_nodes(one)

    def _note(self, action: str, title: str, before: Json, after: Json) -> None:
        self.changes.append({"action": action, "object": title, "before": before, "after": after})

    def _id(self, one: DesiredObject) -> int:
        return self._observed.ids.get((one.kind, one.name)) or NEW_ID

    def _send(self, method: str, path: str, body: Json | None, what: str) -> Json:
        return {} if self._check_mode else self._client.send(method, path, body, what)

    def _write(self, one: DesiredObject, existed: bool, differing: t.Mapping[str, tuple[t.Any, t.Any]]) -> None:
        body = {field: after for field, (_before, after) in differing.items()}
        if one.kind == "job_templates" and {"project", "playbook"} & set(differing):
            self._await_project(str(one.fields["project"]))
        if existed:
            self._send("PATCH", f"{one.kind}/{self._id(one)}/", body, f"update {one.title}")
        else:
            made = self._send("POST", f"{one.kind}/", body, f"create {one.title}")
            self._observed.ids[one.kind, one.name] = int(made.get("id", NEW_ID))
        # Names say more than ids.
        before = {field: value for field, (value, _after) in differing.items()} if existed else {}
        self._note("updated" if existed else "created", one.title, before, {field: one.fields[field] for field in body})

    def _await_project(self, name: str) -> None:
        """AWX knows the playbooks of a project once it has fetched them, and takes no template before."""
        if self._check_mode:
            return
        deadline = Deadline(self._wait_timeout)
        path = f"projects/{self._observed.ids['projects', name]}/"
        while True:
            status = str(self._client.get(path, f'show the project "{name}"').get("status"))
            if status == "successful":
                return
            if status not in _UPDATING and status != "never updated":
                raise Refused(
                    f'AWX did not fetch the project "{name}": its update ended as {status}. Read the output of the update in AWX, correct'
                    " ovn_awx_project_url, ovn_awx_project_branch or ovn_awx_project_credential, update the project there, and run again."
                )
            if deadline.expired:
                raise TimedOut(
                    f'Timed out after {self._wait_timeout:g} s waiting for AWX to fetch the project "{name}" (now {status}).'
                    " Look at its update in AWX, then run again, or raise ovn_awx_wait_timeout."
                )
            time.sleep(min(_POLL, deadline.left()))

    def _apply_survey(self, one: DesiredObject) -> None:
        found = self._observed.surveys.get((one.kind, one.name), {})
        if one.survey is None or not survey_differs(one.survey, found):
            return
        self._send("POST", f"{one.kind}/{self._id(one)}/survey_spec/", one.survey, f"write the survey of {one.title}")
        before = {"questions": [asked["variable"] for asked in found.get("spec") or ()]}
        after = {"questions": [asked["variable"] for asked in one.survey["spec"]]}
        self._note("updated", f"survey of {one.title}", before, after)

    def _link(self, one: DesiredObject, relation: str, names: t.Iterable[str]) -> None:
        kind = "credentials" if relation == "credentials" else "notification_templates"
        linked = self._observed.linked.get((one.kind, one.name, relation), set())
        for name in names:
            number = self._observed.ids.get((kind, name))
            if number and number in linked:
                continue
            path = f"{one.kind}/{self._id(one)}/{relation}/"
            self._send("POST", path, {"id": number}, f'attach "{name}" to {one.title}')
            self._note("attached", f"{relation} of {one.title}", {}, {"name": name})

    def _apply_nodes(self, one: DesiredObject) -> None:
        found = self._observed.nodes.get(one.name, {})
        ids = {node.identifier: self._apply_node(one, node, found.get(node.identifier)) for node in one.nodes}
        # Nodes that people have added stay, and so does what leads to them.
        own = {number: identifier for identifier, number in ids.items()}
        for node in one.nodes:
            there = set((found.get(node.identifier) or {}).get("success_nodes") or ()) & set(own)
            wanted = {ids[identifier] for identifier in node.success}
            path = f"workflow_job_template_nodes/{ids[node.identifier]}/success_nodes/"
            what = f"order the nodes of {one.title}"
            for number in sorted(there - wanted):
                self._send("POST", path, {"id": number, "disassociate": True}, what)
                self._note("detached", f"node {node.identifier} of {one.title}", {"success": own[number]}, {})
            for identifier in node.success:
                if ids[identifier] not in there:
                    self._send("POST", path, {"id": ids[identifier]}, what)
                    self._note("attached", f"node {node.identifier} of {one.title}", {}, {"success": identifier})

    def _apply_node(self, one: DesiredObject, node: DesiredNode, found: Json | None) -> int:
        """Return the id of the node, in check mode a negative one for a node that would be created."""
        title = f"node {node.identifier} of {one.title}"
        starts = None if node.approval else resolve(self._observed, "unified_job_template", node.template)
        number = int(found["id"]) if found else -1 - list(one.nodes).index(node)
        if not found:
            body = {"workflow_job_template": self._id(one), "identifier": node.identifier}
            body |= {} if node.approval else {"unified_job_template": starts}
            made = self._send("POST", "workflow_job_template_nodes/", body, f"create {title}")
            number = int(made.get("id", number))
            self._note(
                "created", title, {}, {"template": node.template} if node.template else {"approval": node.approval}
            )
        elif not node.approval and found["unified_job_template"] != starts:
            path = f"workflow_job_template_nodes/{number}/"
            self._send("PATCH", path, {"unified_job_template": starts}, f"update {title}")
            self._note("updated", title, {"template": found["unified_job_template"]}, {"template": node.template})
        if node.approval and approval_differs(node, found):
            self._write_approval(node, found, number, title)
        return number

    def _write_approval(self, node: DesiredNode, found: Json | None, number: int, title: str) -> None:
        if found and waits_for_approval(found):
            path, method = f"workflow_approval_templates/{found['unified_job_template']}/", "PATCH"
        else:
            path, method = f"workflow_job_template_nodes/{number}/create_approval_template/", "POST"
        self._send(method, path, node.approval, f"write the approval of {title}")
        if found:
            self._note("updated", title, {}, {"approval": node.approval})


def apply_resources(client: AwxClient, params: t.Mapping[str, t.Any], *, check_mode: bool) -> Json:
    """Return `changed`, `objects` (action and object) and `diff`. Nothing is changed if anything is refused that can be known before."""
    desired = desired_objects(params["resources"])
    observed = read_awx(client, str(params["organization"]), desired)
    foreign = foreign_objects(desired, observed, params["take_over"])
    if foreign:
        raise Refused(
            f"AWX at {client.host} has objects of these names that c5c3.ovn.awx did not make: {', '.join(foreign)}. Rename them, choose another"
            " ovn_awx_name, or list their names in ovn_awx_take_over, and they become as the collection has them. Nothing was changed."
        )
    run = AwxRun(client, observed, check_mode=check_mode, wait_timeout=float(params["wait_timeout"]))
    for one in desired:
        try:
            run.apply(one)
        except (Refused, TimedOut) as e:
            if not run.changes or check_mode:
                raise
            done = len(run.changes)
            raise type(e)(
                f"{e} {done} change{'s' if done > 1 else ''} before it {'were' if done > 1 else 'was'} made; the next run goes on."
            ) from e
    return {
        "changed": bool(run.changes),
        "objects": [{"action": change["action"], "object": change["object"]} for change in run.changes],
        "diff": {
            side: {f"{number} {change['object']}": change[side] for number, change in enumerate(run.changes, 1)}
            for side in ("before", "after")
        },
    }
