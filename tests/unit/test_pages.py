"""The pages stay few, short and easy to find. A figure that has to grow gets a reason beside it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
INDEX = ROOT / "docs" / "site" / "index.md"
PAGES = sorted((ROOT / "docs").glob("*.md"))
READMES = [ROOT / "README.md", ROOT / "examples" / "README.md", *sorted(ROOT.glob("roles/*/README.md"))]
CONTRIBUTORS = [ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs" / "contributing").rglob("*.md"))]
MOST_PAGES = 20
MOST_WORDS = 36_500  # what users read: pages and READMEs
MOST_WORDS_OF_CONTRIBUTORS = 7_750  # rows for twelve changes that took a new reader up to twelve files
WIDEST_ROW = 160
TOC = re.compile(r"```\{toctree\}\n(.*?)```", re.DOTALL)


def words(paths: list[Path]) -> int:
    return sum(len(path.read_text(encoding="utf-8").split()) for path in paths)


def in_menu(index: str) -> set[str]:
    """Return the entries of the menus in a page, without their options."""
    return {line for menu in TOC.findall(index) for line in menu.splitlines() if line and not line.startswith(":")}


def wide_rows(text: str) -> list[int]:
    """Return the numbers of the lines with a row of a table that is too wide, outside of code."""
    wide = list[int]()
    code = False
    for number, line in enumerate(text.splitlines(), 1):
        code ^= line.lstrip().startswith("```")
        if not code and line.startswith("|") and len(line) > WIDEST_ROW:
            wide.append(number)
    return wide


def test_users_have_few_pages() -> None:
    assert len(PAGES) <= MOST_PAGES


def test_pages_of_users_are_short() -> None:
    assert words(PAGES + READMES) <= MOST_WORDS


def test_pages_of_contributors_are_short() -> None:
    assert words(CONTRIBUTORS) <= MOST_WORDS_OF_CONTRIBUTORS


def test_each_page_of_users_is_in_the_menu() -> None:
    menu = in_menu(INDEX.read_text(encoding="utf-8"))
    assert {f"docs/{path.stem}" for path in PAGES} - menu == set()
    assert {entry for entry in menu if entry.startswith("docs/contributing/")} == {"docs/contributing/index"}


@pytest.mark.parametrize("page", PAGES + READMES, ids=lambda page: str(page.relative_to(ROOT)))
def test_tables_fit_on_a_screen(page: Path) -> None:
    assert wide_rows(page.read_text(encoding="utf-8")) == []


def test_wide_row_is_found_outside_of_code() -> None:
    row = f"| {'x' * WIDEST_ROW} |"
    assert wide_rows(f"| a |\n{row}\n```text\n{row}\n```\n{row}\n") == [2, 6]


SOURCES = [path for folder in ("plugins", "tests", ".ci", "docs") for path in (ROOT / folder).rglob("*.py")]
PLACE = re.compile(r"`((?:[\w.]+/)*\w+\.py)(?::([\w.]+))?`")


def missing_places(text: str) -> list[str]:
    """Return what the text names of our source that is not there: `_package/file.py`, `file.py`, `file.py:Class.method`."""
    missing = list[str]()
    for name, symbol in PLACE.findall(text):
        found = [path for path in [*SOURCES, ROOT / "noxfile.py"] if f"/{path.relative_to(ROOT)}".endswith(f"/{name}")]
        last = symbol.rpartition(".")[2]
        defined = re.compile(rf"^\s*(?:(?:async )?def |class )?{last}\b", re.MULTILINE)
        if not any(not last or defined.search(path.read_text(encoding="utf-8")) for path in found):
            missing.append(f"{name}:{symbol}" if symbol else name)
    return missing


@pytest.mark.parametrize("page", CONTRIBUTORS, ids=lambda page: str(page.relative_to(ROOT)))
def test_places_in_the_source_are_there(page: Path) -> None:
    assert missing_places(page.read_text(encoding="utf-8")) == []


def test_a_place_that_is_gone_is_found() -> None:
    assert missing_places("`_raft/gates.py:gate_reason`, `_raft/none.py`, `gates.py:none`") == [
        "_raft/none.py",
        "gates.py:none",
    ]
