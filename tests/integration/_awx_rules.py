"""What AWX refuses beyond types of fields: rules of each kind over several fields. Each function returns the errors by field."""

from __future__ import annotations

import re
import typing as t

import jinja2
import jinja2.sandbox
import jsonschema

Json = dict[str, t.Any]
Errors = dict[str, t.Any]
VARIABLE = r"^[a-zA-Z_]+[a-zA-Z0-9_]*$"
INPUTS = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "required": {"type": "array", "items": {"type": "string"}},
        "fields": {
            "type": "array",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["id", "label"],
                "properties": {
                    "id": {"type": "string", "pattern": VARIABLE},
                    "type": {"enum": ["string", "boolean"]},
                    "format": {"enum": ["ssh_private_key", "url"]},
                    "choices": {"type": "array", "minItems": 1, "uniqueItems": True, "items": {"type": "string"}},
                    **{name: {"type": "string"} for name in ("label", "help_text")},
                    **{name: {"type": "boolean"} for name in ("multiline", "secret", "ask_at_runtime")},
                    "default": {},
                },
            },
        },
    },
}
INJECTORS = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "file": {
            "type": "object",
            "additionalProperties": False,
            "patternProperties": {r"^template(\.[a-zA-Z_]+[a-zA-Z0-9_]*)?$": {"type": "string"}},
        },
        "env": {"type": "object", "additionalProperties": False, "patternProperties": {VARIABLE: {"type": "string"}}},
        "extra_vars": {
            "type": "object",
            "additionalProperties": False,
            "patternProperties": {
                r"^[a-zA-Z_{}]+[a-zA-Z0-9_{}]*$": {"anyOf": [{"type": kind} for kind in ("string", "array", "object")]}
            },
        },
    },
}
BLOCKED = {"PATH", "HOME", "PYTHONPATH", "VIRTUAL_ENV", "INVENTORY_ID", "JOB_ID"}
QUESTIONS: dict[str, t.Any] = {
    **dict.fromkeys(("text", "textarea", "password", "multiplechoice", "multiselect"), str),
    "integer": int,
    "float": (float, int),
}
WEBHOOK = {"url": (str, None), "http_method": (str, "POST"), "disable_ssl_verification": (bool, False)}
WEBHOOK |= {"username": (str, ""), "password": (str, ""), "headers": (dict, None)}


def _schema_errors(value: t.Any, schema: Json) -> list[str]:
    return [error.message for error in jsonschema.Draft4Validator(schema).iter_errors(value)]


def credential_type(values: Json) -> Errors:
    if values["kind"] not in ("cloud", "net"):
        return {"kind": [f"Only cloud or net, not {values['kind']}"]}
    if problems := _schema_errors(values["inputs"], INPUTS):
        return {"inputs": problems}
    if problems := _schema_errors(values["injectors"], INJECTORS):
        return {"injectors": problems}
    fields = values["inputs"].get("fields", [])
    for field in fields:
        field.setdefault("type", "string")
        if field["id"] == "tower" or field.get("ask_at_runtime"):
            return {"inputs": [f"{field['id']} is not allowed"]}
        if field["type"] != "string" and {"choices", "multiline", "format", "secret"} & set(field):
            return {"inputs": [f"{field['id']} is no string"]}
    if len({field["id"] for field in fields}) < len(fields):
        return {"inputs": ["ids are not unique"]}
    return _injector_errors(values["injectors"], [field["id"] for field in fields])


def _injector_errors(injectors: Json, ids: t.Iterable[str]) -> Errors:
    """Each text is a template that may use the fields, and `tower.filename` of the files."""
    files = [name.partition(".")[2] for name in injectors.get("file", {})]
    if "" in files and len(files) > 1:
        return {"injectors": ["several files need names"]}
    filename: t.Any = "FILE" if files == [""] else dict.fromkeys(files, "FILE")
    known = {**dict.fromkeys(ids, "VALUE"), "tower": {"filename": filename}}
    environment = jinja2.sandbox.ImmutableSandboxedEnvironment(undefined=jinja2.StrictUndefined)
    for section, entries in injectors.items():
        for name, template in entries.items():
            if section == "env" and (name.startswith("ANSIBLE_") or name in BLOCKED):
                return {"injectors": [f"{name} is not allowed"]}
            try:
                environment.from_string(str(template)).render(known)
            except jinja2.TemplateError as e:
                return {"injectors": [f"{name}: {e}"]}
    return {}


def rrule(value: str) -> list[str]:
    problems = []
    starts = re.findall(r"DTSTART(?:;[^:]+)?:[0-9]+T[0-9]+Z?", value)
    rules = re.findall(r"RULE:\S*", value)
    if len(starts) != 1:
        problems.append("one DTSTART is needed")
    if re.search(r"DTSTART:[0-9]+T[0-9]+ ", value):
        problems.append("DTSTART needs a time zone")
    if "rrule:" not in value.lower():
        problems.append("a rule is needed")
    if "exdate:" in value.lower() or "rdate:" in value.lower().replace("exdate:", ""):
        problems.append("no single dates")
    for rule in rules:
        if "interval" not in rule.lower():
            problems.append("INTERVAL is needed")
        if "secondly" in rule.lower():
            problems.append("SECONDLY is not supported")
        if "COUNT" in rule and "UNTIL" in rule:
            problems.append("COUNT and UNTIL")
        if not re.search(r"FREQ=(MINUTELY|HOURLY|DAILY|WEEKLY|MONTHLY|YEARLY)(;|$)", rule):
            problems.append("FREQ is unknown")
    return problems


def webhook(configuration: Json) -> list[str]:
    """Completes the configuration as AWX does."""
    problems = []
    for name, (kind, default) in WEBHOOK.items():
        if name not in configuration:
            if default is None:
                problems.append(f"{name} is missing")
                continue
            configuration[name] = default
        if not isinstance(configuration[name], kind):
            problems.append(f"{name} has the wrong type")
        elif name == "http_method" and configuration[name].lower() not in ("put", "post"):
            problems.append("POST or PUT")
    return problems


def survey(given: t.Any) -> str:
    """Return why AWX refuses a survey; it also brings choices and defaults into its own form."""
    for key, kind in (("name", str), ("description", str), ("spec", list)):
        if not isinstance(given.get(key), kind):
            return f"{key} is missing or of the wrong type"
    if not given["spec"]:
        return "spec has no items"
    variables = set()
    for number, asked in enumerate(given["spec"]):
        for key in ("type", "question_name", "variable", "required"):
            if not isinstance(asked.get(key), bool if key == "required" else str):
                return f"{key} of question {number} is missing or of the wrong type"
        if asked["variable"] in variables:
            return f"{asked['variable']} is twice there"
        variables.add(asked["variable"])
        if problem := _question(asked):
            return f"question {number}: {problem}"
    return ""


def _question(asked: Json) -> str:
    if asked["type"] not in QUESTIONS:
        return f"type {asked['type']}"
    default = asked.get("default", "")
    if default != "" and not isinstance(default, QUESTIONS[asked["type"]]):
        return "default has the wrong type"
    if any(asked.get(key) is not None and not isinstance(asked[key], int) for key in ("min", "max")):
        return "a limit is no integer"
    if asked["type"] in ("multiplechoice", "multiselect"):
        if "choices" not in asked:
            return "choices are missing"
        if isinstance(asked["choices"], str):
            asked["choices"] = "\n".join(line for line in asked["choices"].splitlines() if line.strip())
        defaults = [line for line in str(default).splitlines() if line.strip()]
        if asked["type"] == "multiplechoice" and len(defaults) > 1:
            return "more than one default"
        if any(one not in asked["choices"] for one in defaults):
            return "the default is no choice"
    if asked["type"] == "password" and default:
        asked["default"] = "$encrypted$"
    return ""


def has_cycle(edges: t.Mapping[int, t.Iterable[int]], start: int) -> bool:
    """Return whether a node can be reached from itself."""
    reached, left = set[int](), list(edges.get(start, ()))
    while left:
        node = left.pop()
        if node == start:
            return True
        if node not in reached:
            reached.add(node)
            left += edges.get(node, ())
    return False
