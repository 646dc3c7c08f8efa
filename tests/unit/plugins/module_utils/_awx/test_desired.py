"""What the data of awx/ means: order, what is left out, and what is wrong with it before AWX is asked."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._awx.desired import desired_objects
from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import InvalidInput

MARKED = "text (c5c3.ovn.awx)"


def one(name: str, **fields: t.Any) -> dict[str, t.Any]:
    return {"name": name, "description": MARKED, **fields}


def test_they_are_made_in_the_order_of_their_references() -> None:
    given = {"schedules": [one("s", unified_job_template="j")], "job_templates": [one("j")], "projects": [one("p")]}
    assert [found.title for found in desired_objects(given)] == [
        'project "p"',
        'job template "j"',
        'schedule "s"',
    ]


def test_empty_objects_are_omitted_with_their_links() -> None:
    template = one("j", notifications={"error": ["n"]}, credentials=["ssh"])
    (alone,) = desired_objects({"notification_templates": [one("n", only_with="")], "job_templates": [template]})
    assert dict(alone.links) == {"credentials": ("ssh",)}
    both = desired_objects({"notification_templates": [one("n", only_with="url")], "job_templates": [template]})
    assert "only_with" not in both[0].fields
    assert both[1].links["notification_templates_error"] == ("n",)


def test_a_reference_without_a_name_is_null() -> None:
    (project,) = desired_objects({"projects": [one("p", credential="", scm_branch="")]})
    assert (project.fields["credential"], project.fields["scm_branch"]) == (None, "")


@pytest.mark.parametrize("given", ["ssh,vault", "ssh, vault", ["ssh", "vault"]])
def test_credentials_may_be_a_text(given: t.Any) -> None:
    (template,) = desired_objects({"job_templates": [one("j", credentials=given)]})
    assert template.links["credentials"] == ("ssh", "vault")


def test_the_time_of_an_approval_is_a_number() -> None:
    nodes = [{"identifier": "a", "approval": {"name": "A", "timeout": "60"}}]
    (workflow,) = desired_objects({"workflow_job_templates": [one("w", nodes=nodes)]})
    assert workflow.nodes[0].approval == {"name": "A", "timeout": 60}


@pytest.mark.parametrize(
    ("given", "says"),
    [
        pytest.param({"teams": []}, "teams, which is no kind of object", id="unknown kind"),
        pytest.param({"projects": [one("p"), one("p")]}, 'project "p" is twice', id="twice"),
        pytest.param({"projects": [one("p", description="x")]}, 'The description of project "p"', id="no mark"),
        pytest.param({"job_templates": [one("j", project="p")]}, 'names project "p", which is not', id="reference"),
        pytest.param(
            {"workflow_job_templates": [one("w", nodes=[{"identifier": "a", "template": "j"}])]},
            "Node a of workflow job template",
            id="node without template",
        ),
        pytest.param(
            {"workflow_job_templates": [one("w", nodes=[{"identifier": name, "approval": {"name": "A"}, "success": ["a"]} for name in "ab"])]},
            "leads nowhere: a",
            id="node that comes before what leads to it",
        ),
        pytest.param(
            {"workflow_job_templates": [one("w", nodes=[{"identifier": "a", "approval": {"name": "A"}, "success": ["b"]}])]},
            "leads nowhere: b",
            id="node that leads nowhere",
        ),
    ],
)  # fmt: skip
def test_contradicting_settings_are_refused(given: dict[str, t.Any], says: str) -> None:
    with pytest.raises(InvalidInput, match=says):
        desired_objects(given)
