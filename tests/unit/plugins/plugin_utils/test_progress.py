"""What a module reports while it runs is printed every few seconds, with its host."""

from __future__ import annotations

import threading
from pathlib import Path

import ansible.constants as C
import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._base.deadline import VARIABLE, report_progress
from ansible_collections.c5c3.ovn.plugins.plugin_utils import _progress


@pytest.fixture
def printed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    lines: list[str] = []
    monkeypatch.setattr(_progress.display, "display", lines.append)
    return lines


class Twice(threading.Event):
    """The event of a module that ends after two intervals."""

    def __init__(self) -> None:
        super().__init__()
        self.waited: list[float | None] = []

    def wait(self, timeout: float | None = None) -> bool:
        self.waited.append(timeout)
        return len(self.waited) > 2


def test_what_is_reported_is_printed_with_the_seconds(
    printed: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "progress"))
    report_progress("apply the objects")
    report_progress("wait for central2\nto join")
    ended = Twice()
    _progress.print_progress(lambda: _progress.reported(str(tmp_path / "progress")), "plane", ended)
    assert printed == ["plane: wait for central2 to join (10 s)", "plane: wait for central2 to join (20 s)"]
    assert ended.waited == [10.0, 10.0, 10.0]


@pytest.mark.parametrize("content", [None, ""])
def test_nothing_reported_is_nothing_printed(content: str | None, printed: list[str], tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / "progress").write_text(content)
    _progress.print_progress(lambda: _progress.reported(str(tmp_path / "progress")), "plane", Twice())
    assert printed == []


def test_without_a_reader_nothing_is_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    report_progress("apply the objects")
    monkeypatch.setenv(VARIABLE, str(tmp_path / "missing" / "progress"))
    report_progress("apply the objects")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("callback", "lines"), [("default", ["x"]), ("ansible.posix.json", []), ("ansible.posix.jsonl", [])]
)
def test_json_of_a_callback_plugin_stays_json(
    callback: str, lines: list[str], printed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(C.config, "get_config_value", lambda name: callback)
    _progress.print_lines("x")
    assert printed == lines
