"""docs/ovncluster.md is what its program writes from the schema, and that shows every field."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

SITE = Path(__file__).resolve().parents[2] / "docs" / "site"


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(SITE))
    return importlib.import_module("ovncluster")


def test_the_page_is_up_to_date(program: ModuleType) -> None:
    written = (SITE.parent / "ovncluster.md").read_text(encoding="utf-8")
    assert written == program.page(), "run: .venv/bin/python docs/site/ovncluster.py > docs/ovncluster.md"


def test_fields_of_dictionaries_and_lists_have_lines_of_their_own(program: ModuleType) -> None:
    name = {"type": "string", "description": "Name. More."}
    schema = {
        "required": ["names"],
        "properties": {
            "names": {"type": "array", "items": {"type": "object", "properties": {"name": name}}},
            "by": {"type": "object", "additionalProperties": {"type": "object", "properties": {"name": name}}},
        },
    }
    assert list(program.items(schema)) == [
        "- `names` (list of dictionary, required)",
        "- `names[].name` (string): Name.",
        "- `by` (dictionary)",
        "- `by.NAME.name` (string): Name.",
    ]


def test_long_text_is_written_once(program: ModuleType) -> None:
    text = "How many nodes an update restarts at a time, as a number or as a percentage."
    group = {"type": "object", "properties": {"limit": {"type": "string", "description": text}}}
    own = {"type": "object", "properties": {**group["properties"], "tag": {"type": "string", "description": "Tag."}}}
    assert list(program.items({"properties": {"a": group, "b": own}})) == [
        "- `a`",
        f"- `a.limit` (string): {text}",
        "- `b`",
        "- `b.limit`: as `a.limit`.",
        "- `b.tag` (string): Tag.",
    ]


def test_equal_fields_are_listed_once(program: ModuleType) -> None:
    image = {
        "type": "object",
        "description": "Image.",
        "properties": {"tag": {"type": "string", "description": "Tag."}},
    }
    other = {**image, "properties": {"tag": {"type": "string", "description": "Tag.", "default": "1"}}}
    listed = {"type": "array", "items": image}
    assert list(program.items({"properties": {"one": listed, "two": listed}})) == [
        "- `one` (list of dictionary)",
        "- `one[].tag` (string): Tag.",
        "- `two` (list of dictionary) Fields of `one`.",
    ]
    assert list(program.items({"properties": {"ovn": image, "ovs": image, "agent": other}})) == [
        "- `ovn`: Image.",
        "- `ovn.tag` (string): Tag.",
        "- `ovs`: Image. Fields of `ovn`.",
        "- `agent`: Image. Fields of `ovn`, but `tag` defaults to `1`.",
    ]


@pytest.mark.parametrize(
    ("schema", "kind", "default"),
    [
        pytest.param({"type": "integer", "minimum": 1, "maximum": 5, "default": 3}, "integer, 1 to 5", "default `3`", id="number"),
        pytest.param({"enum": ["a", "b"], "default": "a"}, "`a` or `b`", "default `a`", id="some values"),
        pytest.param({"type": "object", "default": {"a": 1}, "properties": {"a": {}}}, "dictionary", "", id="of fields below"),
        pytest.param({"type": "object", "default": {"a": 1}}, "dictionary", 'default `{"a": 1}`', id="dictionary"),
        pytest.param({"x-kubernetes-int-or-string": True}, "integer or string", "", id="quantity"),
    ],
)  # fmt: skip
def test_type_and_default(program: ModuleType, schema: dict[str, Any], kind: str, default: str) -> None:
    assert (program.type_of(schema), program.default_of(schema)) == (kind, default)
