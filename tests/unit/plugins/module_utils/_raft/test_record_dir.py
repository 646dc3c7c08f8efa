"""A copy of the state record on a disk that is damaged, foreign or out of reach: it is refused with place and cause, and never passes for absent."""

from __future__ import annotations

import json
import os
import pathlib
import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import OvnError
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.record import Member, Record, render_files
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.record_dir import read_record, write_files

CID = "aaaaaaaa-0000-4000-8000-00000000000a"
RECORD = Record("northbound", {"c1": Member("ssl:192.0.2.1:6643")}, revision=3, cid=CID)
JSON = json.dumps(RECORD.as_dict())

Spoil = t.Callable[[pathlib.Path], t.Any]


def _changed(**values: t.Any) -> str:
    return json.dumps({**RECORD.as_dict(), **values})


def _text(text: str) -> Spoil:
    return lambda path: (path / "record.json").write_text(text, encoding="utf-8")


def _replace(make: Spoil) -> Spoil:
    """The whole directory is something else."""

    def spoil(path: pathlib.Path) -> None:
        for file in path.iterdir():
            file.unlink()
        path.rmdir()
        make(path)

    return spoil


def _replace_file(make: Spoil) -> Spoil:
    def spoil(path: pathlib.Path) -> None:
        (path / "record.json").unlink()
        make(path / "record.json")

    return spoil


def _state(path: pathlib.Path) -> dict[str, t.Any]:
    """Everything below the folder: names, kinds, modes and contents."""
    found: dict[str, t.Any] = {}
    for place in sorted(path.rglob("*")):
        status = place.lstat()
        content = os.readlink(place) if place.is_symlink() else place.read_bytes() if place.is_file() else None
        found[str(place)] = (status.st_mode, status.st_ino, status.st_mtime_ns, content)
    return found


BAD: list[t.Any] = [
    pytest.param(_text(JSON[: len(JSON) // 2]), "cut off or no JSON", id="cut off"),
    pytest.param(_text(""), "it is empty", id="empty"),
    pytest.param(_text(_changed(format=2)), "format 2, this version of the collection reads format 1", id="newer"),
    pytest.param(
        _text(_changed(database="southbound")), "record of southbound, not of northbound", id="of another database"
    ),
    pytest.param(_text(_changed(cid="7")), "is no UUID", id="with a cluster id that is none"),
    pytest.param(_replace(lambda path: path.write_text("x")), "not a directory", id="a file in the directory's place"),
    pytest.param(
        _replace(lambda path: path.symlink_to("gone")),
        "is a link to gone, which does not exist",
        id="a dangling link",
    ),
    pytest.param(
        _replace(lambda path: path.symlink_to(path.name)),
        "too many levels of symbolic links",
        id="a link to itself",
    ),
    pytest.param(_replace(lambda path: path.mkdir()), "record.json is not", id="an empty directory"),
    pytest.param(_replace_file(lambda file: file.mkdir()), "is a directory", id="record.json is a directory"),
    pytest.param(_replace_file(lambda file: file.symlink_to("gone")), "is a link to gone", id="record.json dangles"),
    pytest.param(_replace_file(lambda file: file.symlink_to("/proc/self/mem")), "input/output error", id="a bad disk"),
    pytest.param(_replace_file(lambda file: file.write_bytes(b"\xff\xfe")), "no text", id="no text"),
]


@pytest.fixture
def copy(tmp_path: pathlib.Path) -> pathlib.Path:
    """A good copy, as one that was restored by hand: a directory."""
    path = tmp_path / "etc" / "northbound"
    path.mkdir(parents=True)
    for name, content in render_files(RECORD, 1000).items():
        (path / name).write_text(content, encoding="utf-8")
    return path


@pytest.mark.parametrize(("spoil", "cause"), BAD)
def test_a_bad_copy_is_refused_and_left_as_it_is(spoil: Spoil, cause: str, copy: pathlib.Path) -> None:
    spoil(copy)
    before = _state(copy.parent)
    with pytest.raises(OvnError) as refused:
        read_record(str(copy), "northbound")
    message = str(refused.value)
    assert cause in message.lower() or cause in message
    assert str(copy) in message, "the place"
    assert os.uname().nodename in message, "the host"
    assert "othing was changed" in message, "what it means"
    assert _state(copy.parent) == before


def test_a_copy_of_any_database_is_read_if_none_is_asked_for(copy: pathlib.Path) -> None:
    assert read_record(str(copy)) == RECORD


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda path: path.write_text("x"), id="a file"),
        pytest.param(lambda path: path.symlink_to("gone"), id="a dangling link"),
        pytest.param(lambda path: path.parent.rmdir() or path.parent.write_text("x"), id="a file above it"),
    ],
)
def test_nothing_is_written_over_what_is_no_copy(make: Spoil, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "etc" / "northbound"
    path.parent.mkdir()
    make(path)
    before = _state(tmp_path)
    with pytest.raises(OvnError, match=r"cannot be written: .*Move away what is in the place"):
        write_files(str(path), render_files(RECORD, 1000), RECORD.revision)
    assert _state(tmp_path) == before
