"""The tests that docs/contributing/testing.md names exist."""

from __future__ import annotations

import re
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
PAGE = TESTS.parent / "docs" / "contributing" / "testing.md"
NAMED = re.compile(r"`(test_\w+\.py|tests/[\w/.]+)`")


def missing_in(page: str) -> list[str]:
    """Return the files and folders of tests that a page names and that do not exist."""
    files = {path.name for path in TESTS.rglob("test_*.py")}
    return [name for name in NAMED.findall(page) if name not in files and not (TESTS.parent / name).exists()]


def test_named_tests_exist() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert len(NAMED.findall(page)) >= 5
    assert missing_in(page) == []


def test_missing_file_and_folder_are_found() -> None:
    page = "`tests/kind`, `tests/unkind`, `test_pods.py` and `test_no_file.py`"
    assert missing_in(page) == ["tests/unkind", "test_no_file.py"]
