"""The oldest Python that has to read our code: 3.9 on machines and in pods (docs/compatibility.md)."""

from __future__ import annotations

import ast
import builtins
import typing as t
from pathlib import Path

import pytest

PLUGINS = Path(__file__).resolve().parents[2] / "plugins"


def newer_syntax(text: str, version: tuple[int, int]) -> list[str]:
    """Return what this version of Python cannot read. The parser itself overlooks the second: it is syntax of 3.10 in an index and in a set."""
    try:
        tree = ast.parse(text, feature_version=version)
    except SyntaxError as e:
        return [f"line {e.lineno}: {e.msg}"]
    lines = text.splitlines()
    bare = [
        f"line {one.lineno}: an assignment expression without parentheses"
        for one in bare_places(tree)
        if isinstance(one, ast.NamedExpr) and lines[one.lineno - 1].encode()[: one.col_offset].rstrip()[-1:] != b"("
    ]
    return [*bare, *(f"line {one.lineno}: a union of types that is evaluated" for one in evaluated_unions(tree))]


def evaluated_unions(tree: ast.AST) -> t.Iterator[ast.BinOp]:
    """Return `int | None` and the like outside annotations, which nothing evaluates: a TypeError before Python 3.10."""
    for name, field in ast.iter_fields(tree):
        if name in ("annotation", "returns"):
            continue
        for node in field if isinstance(field, list) else [field]:
            if (
                isinstance(node, ast.BinOp)
                and isinstance(node.op, ast.BitOr)
                and (is_type(node.left) or is_type(node.right))
            ):
                yield node
            elif isinstance(node, ast.AST):
                yield from evaluated_unions(node)


def is_type(node: ast.expr) -> bool:
    if isinstance(node, ast.Subscript):
        return ast.unparse(node.value).startswith("t.") or is_type(node.value)
    if isinstance(node, ast.Constant):
        return node.value is None
    return isinstance(node, ast.Name) and isinstance(getattr(builtins, node.id, None), type)


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
        ("A = int | None", "union of types"),
        ("A = t.Mapping[str, int] | list[int] | None", "union of types"),
        ("isinstance(a, int | str)", "union of types"),
        ("def f(a: int | None) -> int | None: b: int | None = None", ""),
        ("a = re.A | re.B, set(b) | c, {1} | d", ""),
        ("match a:\n    case 1: pass", "only supported in Python 3.10"),
    ],
)
def test_what_is_found(text: str, found: str) -> None:
    problems = newer_syntax(text, (3, 9))
    assert [found in one for one in problems] == ([True] if found else [])


def test_python_3_9_reads_all_plugins() -> None:
    found = {str(path): newer_syntax(path.read_text(), (3, 9)) for path in PLUGINS.rglob("*.py")}
    assert {name: problems for name, problems in found.items() if problems} == {}


def test_no_file_silences_a_checker() -> None:
    comments = "# " + "noqa", "# type: " + "ignore"  # in two parts: this file is among them
    roots = [PLUGINS.parent / name for name in ("plugins", "tests", "docs", "molecule")]
    files = {str(path): path.read_text() for root in roots for path in root.rglob("*.py")}
    assert [path for path, text in files.items() if any(comment in text for comment in comments)] == []
