"""The tests that docs/testing.md names exist."""

from __future__ import annotations

import re
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
PAGE = TESTS.parent / "docs" / "testing.md"
PLACES = ("unit", "unit/plugins", "unit/plugins/module_utils", "integration", "kind", "simulation", "..")
NAMED = re.compile(r"`((?:[\w/]+/)?test_\w+\.py)?(?:::)?(test_\w+)?`")


def test_what_the_page_names_exists() -> None:
    """`::test_x` is in the file that was named last."""
    missing, file = [], ""
    files = {path: path.read_text(encoding="utf-8") for path in TESTS.rglob("test_*.py")}
    stories = files[TESTS / "kind" / "test_stories.py"]
    for path, test in NAMED.findall(PAGE.read_text(encoding="utf-8")):
        file = path or file
        places = [files[there] for place in PLACES if (there := (TESTS / place / file).resolve()) in files]
        if not places or (test and not any(f"def {test}(" in text for text in (*places, stories))):
            missing.append(f"{file}::{test}")
    assert not missing
