"""The tests and stories that docs/contributing/testing.md names exist, each at the place that its column says."""

from __future__ import annotations

import re
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
MOLECULE = TESTS.parent / "molecule" / "shared" / "stories"
PAGE = TESTS.parent / "docs" / "contributing" / "testing.md"
PLACES = ("unit", "unit/plugins", "unit/plugins/module_utils", "integration", "kind", "simulation", "..")
NAMED = re.compile(r"`((?:[\w/]+/)?test_\w+\.py)?(?:::)?(test_\w+)?`")
STORY = re.compile(r"`(\w+)`")
# A list of stories: it begins an item's part, alone or behind the event.
LIST = re.compile(r"(?:^|: )([MK] .*)$")
# These are no stories: the last steps of molecule's own sequence.
SEQUENCE = {"idempotence", "verify"}


def missing_in(page: str) -> list[str]:
    """What a page names that is not there. `::test_x` is in the file that was named last; `M` begins a list of molecule stories, `K` one of tests on kind."""
    missing = list[str]()
    files = {path: path.read_text(encoding="utf-8") for path in TESTS.rglob("test_*.py")}
    molecule = {path.stem for path in MOLECULE.glob("*.yml")} | SEQUENCE
    on_kind = "".join(text for path, text in files.items() if path.parent == TESTS / "kind")
    for line in page.splitlines():
        cells = [cell.strip() for cell in line.split(";")] if line.startswith("- ") else [line]
        lists = [found[1] for cell in cells if (found := LIST.search(cell))]
        for part in lists:
            for name in STORY.findall(re.sub(r"\(.*?\)", "", part)):
                known = (
                    name in molecule if part.startswith("M ") else f"def {name}(" in on_kind or name == "healthy_after"
                )
                missing += [] if known else [f"{part[0]} {name}"]
        file = ""
        for path, test in NAMED.findall(" ".join(LIST.sub("", cell) for cell in cells)):
            file = path or file
            places = [files[there] for place in PLACES if (there := (TESTS / place / file).resolve()) in files]
            if (path and not places) or (test and not any(f"def {test}(" in text for text in places)):
                missing.append(f"{file}::{test}")
    return missing


def test_what_the_page_names_exists() -> None:
    assert not missing_in(PAGE.read_text(encoding="utf-8"))


def test_what_does_not_exist_is_found() -> None:
    page = """
- event: `_raft/test_plan.py`, `test_pods.py::test_a_whole_life`, `::test_no_life`; M `drift`, `drifts`; K `test_kill_a_node`, `test_kill_nobody`
- event: `_raft/test_nothing.py`, `test_stories.py::test_second_run_changes_nothing`
- event: K `test_no_story`
Text about `tests/kind` and `test_no_file.py`, that names nothing else.
"""
    assert missing_in(page) == [
        "M drifts",
        "K test_kill_nobody",
        "test_pods.py::test_no_life",
        "_raft/test_nothing.py::",
        "K test_no_story",
        "test_no_file.py::",
    ]
