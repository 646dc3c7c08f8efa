from __future__ import annotations

import ast
import re
import typing as t
from pathlib import Path

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._raft.version import FAULTS
from ansible_collections.c5c3.ovn.plugins.module_utils._report.findings import (
    PROBLEMS,
    WARNINGS,
    acknowledge_problem,
    cause_of,
)

FORBIDDEN = (
    "Exception '403\nReason: Forbidden\nHTTP response headers: HTTPHeaderDict({'Date': 'Wed'})\nHTTP response body: "
    '{"kind":"Status","apiVersion":"v1","message":"secrets \\"ovn-tls\\" is forbidden","code":403}\n\nOriginal traceback:\n'
    '  File "client.py", line 54, in inner\n\' raised while trying to get resource using (name=ovn-tls).'
)


@pytest.mark.parametrize(
    ("message", "cause"),
    [
        pytest.param(None, "", id="no message"),
        pytest.param("Task failed: it\nis down.", "it is down", id="one line"),
        pytest.param(FORBIDDEN, 'secrets "ovn-tls" is forbidden', id="an answer of the API server"),
        pytest.param('body: {"kind":"Status","x', 'body: {"kind":"Status","x', id="an answer that was cut off"),
        pytest.param('body: {"kind":"Status"}', 'body: {"kind":"Status"}', id="an answer without a message"),
    ],
)
def test_cause_of(message: str | None, cause: str) -> None:
    assert cause_of({"msg": message}) == cause


COLLECTION = Path(__file__).resolve().parents[5]
UTILS = COLLECTION / "plugins" / "module_utils"
# The heading of a code, and below it its severity, what it means and what to do.
ENTRY = re.compile(r"^#### `(\w+)`\n\n(Problem or warning|Problem|Warning): ((?:.+\n)+)", re.MULTILINE)
# Calls with a code, and which of their arguments it is.
CALLS = {"problem": 0, "warning": 0, "Reason": 0, "Problem": 0, "failed_answer": 2, "Fault": 0, "DatapathProblem": 0}


def in_use() -> t.Iterator[str]:
    """The codes that are written in the code. Those of errors are in a table of _raft/ask.py."""
    packages = [UTILS / package for package in ("_raft", "_control_plane", "_report")]
    files = [path for package in packages for path in package.glob("*.py")]
    for path in [*files, UTILS / "_chassis" / "datapath.py"]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                name = getattr(node.func, "attr", getattr(node.func, "id", ""))
                place = CALLS.get(name)
                given = node.args[place] if place is not None and len(node.args) > place else None
                if isinstance(given, ast.Constant) and isinstance(given.value, str):
                    yield given.value


def test_the_code_uses_codes_that_are_known_and_no_known_one_is_unused() -> None:
    of_errors = set(re.findall(r'\(\w+, "(\w+)"\),', (UTILS / "_raft" / "ask.py").read_text(encoding="utf-8"))) | {
        "error"
    }
    used = set(in_use()) | of_errors | {fault.code for fault in FAULTS}
    assert used == PROBLEMS | WARNINGS


def test_page_explains_each_code_once() -> None:
    page = (COLLECTION / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
    page = page.partition("\n## Report\n")[2].partition("\n## ")[0]
    entries = {code: set(severities.lower().split(" or ")) for code, severities, _text in ENTRY.findall(page)}
    assert {code for code, severities in entries.items() if "problem" in severities} == PROBLEMS
    assert {code for code, severities in entries.items() if "warning" in severities} == WARNINGS
    sentences = {code: len(re.findall(r"[.:](?=\s)", text)) for code, _severities, text in ENTRY.findall(page)}
    assert [code for code, number in sentences.items() if number < 2] == []
    assert len(entries) == sum(line.startswith("#### ") for line in page.splitlines())


@pytest.mark.parametrize(
    ("codes", "problem"),
    [
        ([], ""),
        (["fault_join", "partial_view"], ""),
        (["fault_jion"], "ovn_verify_acknowledge: fault_jion: no such code. Use codes of these: "),
        (["ghost"], "ovn_verify_acknowledge: ghost: problems cannot be acknowledged, only warnings. Use codes of these: "),
        (["x", "ghost", "y"], "ovn_verify_acknowledge: x, y: no such code; ghost: problems cannot be acknowledged"),
    ],
)  # fmt: skip
def test_only_warnings_can_be_acknowledged(codes: list[str], problem: str) -> None:
    found = acknowledge_problem(codes)
    assert found.startswith(problem)
    assert bool(found) is bool(problem)
    assert not found or all(code in found for code in WARNINGS)
