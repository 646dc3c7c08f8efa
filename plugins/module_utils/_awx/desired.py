# SPDX-License-Identifier: GPL-3.0-or-later
"""The objects that AWX should have, from the data in the folder awx of the collection."""

from __future__ import annotations

import dataclasses
import typing as t

from .._base.errors import InvalidInput
from .._base.inventory import as_list

# The kinds of objects in AWX: where they are listed, what makes one unique, and which fields name other objects.

MARK = "(c5c3.ovn.awx)"  # at the end of a description: the object was made by the playbook


@dataclasses.dataclass(frozen=True)
class AwxKind:
    """`name` is the path of its list. `parent` is the field that names what the object belongs to: names are unique within it."""

    name: str
    singular: str
    parent: str = ""


# In the order in which they are made: each refers only to those before it.
KINDS = (
    AwxKind("credential_types", "credential type"),
    AwxKind("execution_environments", "execution environment"),
    AwxKind("projects", "project", "organization"),
    AwxKind("inventories", "inventory", "organization"),
    AwxKind("inventory_sources", "inventory source", "inventory"),
    AwxKind("notification_templates", "notification template", "organization"),
    AwxKind("job_templates", "job template", "organization"),
    AwxKind("workflow_job_templates", "workflow job template", "organization"),
    AwxKind("schedules", "schedule", "unified_job_template"),
)
KIND_OF = {kind.name: kind for kind in KINDS}
# Fields whose value is the name of another object, and the kinds that it may have.
REFERENCES: dict[str, tuple[str, ...]] = {
    "organization": ("organizations",),
    "credential": ("credentials",),
    "project": ("projects",),
    "source_project": ("projects",),
    "inventory": ("inventories",),
    "execution_environment": ("execution_environments",),
    "unified_job_template": ("job_templates", "workflow_job_templates"),
}
# Keys of the data that are no fields: what is written through pages of its own.
NOTIFICATIONS = {
    "started": "notification_templates_started",
    "success": "notification_templates_success",
    "error": "notification_templates_error",
    "approvals": "notification_templates_approvals",
}


def credential_slot(credential: t.Mapping[str, t.Any]) -> tuple[t.Any, str]:
    """Return what AWX lets a template have only one of: a type, and of Vault also an id. Pure."""
    inputs = credential.get("inputs") or {}
    return credential.get("credential_type"), str(inputs.get("vault_id") or "") if credential.get(
        "kind"
    ) == "vault" else ""


Json = dict[str, t.Any]


@dataclasses.dataclass(frozen=True)
class DesiredNode:
    """A node of a workflow: it starts `template`, or waits for `approval` (name, description, timeout in seconds)."""

    identifier: str
    template: str
    approval: Json | None
    success: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class DesiredObject:
    """An object of AWX. `fields` have names where AWX has ids; `links` are the names of credentials and notifications by their list."""

    kind: str
    name: str
    fields: Json
    links: t.Mapping[str, tuple[str, ...]]
    survey: Json | None
    nodes: tuple[DesiredNode, ...]

    @property
    def title(self) -> str:
        return f'{KIND_OF[self.kind].singular} "{self.name}"'


def desired_objects(resources: t.Mapping[str, t.Any]) -> list[DesiredObject]:
    """Return the objects in the order in which they are made. Those whose `only_with` is empty are left out, and so is what links to them. Pure."""
    unknown = sorted(set(resources) - set(KIND_OF))
    if unknown:
        raise InvalidInput(
            f"resources has {', '.join(unknown)}, which is no kind of object. Kinds: {', '.join(KIND_OF)}."
        )
    given = [(kind.name, entry) for kind in KINDS for entry in resources.get(kind.name) or ()]
    kept = [(kind, entry) for kind, entry in given if "only_with" not in entry or entry["only_with"]]
    notifications = {entry["name"] for kind, entry in kept if kind == "notification_templates"}
    found = [_object(kind, entry, notifications) for kind, entry in kept]
    _check(found)
    return found


def _object(kind: str, entry: t.Mapping[str, t.Any], notifications: t.Container[str]) -> DesiredObject:
    credentials = as_list(entry.get("credentials") or ())
    links = {"credentials": tuple(credentials)} if credentials else {}
    for event, names in (entry.get("notifications") or {}).items():
        there = tuple(name for name in names if name in notifications)
        if there:
            links[NOTIFICATIONS[event]] = there
    fields = {
        key: value
        for key, value in entry.items()
        if key not in ("only_with", "credentials", "notifications", "survey", "nodes")
    }
    for key in REFERENCES:
        if key in fields and not fields[key]:
            fields[key] = None
    return DesiredObject(
        kind,
        str(entry["name"]),
        fields,
        links,
        entry.get("survey"),
        tuple(_node(node) for node in entry.get("nodes") or ()),
    )


def _node(node: t.Mapping[str, t.Any]) -> DesiredNode:
    approval = node.get("approval")
    if approval:
        approval = {**approval, "timeout": int(approval.get("timeout") or 0)}
    return DesiredNode(
        str(node["identifier"]), str(node.get("template") or ""), approval, tuple(node.get("success") or ())
    )


def _check(found: t.Sequence[DesiredObject]) -> None:
    """Refuse what the data itself has wrong: names that are twice there or lead nowhere, objects that would not be known as ours again."""
    names: dict[str, list[str]] = {}
    for one in found:
        names.setdefault(one.kind, []).append(one.name)
    for one in found:
        if names[one.kind].count(one.name) > 1:
            raise InvalidInput(f"{one.title} is twice in resources.")
        if not str(one.fields.get("description", "")).endswith(MARK):
            raise InvalidInput(
                f'The description of {one.title} does not end with "{MARK}", so a later run would take it for somebody else\'s.'
            )
        for key, kinds in REFERENCES.items():
            value = one.fields.get(key)
            ours = [name for kind in kinds for name in names.get(kind, ())]
            if value and kinds[0] in KIND_OF and value not in ours:
                raise InvalidInput(f'{one.title} names {key} "{value}", which is not in resources.')
        identifiers = [node.identifier for node in one.nodes]
        for number, node in enumerate(one.nodes):
            # Each after what leads to it: that is the order in which they are made.
            missing = [name for name in node.success if name not in identifiers[number + 1 :]]
            if missing or (not node.approval and node.template not in names.get("job_templates", ())):
                raise InvalidInput(
                    f"Node {node.identifier} of {one.title} leads nowhere: {', '.join(missing) or node.template}."
                )
