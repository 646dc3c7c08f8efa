"""Integration tests run modules in their own process, and xdist imports all of them: with code of the controller, ansible-core takes the process for one,
and modules print their warnings instead of returning them."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1] / "integration"
OF_THE_CONTROLLER = re.compile(
    r"ansible\.(plugins|parsing|utils|executor|inventory|vars|constants|template|playbook|cli|errors)\b"
    r"|ansible_collections\.c5c3\.ovn\.plugins\.(action|filter|inventory|plugin_utils)\b"
)


def imports(code: str) -> list[str]:
    """The modules that a file imports, as full names."""
    found = []
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.ImportFrom) and node.module:
            found += [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
    return found


def test_no_integration_test_imports_code_of_the_controller() -> None:
    files = {path.name: imports(path.read_text(encoding="utf-8")) for path in sorted(TESTS.glob("*.py"))}
    assert len(files) > 80
    assert [(name, one) for name, found in files.items() for one in found if OF_THE_CONTROLLER.match(one)] == []


def test_what_is_code_of_the_controller() -> None:
    code = "from ansible.utils import display\nfrom ansible_collections.c5c3.ovn.plugins.inventory import chassis\nimport ansible.module_utils.basic"
    assert [bool(OF_THE_CONTROLLER.match(one)) for one in imports(code)] == [True, True, False]


def test_the_benchmark_finds_all_that_it_imports() -> None:
    """Its parts put the helpers of other tests on the path themselves, each before its first import of one."""
    bench = TESTS.parent / "bench"
    parts = sorted(path.stem for path in bench.glob("*.py") if path.stem != "__main__")
    failed = {}
    for part in parts:
        done = subprocess.run(
            [sys.executable, "-c", f"import {part}"], cwd=bench, capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            failed[part] = done.stderr.splitlines()[-1]
    assert failed == {}
