"""Write the data of awx/ from the playbooks and the argument specs of the roles.

Usage: .venv/bin/python docs/site/awx.py    after a new playbook, or a change of an option that a survey asks for
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import awx_sites
import yaml
from awx_offers import NOT_OFFERED, OFFERED, REMOVING, TEN_MINUTES, WEEKLY, Offer
from variables import SPECIFICATION, first_sentence

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "awx"
HEAD = "# Written by docs/site/awx.py; c5c3.ovn.awx applies it. docs/awx.md says how.\n---\n"
MARK = "(c5c3.ovn.awx)"
NAME = "{{ ovn_awx_name }}"
SWITCHES: dict[str, Any] = {
    TEN_MINUTES: "{{ ovn_awx_schedules.reconcile }}",
    WEEKLY: "{{ ovn_awx_schedules.neutron }}",
}  # schedules of what changes something
# Ansible's types of an option as AWX's types of a question; what has choices is below.
TYPES = {"int": "integer", "float": "float", "bool": "multiplechoice"}


def playbooks() -> dict[str, str]:
    """Return what the first comment of each playbook says it does, by its name."""
    found = {}
    for path in sorted(ROOT.glob("playbooks/*.yml")):
        comment = re.search(r"^# (.*?)$", path.read_text(encoding="utf-8"), re.MULTILINE)
        text = comment.group(1) if comment else ""
        found[path.stem] = re.split(r"(?<=[.!?:]) (?=[A-Z-])", text)[0].rstrip(":").rstrip(".")
    return found


def options() -> dict[str, dict[str, Any]]:
    """Return the shared variables and the options of all roles by their names."""
    found: dict[str, dict[str, Any]] = {name: dict(option) for name, option in SPECIFICATION.items()}
    for path in sorted(ROOT.glob("roles/*/meta/argument_specs.yml")):
        spec = yaml.safe_load(path.read_text(encoding="utf-8"))["argument_specs"]["main"]
        found.update(spec.get("options") or {})
    return found


def question(variable: str, option: dict[str, Any]) -> dict[str, Any]:
    """Return the question of a survey for an option.

    It has no default: AWX sends the default of a question as an extra variable, and that would win over the inventory. The text names it instead.
    """
    kind = option["type"]
    choices = [str(choice) for choice in option.get("choices") or ()]
    description = first_sentence(option["description"]).replace("`", "").replace("**", "").replace(r"\|", "|")
    default = option.get("default")
    if isinstance(default, (bool, list)):
        default = str(default).lower() if isinstance(default, bool) else ", ".join(map(str, default))
    told = f" Unanswered, the inventory counts, or else {default}." if default not in (None, "") else ""
    asked: dict[str, Any] = {
        "question_name": variable.removeprefix("ovn_").replace("_", " ").capitalize(),
        "question_description": description + told,
        "variable": variable,
        "required": bool(option.get("required", False)),
        "type": TYPES.get(kind, "text"),
    }
    if kind == "bool":
        asked["choices"] = ["false", "true"]  # AWX 17 preselects the first
    elif kind == "list":
        asked |= {"type": "multiselect", "choices": choices}
    elif choices:
        asked |= {"type": "multiplechoice", "choices": choices}
    elif option.get("no_log"):
        asked["type"] = "password"
    if "choices" in asked or asked["type"] in ("integer", "float"):
        # AWX's pages cannot show such a question without the key. An empty text is no choice and no number, so AWX hands nothing on.
        asked["default"] = ""
    return asked


def survey(offer: Offer) -> dict[str, Any]:
    known = options()
    return {"name": "", "description": "", "spec": [question(name, known[name]) for name in offer.asks]}


def title(offer: Offer, suffix: str = "") -> str:
    return f"{NAME} {offer.title}{suffix}"


def job_template(name: str, says: str, offer: Offer, *, check: bool) -> dict[str, Any]:
    template: dict[str, Any] = {
        "name": title(offer, " (check)" if check else ""),
        "description": f"{says}{', in check mode: nothing is changed' if check else ''} {MARK}",
        "job_type": "check" if check else "run",
        "project": NAME,
        "playbook": f"playbooks/{name}.yml",
        "inventory": NAME,
        "execution_environment": NAME,
        "diff_mode": check,
        "allow_simultaneous": offer.simultaneous,
        "ask_limit_on_launch": offer.limit,
        "ask_tags_on_launch": offer.tags,
        "survey_enabled": bool(offer.asks),
        "credentials": "{{ ovn_awx_credentials }}",
    }
    if offer.asks:
        template["survey"] = survey(offer)
    return template


def job_templates() -> list[dict[str, Any]]:
    says = playbooks()
    return [
        job_template(name, says[name], offer, check=check)
        for name, offer in OFFERED.items()
        for check in ((False, True) if offer.check else (False,))
    ]


def workflow(name: str, offer: Offer) -> dict[str, Any]:
    """A check, somebody who approves what it found, the run, and the proof that everything works afterwards.

    AWX hands the answers of a workflow on to each of its nodes. Told that hypervisors are absent, the proof would expect none and be green, so where the
    survey can remove there is none.
    """
    verify = title(OFFERED["verify"])
    proves = not offer.verifies and not REMOVING & set(offer.asks)
    nodes: list[dict[str, Any]] = [
        {"identifier": "check", "template": title(offer, " (check)"), "success": ["approve"]},
        {
            "identifier": "approve",
            "approval": {
                "name": f"Approve {title(offer)}",
                "description": offer.approval,
                "timeout": "{{ ovn_awx_approval_timeout }}",
            },
            "success": ["run"],
        },
        {"identifier": "run", "template": title(offer), "success": ["verify"] if proves else []},
    ]
    if proves:
        nodes.append({"identifier": "verify", "template": verify, "success": []})
    return {
        "name": title(offer, " with approval"),
        "description": f"Checks, waits for an approval, then runs c5c3.ovn.{name} {MARK}",
        "organization": "{{ ovn_awx_organization }}",
        "inventory": NAME,
        "allow_simultaneous": False,
        "ask_limit_on_launch": True,
        "survey_enabled": bool(offer.asks),
        **({"survey": survey(offer)} if offer.asks else {}),
        "notifications": {"error": [NAME], "approvals": [NAME]},
        "nodes": nodes,
    }


def workflows() -> list[dict[str, Any]]:
    return [workflow(name, offer) for name, offer in OFFERED.items() if offer.approval]


def schedules() -> list[dict[str, Any]]:
    """Each schedule calls one template that changes nothing, or is off unless somebody asks for it."""
    return [
        {
            "name": title(offer, " " + frequency.lower().replace("_", " ")),
            "description": f"{says} {MARK}",
            "unified_job_template": title(offer, " (check)" if check else ""),
            "rrule": f"DTSTART:20260101T000700Z RRULE:FREQ={rule}",
            "enabled": SWITCHES.get(frequency, True),
        }
        for offer in OFFERED.values()
        for frequency, check, says in offer.schedules
        for rule in ("MINUTELY;INTERVAL=10" if frequency == TEN_MINUTES else f"{frequency};INTERVAL=1",)
    ]


def resources() -> dict[str, list[dict[str, Any]]]:
    """Return what awx/ has: one list for each kind, under the name that the API has for it."""
    templates = job_templates()
    # Who is not there when a job fails is told.
    scheduled = {schedule["unified_job_template"] for schedule in schedules()}
    for template in templates:
        if template["name"] in scheduled:
            template["notifications"] = {"error": [NAME]}
    return {
        **awx_sites.resources(NAME, MARK),
        "job_templates": templates,
        "workflow_job_templates": workflows(),
        "schedules": schedules(),
    }


class _Dumper(yaml.SafeDumper):
    """Indents lists as the rest of the repository does, and repeats instead of naming anchors."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)

    def ignore_aliases(self, data: Any) -> bool:
        return True


def files() -> dict[str, str]:
    """Return the content of each file of awx/ by its name."""
    return {
        f"{kind}.yml": HEAD + yaml.dump({kind: listed}, Dumper=_Dumper, sort_keys=False, width=140)
        for kind, listed in resources().items()
    }


def main() -> None:
    missing = set(playbooks()) - set(OFFERED) - set(NOT_OFFERED)
    if missing:
        sys.exit(f"docs/site/awx_offers.py: neither offered nor refused with a reason: {', '.join(sorted(missing))}")
    for name, content in files().items():
        (FOLDER / name).write_text(content, encoding="utf-8")


if __name__ == "__main__":
    main()
