"""A folded text keeps the line break before a line that is indented more. In an expression that is a space, within its quotes a part of the message."""

from __future__ import annotations

import pathlib
import typing as t

import jinja2
import pytest
import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
FILES = sorted(path for folder in ("roles", "playbooks") for path in (ROOT / folder).glob("**/*.yml"))


class Loader(yaml.SafeLoader):
    """Tags such as !vault mean nothing here."""


Loader.add_multi_constructor("!", lambda _loader, _suffix, _node: None)


def texts(content: t.Any) -> t.Iterator[str]:
    if isinstance(content, dict):
        for item in content.values():
            yield from texts(item)
    elif isinstance(content, list):
        for item in content:
            yield from texts(item)
    elif isinstance(content, str):
        yield content


def broken(text: str) -> list[str]:
    """The texts within quotes of expressions that have a line break with an indentation; one alone is meant."""
    return [
        token
        for content in texts(yaml.load(text, Loader))
        if "{{" in content
        for _line, kind, token in jinja2.Environment().lex(content)
        if kind == "string" and "\n " in token
    ]


def test_a_line_break_is_found() -> None:
    assert broken("a: >-\n  {{ 'b\n     c' if d\n     else 'e' }}\n") == ["'b\n   c'"]
    assert broken("a: >-\n  {{ 'b c' if d\n     else 'e' }}\n") == []


@pytest.mark.parametrize("path", [pytest.param(path, id=str(path.relative_to(ROOT))) for path in FILES])
def test_texts_have_no_line_breaks(path: pathlib.Path) -> None:
    assert broken(path.read_text(encoding="utf-8")) == []
