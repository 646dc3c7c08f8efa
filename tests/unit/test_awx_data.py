"""awx/ is what its program writes from the playbooks and the argument specs, and every playbook is offered or refused with a reason."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._roles.awx import SCHEDULES, image_pull

ROOT = Path(__file__).resolve().parents[2]
PLAYBOOKS = {path.stem for path in ROOT.glob("playbooks/*.yml")}


@pytest.fixture(scope="module")
def awx() -> Iterator[ModuleType]:
    folder = str(ROOT / "docs" / "site")
    sys.path.insert(0, folder)
    try:
        import awx as program

        yield program
    finally:
        sys.path.remove(folder)
        for name in ("awx", "awx_offers", "awx_sites", "variables"):
            sys.modules.pop(name, None)


@pytest.fixture(scope="module")
def resources(awx: ModuleType) -> dict[str, list[dict[str, Any]]]:
    written: dict[str, list[dict[str, Any]]] = awx.resources()
    return written


def test_the_data_is_up_to_date(awx: ModuleType) -> None:
    there = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "awx").glob("*.yml")}
    assert there == awx.files(), "run: .venv/bin/python docs/site/awx.py"


@pytest.mark.parametrize(
    ("image", "expected"),
    [
        ("registry.example.com/ovn-ee:1", "missing"),
        ("registry.example.com:5000/ovn-ee", "always"),
        ("ovn-ee:latest", "always"),
        ("ovn-ee@sha256:0", "missing"),
    ],
)
def test_image_whose_tag_moves_is_pulled_for_each_job(image: str, expected: str) -> None:
    assert image_pull(image) == expected


def test_each_playbook_is_offered_or_refused_with_a_reason(awx: ModuleType) -> None:
    assert set(awx.OFFERED) | set(awx.NOT_OFFERED) == PLAYBOOKS
    assert set(awx.OFFERED) & set(awx.NOT_OFFERED) == set()
    assert all(len(reason) > 20 for reason in awx.NOT_OFFERED.values())


def test_what_surveys_ask_for_are_options(awx: ModuleType) -> None:
    known = awx.options()
    assert {name for offer in awx.OFFERED.values() for name in offer.asks} - set(known) == set()


def test_what_credentials_inject_are_options(awx: ModuleType, resources: dict[str, list[dict[str, Any]]]) -> None:
    injected = {name for one in resources["credential_types"] for name in one["injectors"].get("extra_vars", {})}
    assert injected == {"ovn_pki_ca", "ovn_pki_chassis_ca"}
    assert injected - set(awx.options()) == set()


def test_a_run_that_restarts_or_removes_comes_after_an_approval(
    awx: ModuleType, resources: dict[str, list[dict[str, Any]]]
) -> None:
    for workflow in resources["workflow_job_templates"]:
        after = {target: node["identifier"] for node in workflow["nodes"] for target in node["success"]}
        assert [after.get("run"), after.get("approve"), after.get("check")] == ["approve", "check", None]
        assert next(node for node in workflow["nodes"] if node["identifier"] == "approve")["approval"]["description"]
    # These call a task that restarts or ends a daemon, or take what they changed for a reason to restart it.
    restarting = {name for name, offer in awx.OFFERED.items() if offer.approval}
    assert restarting == {"site", "central", "hypervisors", "adopt", "rotate", "neutron"}
    assert all(awx.OFFERED[name].check for name in restarting)


def test_no_proof_gets_an_answer_that_removes(resources: dict[str, list[dict[str, Any]]]) -> None:
    """AWX hands the answers of a workflow on to each node: told that hypervisors are absent, the proof expects none."""
    proved = set()
    for workflow in resources["workflow_job_templates"]:
        answers = {
            choice for asked in workflow.get("survey", {}).get("spec", ()) for choice in asked.get("choices", ())
        }
        if any(node["identifier"] == "verify" for node in workflow["nodes"]):
            proved.add(workflow["name"])
            assert answers & {"absent", "gone"} == set()
    assert proved == {
        f"{{{{ ovn_awx_name }}}} {name} with approval"
        for name in ("control plane", "adopt", "rotate certificates", "neutron")
    }


def test_schedules_change_nothing(awx: ModuleType, resources: dict[str, list[dict[str, Any]]]) -> None:
    templates = {template["name"]: template for template in resources["job_templates"]}
    for schedule in resources["schedules"]:
        template = templates[schedule["unified_job_template"]]
        playbook = Path(template["playbook"]).stem
        # What restarts services needs somebody who turns the schedule on.
        assert template["job_type"] == "check" or not awx.OFFERED[playbook].approval or schedule["enabled"] is not True
        switches = {name: f"{{{{ ovn_awx_schedules.{name} }}}}" for name in SCHEDULES}
        assert schedule["enabled"] == switches.get(playbook, True)
        assert template["notifications"] == {"error": [awx.NAME]}


def test_questions_have_no_default_that_would_win_over_the_inventory(
    resources: dict[str, list[dict[str, Any]]],
) -> None:
    questions = [
        asked
        for kind in ("job_templates", "workflow_job_templates")
        for template in resources[kind]
        for asked in template.get("survey", {}).get("spec", ())
    ]
    assert len(questions) > 30
    # An empty default is no choice and no number, so AWX hands nothing on; of a text it would be the answer.
    texts = ("text", "password")
    assert [asked["variable"] for asked in questions if ("default" in asked) == (asked["type"] in texts)] == []
    assert {asked.get("default", "") for asked in questions} == {""}
    assert not [asked["variable"] for asked in questions if re.search(r"[`*]|[A-Z]\(", asked["question_description"])]


@pytest.mark.parametrize(
    ("option", "asked"),
    [
        pytest.param(
            {"type": "bool", "default": False, "description": "Whether."},
            {
                "type": "multiplechoice",
                "choices": ["false", "true"],
                "default": "",
                "question_description": "Whether. Unanswered, the inventory counts, or else false.",
            },
            id="boolean",
        ),
        pytest.param(
            {"type": "str", "choices": ["a", "b"], "required": True, "description": ["One of C(a), V(b).", "More."]},
            {"type": "multiplechoice", "choices": ["a", "b"], "required": True, "question_description": "One of a, b."},
            id="choices",
        ),
        pytest.param(
            {"type": "list", "choices": ["a", "b"], "default": ["a", "b"], "description": "Some."},
            {"type": "multiselect", "choices": ["a", "b"], "question_description": "Some. Unanswered, the inventory counts, or else a, b."},
            id="list",
        ),
        pytest.param({"type": "int", "default": 5, "description": "N."}, {"type": "integer", "default": ""}, id="integer"),
        pytest.param({"type": "float", "description": "N."}, {"type": "float", "question_description": "N."}, id="float"),
        pytest.param({"type": "str", "no_log": True, "description": "P."}, {"type": "password"}, id="secret"),
        pytest.param({"type": "str", "default": "", "description": "T."}, {"type": "text", "question_description": "T."}, id="text"),
    ],
)  # fmt: skip
def test_a_question_has_the_type_of_its_option(awx: ModuleType, option: dict[str, Any], asked: dict[str, Any]) -> None:
    question = awx.question("ovn_ping_some_name", option)
    assert {key: question.get(key) for key in asked} == asked
    assert (question["variable"], question["question_name"]) == ("ovn_ping_some_name", "Ping some name")
