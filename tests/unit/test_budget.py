"""What a reader of the code has to hold in mind may not grow by accident; test_pages.py does the same for pages.

Each figure has its limit in BUDGET. A change that lowers a figure lowers its limit. A change that has to exceed it raises the limit and says in the
reason what the growth is for.
"""

from __future__ import annotations

import ast
import typing as t
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
UTILS = ROOT / "plugins" / "module_utils"
SMALL = 30  # lines of code: below, a file costs a reader more to find than to read


class Limit(t.NamedTuple):
    most: int
    reason: str


BUDGET = {
    "filters": Limit(6, "the goal is 8: those that users would call in playbooks of their own"),
    "files of module_utils": Limit(380, "the goal: files with a single importer are folded into it"),
    "small files of module_utils": Limit(13, "the goal is 15: what stands alone only if many files import it"),
    "lines with Jinja in vars of roles": Limit(0, "they go with the filters: action plugins read the options"),
}


def without_init(files: t.Iterable[Path]) -> list[Path]:
    return [path for path in files if path.name != "__init__.py"]


def lines_of_code(source: str) -> int:
    """Count the lines that hold code: no comments, no texts that stand alone, no empty lines."""
    texts = {
        line
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    lines = enumerate(source.splitlines(), 1)
    return sum(
        1 for number, line in lines if number not in texts and line.strip() and not line.lstrip().startswith("#")
    )


def figures() -> dict[str, int]:
    utils = list(UTILS.rglob("*.py"))
    variables = [path.read_text(encoding="utf-8").splitlines() for path in ROOT.glob("roles/*/vars/**/*.yml")]
    return {
        "filters": len(without_init((ROOT / "plugins" / "filter").glob("*.py"))),
        "files of module_utils": len(utils),
        "small files of module_utils": sum(
            1 for path in without_init(utils) if lines_of_code(path.read_text(encoding="utf-8")) < SMALL
        ),
        "lines with Jinja in vars of roles": sum(
            1 for lines in variables for line in lines if "{{" in line or "{%" in line
        ),
    }


@pytest.mark.parametrize("name", BUDGET)
def test_figure_stays_within_its_limit(name: str) -> None:
    most = BUDGET[name].most
    assert figures()[name] <= most, (
        f"{name}: more than {most}. Remove something, or raise the limit in BUDGET with a reason."
    )


def test_limit_has_a_reason() -> None:
    assert [name for name, limit in BUDGET.items() if not limit.reason] == []


def test_lines_of_code_leave_out_texts_and_comments() -> None:
    assert lines_of_code('"""Text\n\nof a file."""\n\n# why\nA = """x\ny"""  # both count\n') == 2
