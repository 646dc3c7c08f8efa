"""What differs between a desired object and that of AWX."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._awx.desired import DesiredNode, DesiredObject
from ansible_collections.c5c3.ovn.plugins.module_utils._awx.observed import ObservedAwx, foreign_objects
from ansible_collections.c5c3.ovn.plugins.module_utils._awx.plan import (
    approval_differs,
    changed_fields,
    secrets_in,
    shown,
    survey_differs,
    waits_for_approval,
)

IDS: dict[tuple[str, str], int | None] = {("projects", "p"): 7, ("projects", "q"): None}


def desired(kind: str = "job_templates", **fields: t.Any) -> DesiredObject:
    return DesiredObject(kind, "j", fields, {}, None, ())


def observed(kind: str = "job_templates", **fields: t.Any) -> ObservedAwx:
    return ObservedAwx({(kind, "j"): fields} if fields else {}, IDS, {}, {}, {})


@pytest.mark.parametrize(
    ("one", "there", "differing"),
    [
        pytest.param(desired(limit="a"), observed(limit="a", forks=5), {}, id="other fields of AWX do not count"),
        pytest.param(desired(limit="a"), observed(limit="b"), {"limit": ("b", "a")}, id="another value"),
        pytest.param(desired(limit="a"), observed(), {"limit": (None, "a")}, id="not there"),
        pytest.param(desired(project="p"), observed(project=7), {}, id="a name is an id"),
        pytest.param(desired(project="p"), observed(project=8), {"project": (8, 7)}, id="another object"),
        pytest.param(desired(project="q"), observed(project=None), {"project": (None, None)}, id="a new object in check mode"),
        pytest.param(desired(credential=None), observed(credential=None), {}, id="null"),
        pytest.param(
            desired("notification_templates", notification_configuration={"url": "u"}),
            observed("notification_templates", notification_configuration={"url": "u", "password": "$encrypted$"}),
            {},
            id="what AWX completes",
        ),
        pytest.param(
            desired("notification_templates", notification_configuration={"url": "u", "headers": {}}),
            observed("notification_templates", notification_configuration={"url": "v", "headers": {"a": "b"}}),
            {"notification_configuration": ({"url": "v", "headers": {"a": "b"}}, {"url": "u", "headers": {"a": "b"}})},
            id="what people added stays",
        ),
    ],
)  # fmt: skip
def test_fields(one: DesiredObject, there: ObservedAwx, differing: dict[str, t.Any]) -> None:
    assert changed_fields(one, there) == differing


SURVEY = {"name": "", "description": "", "spec": [{"variable": "a", "type": "text"}]}


@pytest.mark.parametrize(
    ("there", "differs"),
    [
        pytest.param(SURVEY, False, id="equal"),
        pytest.param({**SURVEY, "spec": [{"variable": "a", "type": "text", "new_question": True}]}, False, id="a key of AWX"),
        pytest.param({**SURVEY, "spec": [{"variable": "a", "type": "integer"}]}, True, id="another type"),
        pytest.param({**SURVEY, "spec": [*SURVEY["spec"], {"variable": "b"}]}, True, id="one more question"),
        pytest.param({}, True, id="none"),
    ],
)  # fmt: skip
def test_surveys(there: dict[str, t.Any], differs: bool) -> None:
    assert survey_differs(SURVEY, there) is differs


def test_approvals() -> None:
    node = DesiredNode("a", "", {"name": "A", "description": "", "timeout": 60}, ())
    template = {"name": "A", "description": "", "timeout": 60, "unified_job_type": "workflow_approval"}
    found = {"summary_fields": {"unified_job_template": template}}
    assert not approval_differs(node, found)
    assert waits_for_approval(found)
    assert approval_differs(node, {"summary_fields": {"unified_job_template": {**template, "timeout": 0}}})
    assert approval_differs(node, None)
    assert not waits_for_approval({"summary_fields": {}})


def test_an_object_without_our_mark_is_foreign() -> None:
    one = desired()
    assert foreign_objects([one], observed(description="by hand"), "o", []) == ['job template "j"']
    assert foreign_objects([one], observed(description="by hand"), "o", ["j"]) == ['job template "j"']
    assert foreign_objects([one], observed(description="by hand"), "o", ['job template "j"']) == []
    assert foreign_objects([one], observed(description="ours (c5c3.ovn.awx)"), "o", []) == []
    assert foreign_objects([one], observed(), "o", []) == []


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        pytest.param("a", "b", ("a", "b"), id="no address"),
        pytest.param("https://u:p@h/x", "https://h/x", ("https://********@h/x", "https://h/x"), id="a token"),
        pytest.param("https://p@h/x", "https://q@h/x", ("https://********@h/x", "https://********@h/x (another one)"), id="another token"),
        pytest.param("ssh://git@h/x", "x", ("ssh://git@h/x", "x"), id="a user of SSH in a URL"),
        pytest.param("git@h:x", None, ("git@h:x", None), id="a user of SSH"),
    ],
)  # fmt: skip
def test_what_is_shown_of_an_address(before: t.Any, after: t.Any, told: tuple[t.Any, t.Any]) -> None:
    assert shown("scm_url", before, after) == told


def test_what_is_shown_of_a_webhook() -> None:
    given = {"url": "https://u:p@h:1/secret", "headers": {"Authorization": "x"}, "http_method": "POST"}
    masked = {"url": "https://h:1/********", "headers": {"Authorization": "********"}, "http_method": "POST"}
    assert shown("notification_configuration", None, given) == (None, masked)


def test_addresses_that_no_output_may_have() -> None:
    projects = [{"scm_url": "https://u:p@h/x"}, {"scm_url": "https://h/y"}, {}]
    notifications = [{"notification_configuration": {"url": "https://h/hook"}}]
    given = {"projects": projects, "notification_templates": notifications}
    assert secrets_in(given) == {"https://u:p@h/x", "https://h/hook"}
