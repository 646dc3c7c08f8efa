"""Tests wait for events: a sleep is the exception, and each says why it is one."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MOST = 40
SLEEP = re.compile(r"\btime\.sleep\(")


def sleeps() -> list[str]:
    listed = subprocess.run(
        ["git", "ls-files", "tests/*.py", "molecule/*.py"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout
    lines = [(name, line.strip()) for name in listed.splitlines() for line in (ROOT / name).read_text().splitlines()]
    return [f"{name}: {line}" for name, line in lines if SLEEP.search(line) and name != "tests/unit/test_sleeps.py"]


def test_each_sleep_has_its_reason_and_there_are_few() -> None:
    found = sleeps()
    assert [one for one in found if "  # " not in one] == []
    assert len(found) <= MOST, "\n".join(found)
