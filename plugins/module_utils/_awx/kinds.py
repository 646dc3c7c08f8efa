# SPDX-License-Identifier: GPL-3.0-or-later
"""The kinds of objects in AWX: where they are listed, what makes one unique, and which fields name other objects."""

from __future__ import annotations

import dataclasses
import typing as t

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
