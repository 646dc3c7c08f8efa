"""The state record: what is written can be read again, what is damaged is refused."""

from __future__ import annotations

import json
import pathlib
import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._errors import OvnError
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.record import (
    Member,
    Permit,
    Record,
    latest,
    parse_record,
    render_files,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.record_dir import read_files, read_record, write_files

CID = "aaaaaaaa-0000-4000-8000-000000000000"
OTHER = "bbbbbbbb-0000-4000-8000-000000000000"
SID = "11110000-0000-4000-8000-000000000000"
RECORD = Record(
    "northbound",
    {"c1": Member("ssl:192.0.2.1:6643", "confirmed", SID), "c2": Member("ssl:192.0.2.2:6643")},
    revision=3,
    cid=CID,
    retired_cids=(OTHER,),
)


def test_a_record_survives_the_way_through_json() -> None:
    assert parse_record(json.dumps(RECORD.as_dict())) == RECORD
    permitted = RECORD.replace(cid=None, permit=Permit("c1", "run", "2026-01-01T00:00:00Z"))
    assert parse_record(permitted.as_dict()) == permitted


def test_files_are_what_the_launcher_reads() -> None:
    files = render_files(RECORD, 5000)
    assert files["cid"] == f"{CID}\n"
    assert files["permit"] == "\n"
    assert files["hold"] == "\n"
    assert files["retired_cids"] == f"{OTHER}\n"
    assert files["election_timer"] == "5000\n"
    assert files["members"] == f"c1 confirmed {SID} ssl:192.0.2.1:6643\nc2 expected - ssl:192.0.2.2:6643\n"


def changed(**values: t.Any) -> dict[str, t.Any]:
    return {**RECORD.as_dict(), **values}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        pytest.param("{", "cannot be read", id="no JSON"),
        pytest.param("[]", "cannot be read", id="a list"),
        pytest.param(changed(format=2), "another format", id="a later format"),
        pytest.param(changed(cid="nonsense"), "no UUID", id="a cluster id that is none"),
        pytest.param(changed(surprise=1), "cannot be read", id="an unknown key"),
        pytest.param(changed(members={"a b": {"address": "x"}}), "has a blank", id="a member name with a blank"),
        pytest.param(
            changed(members={"c1": {"address": "x", "state": "gone"}}), "unknown state", id="an unknown member state"
        ),
        pytest.param(
            changed(members={"c1": {"address": "x", "state": "confirmed"}}),
            "without a server id",
            id="confirmed without id",
        ),
        pytest.param(
            changed(permit={"member": "c1", "run": "r", "time": "t"}),
            "both a cluster id and a permit",
            id="permit beside a cid",
        ),
    ],
)
def test_a_damaged_record_is_refused(data: t.Any, message: str) -> None:
    with pytest.raises(OvnError, match=message):
        parse_record(data)


def test_any_cut_of_a_record_is_refused_and_never_a_traceback() -> None:
    text = json.dumps(RECORD.as_dict())
    for length in range(len(text)):
        with pytest.raises(OvnError):
            parse_record(text[:length])


def test_the_newest_copy_counts() -> None:
    newer = RECORD.replace(revision=4)
    assert latest({"c1": RECORD, "c2": newer, "c3": None}) == newer
    assert latest({"c1": None}) is None


def test_copies_of_different_clusters_are_refused_unless_one_is_retired() -> None:
    old = RECORD.replace(cid=OTHER, revision=2, retired_cids=())
    assert latest({"c1": RECORD, "c2": old}) == RECORD
    with pytest.raises(OvnError, match="different clusters"):
        latest({"c1": RECORD.replace(retired_cids=()), "c2": old})


def test_a_copy_is_replaced_in_one_step_and_leaves_nothing_behind(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "northbound"
    assert read_record(str(path)) is None
    for revision in (1, 2, 3):
        record = RECORD.replace(revision=revision)
        write_files(str(path), render_files(record, 1000), revision)
        assert read_record(str(path)) == record
    assert path.is_symlink()
    assert len(list(tmp_path.iterdir())) == 2
    assert set(read_files(str(path)) or {}) == set(render_files(RECORD, 1000))


def test_a_copy_restored_by_hand_is_a_directory_and_can_be_replaced(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "northbound"
    path.mkdir()
    for name, content in render_files(RECORD, 1000).items():
        (path / name).write_text(content, encoding="utf-8")
    newer = RECORD.replace(revision=RECORD.revision + 1)
    write_files(str(path), render_files(newer, 1000), newer.revision)
    assert read_record(str(path)) == newer
    assert len(list(tmp_path.iterdir())) == 2


def test_the_same_revision_can_be_written_twice(tmp_path: pathlib.Path) -> None:
    """By the same process id, too: those come again."""
    path = tmp_path / "northbound"
    for timer in (1000, 2000):
        write_files(str(path), render_files(RECORD, timer), RECORD.revision)
    assert read_record(str(path)) == RECORD
    assert (path / "election_timer").read_text(encoding="utf-8") == "2000\n"


def test_an_unreadable_copy_never_passes_for_absent(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "northbound"
    path.mkdir()
    with pytest.raises(OvnError, match=r"record\.json is not"):
        read_record(str(path))
    (path / "record.json").write_bytes(b"\xff\xfe")
    with pytest.raises(OvnError, match="cannot be read"):
        read_record(str(path))
