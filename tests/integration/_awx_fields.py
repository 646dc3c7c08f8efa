"""The fields of AWX's objects as its API takes and returns them (devel of October 2024): types, what is required, what may be null, choices, defaults."""

from __future__ import annotations

import dataclasses
import typing as t

REQUIRED: t.Any = object()
VERBOSITY = (0, 1, 2, 3, 4, 5)


@dataclasses.dataclass(frozen=True)
class Field:
    """`kind`: text, integer, boolean, json or reference (to objects of the kinds `to`)."""

    kind: str
    default: t.Any = REQUIRED
    choices: tuple[t.Any, ...] = ()
    to: tuple[str, ...] = ()
    null: bool = False
    fixed: bool = False  # only taken when the object is created


def text(default: t.Any = "", *choices: str, null: bool = False) -> Field:
    return Field("text", default, choices, null=null)


def flag(default: bool = False) -> Field:
    return Field("boolean", default)


def number(default: t.Any = 0, *choices: int) -> Field:
    return Field("integer", default, choices)


def to(*kinds: str, required: bool = False, fixed: bool = False) -> Field:
    return Field("reference", REQUIRED if required else None, to=kinds, null=not required, fixed=fixed)


NAMED = {"name": text(REQUIRED), "description": text()}
TEMPLATES = ("job_templates", "workflow_job_templates", "workflow_approval_templates", "projects", "inventory_sources")
ASKED = (
    *("scm_branch", "diff_mode", "variables", "limit", "tags", "skip_tags", "job_type", "verbosity", "inventory"),
    *("credential", "execution_environment", "labels", "forks", "job_slice_count", "timeout", "instance_groups"),
)
PROMPTS = {
    "extra_data": Field("json", {}),
    "inventory": to("inventories"),
    **{name: text(None, null=True) for name in ("scm_branch", "job_tags", "skip_tags", "limit")},
    "job_type": text(None, "run", "check", null=True),
    "diff_mode": Field("boolean", None, null=True),
    "verbosity": Field("integer", None, VERBOSITY, null=True),
    "execution_environment": to("execution_environments"),
    **{name: Field("integer", None, null=True) for name in ("forks", "job_slice_count", "timeout")},
}
SOURCES = ("file", "constructed", "scm", "ec2", "gce", "azure_rm", "vmware", "openstack", "controller", "insights")
FIELDS: dict[str, dict[str, Field]] = {
    "organizations": {**NAMED, "max_hosts": number(), "default_environment": to("execution_environments")},
    "credential_types": {
        **NAMED,
        "kind": text(REQUIRED, "ssh", "vault", "net", "scm", "cloud", "registry", "token", "galaxy"),
        "inputs": Field("json", {}),
        "injectors": Field("json", {}),
    },
    "credentials": {
        **NAMED,
        "organization": to("organizations"),
        "credential_type": to("credential_types", required=True),
        "inputs": Field("json", {}),
    },
    "execution_environments": {
        **NAMED,
        "organization": to("organizations"),
        "image": text(REQUIRED),
        "credential": to("credentials"),
        "pull": text("", "always", "missing", "never"),
    },
    "projects": {
        **NAMED,
        "organization": to("organizations"),
        "local_path": text(),
        "scm_type": text("", "git", "svn", "insights", "archive"),
        **{name: text() for name in ("scm_url", "scm_branch", "scm_refspec")},
        **{name: flag() for name in ("scm_clean", "scm_track_submodules", "scm_delete_on_update")},
        "credential": to("credentials"),
        "timeout": number(),
        "scm_update_on_launch": flag(),
        "scm_update_cache_timeout": number(),
        "allow_override": flag(),
        "default_environment": to("execution_environments"),
    },
    "inventories": {
        **NAMED,
        "organization": to("organizations", required=True),
        "kind": text("", "smart", "constructed"),
        "host_filter": text(None, null=True),
        "variables": text(),
        "prevent_instance_group_fallback": flag(),
    },
    "inventory_sources": {
        **NAMED,
        "inventory": to("inventories", required=True, fixed=True),
        "source": text(REQUIRED, *SOURCES),
        **{
            name: text()
            for name in ("source_path", "source_vars", "scm_branch", "limit", "enabled_var", "enabled_value")
        },
        "source_project": to("projects"),
        "credential": to("credentials"),
        "execution_environment": to("execution_environments"),
        **{name: flag() for name in ("overwrite", "overwrite_vars", "update_on_launch")},
        "timeout": number(),
        "verbosity": number(1, 0, 1, 2),
        "update_cache_timeout": number(),
    },
    "notification_templates": {
        **NAMED,
        "organization": to("organizations", required=True),
        "notification_type": text(
            REQUIRED, "email", "slack", "twilio", "pagerduty", "grafana", "webhook", "mattermost", "rocketchat", "irc"
        ),
        "notification_configuration": Field("json", {}),
        "messages": Field("json", None, null=True),
    },
    "job_templates": {
        **NAMED,
        "job_type": text("run", "run", "check"),
        "inventory": to("inventories"),
        "project": to("projects"),
        "playbook": text(),
        **{name: text() for name in ("scm_branch", "limit", "extra_vars", "job_tags", "skip_tags", "start_at_task")},
        **{name: number() for name in ("forks", "timeout")},
        "verbosity": number(0, *VERBOSITY),
        "job_slice_count": number(1),
        **{name: flag() for name in ("force_handlers", "use_fact_cache", "survey_enabled", "become_enabled")},
        **{name: flag() for name in ("diff_mode", "allow_simultaneous", "prevent_instance_group_fallback")},
        "execution_environment": to("execution_environments"),
        "host_config_key": text(),
        "webhook_service": text("", "github", "gitlab", "bitbucket_dc"),
        **{f"ask_{name}_on_launch": flag() for name in ASKED},
    },
    "workflow_job_templates": {
        **NAMED,
        "organization": to("organizations"),
        "inventory": to("inventories"),
        "extra_vars": text(),
        **{name: text(None, null=True) for name in ("limit", "scm_branch", "job_tags", "skip_tags")},
        **{name: flag() for name in ("survey_enabled", "allow_simultaneous")},
        **{
            f"ask_{name}_on_launch": flag()
            for name in ("variables", "inventory", "scm_branch", "limit", "labels", "skip_tags", "tags")
        },
        "webhook_service": text("", "github", "gitlab", "bitbucket_dc"),
    },
    "workflow_job_template_nodes": {
        "workflow_job_template": to("workflow_job_templates", required=True, fixed=True),
        "unified_job_template": to(*TEMPLATES),
        "all_parents_must_converge": flag(),
        "identifier": text(None),
        **PROMPTS,
    },
    "workflow_approval_templates": {**NAMED, "timeout": number()},
    "schedules": {
        **NAMED,
        "unified_job_template": to(*TEMPLATES, required=True),
        "enabled": flag(True),
        "rrule": text(REQUIRED),
        **PROMPTS,
    },
}
# What makes a second object of a kind a duplicate; those of templates of one class are compared.
UNIQUE: dict[str, tuple[str, ...]] = {
    "organizations": ("name",),
    "credential_types": ("name", "kind"),
    "credentials": ("organization", "name", "credential_type"),
    "execution_environments": ("name",),
    "projects": ("name", "organization"),
    "inventories": ("name", "organization"),
    "inventory_sources": ("name", "inventory"),
    "notification_templates": ("organization", "name"),
    "job_templates": ("name", "organization"),
    "workflow_job_templates": ("name", "organization"),
    "workflow_job_template_nodes": ("identifier", "workflow_job_template"),
    "schedules": ("unified_job_template", "name"),
}
NOTIFIED = ("started", "success", "error")
LISTS = {
    "job_templates": ("credentials", *(f"notification_templates_{event}" for event in NOTIFIED)),
    "workflow_job_templates": tuple(f"notification_templates_{event}" for event in (*NOTIFIED, "approvals")),
    "projects": tuple(f"notification_templates_{event}" for event in NOTIFIED),
    "workflow_job_template_nodes": ("success_nodes", "failure_nodes", "always_nodes", "credentials"),
}
