"""A database file is taken out of a volume: a link first, a copy once its server has ended."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._adoption.transfer import begin, finish, is_begun
from ansible_collections.c5c3.ovn.plugins.module_utils._errors import Refused


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "volume.db"
    path.write_text("first")
    return path


def test_the_copy_has_what_was_written_after_the_beginning(tmp_path: Path, source: Path) -> None:
    file = tmp_path / "ovnnb_db.db"
    assert not is_begun(str(file))
    for _again in range(2):
        begin(str(file), str(source))
        assert is_begun(str(file))
    source.write_text("second")
    (tmp_path / "ovnnb_db.db.part").write_text("of a run that was killed")
    finish(str(file))
    assert (file.read_text(), file.is_symlink(), is_begun(str(file))) == ("second", False, False)
    assert source.read_text() == "second"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ovnnb_db.db", "volume.db"]


def test_a_run_that_is_killed_between_note_and_link_begins_again(tmp_path: Path, source: Path) -> None:
    file = tmp_path / "ovnnb_db.db"
    begin(str(file), str(source))
    file.unlink()
    assert not is_begun(str(file))
    begin(str(file), str(source))
    assert is_begun(str(file))


@pytest.mark.parametrize("kind", ["file", "link"])
def test_what_is_there_is_not_overwritten(tmp_path: Path, source: Path, kind: str) -> None:
    file = tmp_path / "ovnnb_db.db"
    if kind == "file":
        file.write_text("theirs")
    else:
        file.symlink_to(source)
    with pytest.raises(Refused, match="exists already"):
        begin(str(file), str(source))
    assert not is_begun(str(file))


def test_a_link_of_another_container_is_not_changed(tmp_path: Path, source: Path) -> None:
    file = tmp_path / "ovnnb_db.db"
    begin(str(file), str(source))
    with pytest.raises(Refused, match="exists already"):
        begin(str(file), str(tmp_path / "other.db"))
