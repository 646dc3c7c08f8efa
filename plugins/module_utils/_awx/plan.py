# SPDX-License-Identifier: GPL-3.0-or-later
"""What differs between a desired object and that of AWX."""

from __future__ import annotations

import re
import typing as t

from .desired import REFERENCES, DesiredNode, DesiredObject
from .observed import ObservedAwx, resolve

Json = dict[str, t.Any]
_MERGED = ("notification_configuration",)  # people add headers and passwords, which AWX hides and takes back hidden
_HIDDEN = "********"


def changed_fields(one: DesiredObject, observed: ObservedAwx) -> dict[str, tuple[t.Any, t.Any]]:
    """Return before and after of each field that differs, as AWX has it (ids); after is None where the id is not known in check mode. Pure."""
    found = observed.objects.get((one.kind, one.name), {})
    differing = {}
    for field, value in one.fields.items():
        after = resolve(observed, field, value) if field in REFERENCES and value else value
        before = found.get(field)
        if field in _MERGED and isinstance(before, dict):
            after = _merged(before, value)
        if before != after or (after is None and value):
            differing[field] = (before, after)
    return differing


def _merged(there: t.Mapping[str, t.Any], ours: t.Mapping[str, t.Any]) -> Json:
    """Return what is there with our values in it; what others added stays."""
    return {
        **there,
        **{
            key: _merged(there[key], value) if isinstance(value, dict) and isinstance(there.get(key), dict) else value
            for key, value in ours.items()
        },
    }


def shown(field: str, before: t.Any, after: t.Any) -> tuple[t.Any, t.Any]:
    """Return before and after of a field as people may see them: what an address has of a secret is hidden. Pure."""
    masked = (_masked(field, before), _masked(field, after))
    if masked[0] == masked[1] and before != after and isinstance(after, str):
        return masked[0], f"{masked[1]} (another one)"
    return masked


def _masked(field: str, value: t.Any) -> t.Any:
    if field in _MERGED and isinstance(value, dict):
        # Who has the address of a webhook can post there.
        start = re.match(r"(\w+://)?(?:[^/\s]*@)?([^/\s]*)", str(value.get("url") or ""))
        host = "".join(part or "" for part in start.groups()) if start else ""
        headers = dict.fromkeys(value.get("headers") or (), _HIDDEN)
        return {**value, "url": f"{host}/{_HIDDEN}", "headers": headers}
    return re.sub(r"(https?://)[^/\s]*@", rf"\1{_HIDDEN}@", value) if isinstance(value, str) else value


def secrets_in(resources: t.Mapping[str, t.Any]) -> set[str]:
    """Return the addresses that no output may have: those of webhooks, and those with a password or token. Pure."""
    found = set()
    for kind, key in (("projects", "scm_url"), ("notification_templates", "notification_configuration")):
        for one in resources.get(kind) or ():
            value = one.get(key) or ""
            address = str(value.get("url") or "") if isinstance(value, dict) else str(value)
            if address and (isinstance(value, dict) or _masked(key, address) != address):
                found.add(address)
    return found


def survey_differs(survey: t.Mapping[str, t.Any], found: t.Mapping[str, t.Any]) -> bool:
    """Return whether AWX asks other questions, or in other words. Keys that AWX adds to a question do not count. Pure."""
    questions: t.Sequence[Json] = found.get("spec") or ()
    return (
        any(survey[key] != found.get(key) for key in ("name", "description"))
        or len(survey["spec"]) != len(questions)
        or any(
            value != there.get(key) for asked, there in zip(survey["spec"], questions) for key, value in asked.items()
        )
    )


def approval_differs(node: DesiredNode, found: t.Mapping[str, t.Any] | None) -> bool:
    """Return whether the approval that a node waits for is another one than AWX has. Pure."""
    template = ((found or {}).get("summary_fields") or {}).get("unified_job_template") or {}
    approval = node.approval or {}
    return any(template.get(key) != approval.get(key) for key in ("name", "description", "timeout"))


def waits_for_approval(found: t.Mapping[str, t.Any] | None) -> bool:
    """Return whether a node of AWX waits for an approval. Pure."""
    template = ((found or {}).get("summary_fields") or {}).get("unified_job_template") or {}
    return bool(template.get("unified_job_type") == "workflow_approval")
