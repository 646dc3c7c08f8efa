"""Print docs/variables.md: the shared variables, and each option of each role, with the default and the first sentence of the description.

Usage: .venv/bin/python docs/site/variables.py > docs/variables.md    after a change of an argument_specs.yml or of the shared variables
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from ansible_collections.c5c3.ovn.plugins.module_utils._roles.shared_variables import SPECIFICATION

ROOT = Path(__file__).resolve().parents[2]
HEAD = """# All variables

The variables that all roles share, and every option of every role, with its default. `ansible-doc -t role` shows suboptions and the rest of each description;
the [inventory](inventory.md) has what most need. Written by `docs/site/variables.py`.
"""
# Ansible's markup: O(name), O(c5c3.ovn.ovn_database#module:name), V(value), C(code), E(VARIABLE), RV(value); M(name), P(name#type); B(text), I(text)
CODE = re.compile(r"\b(?:O|V|C|E|RV)\((?:[\w.]+#\w+:)?((?:[^()\\]|\\.|\([^()]*\))*)\)")
PLUGIN = re.compile(r"\b[MP]\(([\w.]+)(?:#\w+)?\)")
TEXT = re.compile(r"\b[BI]\(([^()]*)\)")


def as_markdown(text: str) -> str:
    """Return a description with Markdown instead of Ansible's markup."""
    text = CODE.sub(lambda found: "`" + re.sub(r"\\(.)", r"\1", found[1]) + "`", text)
    return TEXT.sub(r"**\1**", PLUGIN.sub(r"`\1`", text))


# Where a sentence may end earlier; not at the commas of an enumeration.
BOUNDARY = re.compile(r"; | \(|, (?=(?:also|because|but|for|if|not|since|so|unless|where|which|while|whose) )")
LONGEST = 90  # characters of a line that are read at a glance


def short_line(description: str | list[str]) -> str:
    """Return the first sentence, and of a long one only what stands before its last clauses or parentheses."""
    sentence = first_sentence(description)
    if len(sentence) <= LONGEST:
        return sentence
    whole = [at for at in (found.start() for found in BOUNDARY.finditer(sentence)) if is_outside(sentence[:at])]
    fitting = [at for at in whole if LONGEST / 3 <= at <= 1.5 * LONGEST]
    return f"{sentence[: fitting[0]]}." if fitting else sentence


def is_outside(text: str) -> bool:
    """Whether the end of a text is neither in code nor in parentheses."""
    return text.count("`") % 2 == 0 and text.count("(") == text.count(")")


def first_sentence(description: str | list[str]) -> str:
    """Return the first sentence of a description, in Markdown."""
    text = description if isinstance(description, str) else description[0]
    return re.split(r"(?<=[.!?]) (?=[A-Z])", as_markdown(text))[0].replace("|", r"\|")


def default_of(option: Mapping[str, Any]) -> str:
    """Return the default as an inventory would write it; `required`, or nothing where there is none or an empty text."""
    if "default" not in option:
        return "required" if option.get("required") else ""
    value = option["default"]
    if value == "":
        return ""
    if isinstance(value, str):
        return as_markdown(value) if re.search(r"[A-Z]\(| ", value) else f"`{value}`"
    return f"`{json.dumps(value)}`"


def section(role: Path) -> str:
    """Return the part of the page about one role."""
    specs = yaml.safe_load((role / "meta" / "argument_specs.yml").read_text(encoding="utf-8"))["argument_specs"]
    main = specs["main"]
    lines = [
        f"## {role.name}",
        "",
        f"{main['short_description'].rstrip('.')}: [the role](../roles/{role.name}/README.md).",
        "",
    ]
    return "\n".join(lines + items(main.get("options", {}))) + "\n"


def items(options: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return the line of each option."""
    lines = []
    for name, option in options.items():
        default = default_of(option)
        lines.append(f"- `{name}`{f' ({default})' if default else ''}: {short_line(option['description'])}")
    return lines


def page() -> str:
    roles = sorted(path.parents[1] for path in ROOT.glob("roles/*/meta/argument_specs.yml"))
    shared = "\n".join(["## Shared by all roles", "", *items(SPECIFICATION)]) + "\n"
    return "\n".join([HEAD, shared, *(section(role) for role in roles)])


if __name__ == "__main__":
    sys.stdout.write(page())
