"""A class name has one meaning: what reads like the same thing in two files is the same thing."""

from __future__ import annotations

import ast
import typing as t
from pathlib import Path

UTILS = Path(__file__).resolve().parents[2] / "plugins" / "module_utils"


def classes(texts: t.Mapping[str, str]) -> dict[str, list[str]]:
    """The files that define each class."""
    found: dict[str, list[str]] = {}
    for file, text in texts.items():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ClassDef):
                found.setdefault(node.name, []).append(file)
    return found


def ambiguous(texts: t.Mapping[str, str]) -> dict[str, list[str]]:
    return {name: files for name, files in classes(texts).items() if len(files) > 1}


def test_no_two_classes_have_one_name() -> None:
    texts = {str(path.relative_to(UTILS)): path.read_text(encoding="utf-8") for path in UTILS.rglob("*.py")}
    assert ambiguous(texts) == {}


def test_what_is_ambiguous() -> None:
    texts = {"a.py": "class One: ...\nclass Two: ...", "b.py": "def f():\n    class One: ...", "c.py": "One = 1"}
    assert ambiguous(texts) == {"One": ["a.py", "b.py"]}
