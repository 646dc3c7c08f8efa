"""The oldest Python that has to read our code: 3.9 on machines and the control node, 3.8 in pods (docs/compatibility.md)."""

from __future__ import annotations

import ast
import io
import typing as t
import zipfile
from pathlib import Path

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._agent.archive import build_archive

PLUGINS = Path(__file__).resolve().parents[2] / "plugins"


def newer_syntax(text: str, version: tuple[int, int]) -> list[str]:
    """Return what this version of Python cannot read. The parser itself overlooks the second: it is syntax of 3.10 in an index and in a set."""
    try:
        tree = ast.parse(text, feature_version=version)
    except SyntaxError as e:
        return [f"line {e.lineno}: {e.msg}"]
    lines = text.splitlines()
    return [
        f"line {one.lineno}: an assignment expression without parentheses"
        for one in bare_places(tree)
        if isinstance(one, ast.NamedExpr) and lines[one.lineno - 1].encode()[: one.col_offset].rstrip()[-1:] != b"("
    ]


def bare_places(tree: ast.AST) -> t.Iterator[ast.expr]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript):
            yield from node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        elif isinstance(node, ast.Set):
            yield from node.elts
        elif isinstance(node, ast.SetComp):
            yield node.elt


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a[b := 1]", "assignment expression without parentheses"),
        ("a[(b := 1)]", ""),
        ("a[\n    (b := 1)\n]", ""),
        ("{b := 1, 2}", "assignment expression without parentheses"),
        ("f(b := 1)", ""),
        ("match a:\n    case 1: pass", "only supported in Python 3.10"),
    ],
)
def test_what_is_found(text: str, found: str) -> None:
    problems = newer_syntax(text, (3, 9))
    assert [found in one for one in problems] == ([True] if found else [])


def test_python_3_9_reads_all_plugins() -> None:
    assert unreadable({str(path): path.read_text() for path in PLUGINS.rglob("*.py")}, (3, 9)) == {}


def test_python_3_8_reads_what_pods_run() -> None:
    with zipfile.ZipFile(io.BytesIO(build_archive())) as archive:
        texts = {name: archive.read(name).decode() for name in archive.namelist()}
    assert unreadable(texts, (3, 8)) == {}


def unreadable(texts: t.Mapping[str, str], version: tuple[int, int]) -> dict[str, list[str]]:
    found = {name: newer_syntax(text, version) for name, text in texts.items()}
    return {name: problems for name, problems in found.items() if problems}
