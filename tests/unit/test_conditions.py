"""Conditions in YAML are expressions: a colon in one without quotes makes a dictionary of it, which only fails when the task runs."""

from __future__ import annotations

import pathlib
import typing as t

import pytest
import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
FILES = sorted(
    path for folder in ("roles", "playbooks", "molecule", "examples") for path in (ROOT / folder).glob("**/*.yml")
)
KEYS = ("that", "when", "until", "failed_when", "changed_when")


class Loader(yaml.SafeLoader):
    """Tags such as !vault mean nothing here."""


Loader.add_multi_constructor("!", lambda _loader, _suffix, _node: None)


def conditions(content: t.Any) -> t.Iterator[t.Any]:
    if isinstance(content, dict):
        for key, value in content.items():
            if key in KEYS:
                yield from value if isinstance(value, list) else [value]
            yield from conditions(value)
    elif isinstance(content, list):
        for item in content:
            yield from conditions(item)


def not_expressions(text: str) -> list[t.Any]:
    documents = list(yaml.load_all(text, Loader))
    return [one for one in conditions(documents) if not isinstance(one, (str, bool))]


def test_a_dictionary_is_found() -> None:
    assert not_expressions("- assert:\n    that:\n      - a == 'b: c'\n      - x is defined\n") == [{"a == 'b": "c'"}]
    assert not_expressions("- assert: {that: \"x == ': ' ~ y\"}\n  when: true\n") == []


@pytest.mark.parametrize("path", [pytest.param(path, id=str(path.relative_to(ROOT))) for path in FILES])
def test_conditions_are_expressions(path: pathlib.Path) -> None:
    assert not_expressions(path.read_text(encoding="utf-8")) == []
