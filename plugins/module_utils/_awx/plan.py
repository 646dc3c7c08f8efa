# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

What differs between a desired object and that of AWX.
"""

from __future__ import annotations

import typing as t

from .desired import DesiredNode, DesiredObject
from .kinds import REFERENCES
from .observed import ObservedAwx, resolve

Json = dict[str, t.Any]
_ONLY_OURS = ("notification_configuration",)  # AWX completes these, and hides passwords in them


def changed_fields(one: DesiredObject, observed: ObservedAwx) -> dict[str, tuple[t.Any, t.Any]]:
    """Return before and after of each field that differs, as AWX has it (ids); after is None where the id is not known in check mode. Pure."""
    found = observed.objects.get((one.kind, one.name), {})
    differing = {}
    for field, value in one.fields.items():
        after = resolve(observed, field, value) if field in REFERENCES and value else value
        before = found.get(field)
        if field in _ONLY_OURS and isinstance(before, dict):
            before = {key: before.get(key) for key in value}
        if before != after or (after is None and value):
            differing[field] = (before, after)
    return differing


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
