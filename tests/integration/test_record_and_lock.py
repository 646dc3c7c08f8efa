"""The modules that keep the state record and the run lock of a host."""

from __future__ import annotations

import concurrent.futures
import json
import pathlib
import typing as t

import pytest

CID = "aaaaaaaa-0000-4000-8000-000000000000"


def record(revision: int, **changes: t.Any) -> dict[str, t.Any]:
    members = {"c1": {"address": "ssl:192.0.2.1:6643", "state": "expected", "sid": None}}
    empty = {
        "format": 1,
        "database": "northbound",
        "epoch": 1,
        "cid": None,
        "retired_cids": [],
        "permit": None,
        "hold": False,
    }
    return {**empty, "members": members, "revision": revision, **changes}


def test_record_is_written_once_and_check_mode_tells_it(run_module: t.Any, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "etc" / "northbound"
    arguments = {"path": str(path), "record": record(1, cid=CID), "election_timer": 5000}
    assert run_module("ovn_raft_record", arguments, check=True)["changed"] is True
    assert not path.exists()
    first = run_module("ovn_raft_record", arguments)
    assert first["changed"] is True
    assert first["cid"] == CID
    assert json.loads((path / "record.json").read_text()) == json.loads(first["diff"]["after"])
    assert run_module("ovn_raft_record", arguments)["changed"] is False


def test_an_older_revision_never_replaces_a_newer_one(run_module: t.Any, tmp_path: pathlib.Path) -> None:
    path = str(tmp_path / "northbound")
    run_module("ovn_raft_record", {"path": path, "record": record(5)})
    old = run_module("ovn_raft_record", {"path": path, "record": record(4, hold=True)}, may_fail=True)
    assert old.failed
    assert "another run" in old["msg"]
    assert json.loads(pathlib.Path(path, "record.json").read_text())["hold"] is False


def test_a_damaged_copy_is_not_overwritten(run_module: t.Any, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "northbound"
    run_module("ovn_raft_record", {"path": str(path), "record": record(1)})
    (path / "record.json").write_text("{")
    ran = run_module("ovn_raft_record", {"path": str(path), "record": record(2)}, may_fail=True)
    assert ran.failed
    assert str(path) in ran["msg"]
    assert (path / "record.json").read_text() == "{"


def lock(path: pathlib.Path, holder: str, **more: t.Any) -> dict[str, t.Any]:
    return {"path": str(path), "holder": holder, **more}


def test_the_second_run_is_refused_with_the_name_of_the_first(run_module: t.Any, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "run" / "lock"
    assert run_module("ovn_run_lock", lock(path, "first", step="joining"))["holder"] == "first"
    second = run_module("ovn_run_lock", lock(path, "second"), may_fail=True)
    assert second.failed
    assert '"first"' in second["msg"]
    assert '"joining"' in second["msg"]
    assert run_module("ovn_run_lock", lock(path, "first"))["holder"] == "first"  # renewing
    assert (
        run_module("ovn_run_lock", lock(path, "second", state="absent"))["holder"] == "first"
    )  # not theirs to give back
    assert run_module("ovn_run_lock", lock(path, "second", **{"break": True}))["holder"] == "second"
    assert run_module("ovn_run_lock", lock(path, "second", state="absent"))["holder"] is None
    assert run_module("ovn_run_lock", lock(path, "third"))["holder"] == "third"


def test_a_lock_ends_by_itself(run_module: t.Any, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "lock"
    run_module("ovn_run_lock", lock(path, "killed", seconds=0))
    assert run_module("ovn_run_lock", lock(path, "next"))["holder"] == "next"


def test_check_mode_sees_the_lock_and_takes_none(run_module: t.Any, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "lock"
    run_module("ovn_run_lock", lock(path, "checker"), check=True)
    assert not path.exists()
    run_module("ovn_run_lock", lock(path, "first"))
    assert run_module("ovn_run_lock", lock(path, "checker"), check=True, may_fail=True).failed


@pytest.mark.parametrize("garbage", ["", "{", "[]", '{"holder": 1, "until": 99999999999}'])
def test_what_is_no_lock_does_not_lock(run_module: t.Any, tmp_path: pathlib.Path, garbage: str) -> None:
    path = tmp_path / "lock"
    path.write_text(garbage)
    assert run_module("ovn_run_lock", lock(path, "first"))["holder"] == "first"


def test_of_runs_at_once_exactly_one_gets_the_lock(run_module: t.Any, tmp_path: pathlib.Path) -> None:
    def take(number: int) -> bool:
        return not run_module("ovn_run_lock", lock(tmp_path / "lock", f"run {number}"), may_fail=True).failed

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(take, range(4))) == 1
