"""Each message that docs/troubleshooting.md quotes is one of the code: it begins as the page says."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from test_messages import SHELL_SCRIPTS, messages

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "troubleshooting.md"
# The quotations with which an item of a list begins.
ITEM = re.compile(r"^- (`[^`]+`(?:(?:, | and )`[^`]+`)*)", re.MULTILINE)
QUOTE = re.compile(r"`([^`]+)`")
FILLED_IN = re.compile(r"\{\{.*?\}\}|…+")
# Of a launcher: what it says of its decision. Variables of shell are filled in.
ANSWER = re.compile(r'\banswer \w+ "([^"]+)"')
SHELL_VARIABLE = re.compile(r"\$\{[^}]*\}|\$\w+")
LEAST = 12  # characters of a quotation that are not filled in


def quoted(page: str) -> list[str]:
    return [quote.removesuffix(" …") for item in ITEM.findall(page) for quote in QUOTE.findall(item)]


def texts_in(value: Any) -> Iterator[str]:
    """Yield the messages of tasks, at any depth."""
    if isinstance(value, list):
        for item in value:
            yield from texts_in(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            if key in ("msg", "fail_msg") and isinstance(item, str):
                yield item
            else:
                yield from texts_in(item)


def normalized(text: str) -> str:
    return FILLED_IN.sub("…", " ".join(text.split()))


@functools.cache
def in_the_source() -> set[str]:
    found = set[str]()
    for path in ROOT.glob("plugins/module_utils/**/*.py"):
        code = path.read_text(encoding="utf-8")
        found |= {normalized(text) for text in messages(code)}
        if path.name in SHELL_SCRIPTS:
            found |= {normalized(SHELL_VARIABLE.sub("…", answer)) for answer in ANSWER.findall(code)}
    for pattern in ("roles/*/tasks/*.yml", "playbooks/**/*.yml"):
        for path in ROOT.glob(pattern):
            found |= {normalized(text) for text in texts_in(yaml.safe_load(path.read_text(encoding="utf-8")))}
    return found


def unknown(page: str) -> list[str]:
    """Return what the page quotes and no message begins with."""
    source = in_the_source()
    return [
        quote
        for quote in quoted(page)
        if len(quote.replace("…", "")) < LEAST or not any(text.startswith(quote) for text in source)
    ]


def test_each_quoted_message_is_one_of_the_code() -> None:
    page = PAGE.read_text(encoding="utf-8").partition("\n## Refusals\n")[2].partition("\n## ")[0]
    assert len(quoted(page)) >= 40
    assert unknown(page) == []


def test_what_no_message_begins_with_is_found() -> None:
    items = "- `… has no quorum:` a\n- `… has no quorum:`, `… has lost its quorum:` a\n- `… is`: too short\n"
    assert unknown(items) == ["… has lost its quorum:", "… is"]
