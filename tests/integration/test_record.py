"""The module that keeps the state record of a host."""

from __future__ import annotations

import json
import pathlib
import typing as t

from _run_lock import await_expiry

from ansible_collections.c5c3.ovn.plugins.module_utils._raft.record import Member, Record

CID = "aaaaaaaa-0000-4000-8000-000000000000"


def record(revision: int, **changes: t.Any) -> dict[str, t.Any]:
    return {**Record("northbound", {"c1": Member("ssl:192.0.2.1:6643")}, revision).as_dict(), **changes}


def test_record_is_written_once_and_check_mode_tells_it(run_module: t.Any, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "etc" / "northbound"
    arguments = {"path": str(path), "record": record(1, cid=CID), "election_timer": 5000}
    assert run_module("ovn_raft_record", arguments, check=True)["changed"] is True
    assert not path.exists()
    first = run_module("ovn_raft_record", arguments)
    assert first["changed"] is True
    assert first["cid"] == CID
    assert json.loads((path / "record.json").read_text())["cid"] == CID
    assert first["diff"]["before"] == ""
    assert first["diff"]["after"].splitlines()[:2] == [f"cid: {CID}", "election_timer: 5000"]
    assert "{" not in first["diff"]["after"]
    assert first["diff"]["after_header"] == f"{path} (revision 1)"
    assert run_module("ovn_raft_record", arguments)["changed"] is False


def test_an_older_revision_never_replaces_a_newer_one(run_module: t.Any, tmp_path: pathlib.Path) -> None:
    path = str(tmp_path / "northbound")
    run_module("ovn_raft_record", {"path": path, "record": record(5)})
    old = run_module("ovn_raft_record", {"path": path, "record": record(4, hold=True)}, may_fail=True)
    assert old.failed
    assert "another run" in old["msg"]
    assert json.loads(pathlib.Path(path, "record.json").read_text())["hold"] is False


def test_a_hold_is_not_overwritten_by_a_run_that_has_not_seen_it(run_module: t.Any, tmp_path: pathlib.Path) -> None:
    path = str(tmp_path / "northbound")
    run_module("ovn_raft_record", {"path": path, "record": record(5, hold=True)})
    later = run_module("ovn_raft_record", {"path": path, "record": record(6)}, may_fail=True)
    assert later.failed
    assert f"The state record of northbound was put on hold in {path}" in later["msg"]
    assert json.loads(pathlib.Path(path, "record.json").read_text())["hold"] is True


def test_a_damaged_copy_is_not_overwritten(run_module: t.Any, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "northbound"
    run_module("ovn_raft_record", {"path": str(path), "record": record(1)})
    (path / "record.json").write_text("{")
    ran = run_module("ovn_raft_record", {"path": str(path), "record": record(2)}, may_fail=True)
    assert ran.failed
    assert str(path) in ran["msg"]
    assert (path / "record.json").read_text() == "{"


def test_only_the_run_that_holds_the_lock_writes(run_module: t.Any, tmp_path: pathlib.Path) -> None:
    path, lock = tmp_path / "northbound", str(tmp_path / "run.lock")
    mine = {"path": str(path), "record": record(1), "lock": lock, "lock_holder": "this run"}
    without = run_module("ovn_raft_record", mine, may_fail=True)
    assert without.failed
    assert lock in without["msg"]
    assert not path.exists()
    run_module("ovn_run_lock", {"path": lock, "holder": "this run"})
    assert run_module("ovn_raft_record", {**mine, "lock_holder": "another run"}, may_fail=True).failed
    assert not path.exists()
    assert run_module("ovn_raft_record", mine)["changed"] is True


def test_the_run_that_writes_renews_its_lock(run_module: t.Any, tmp_path: pathlib.Path) -> None:
    path, lock = tmp_path / "northbound", tmp_path / "run.lock"
    run_module("ovn_run_lock", {"path": str(lock), "holder": "this run", "seconds": 1})
    before = lock.read_text()
    mine = {"path": str(path), "record": record(1), "lock": str(lock), "lock_holder": "this run", "lock_seconds": 300}
    assert run_module("ovn_raft_record", mine, check=True)["changed"] is True
    assert lock.read_text() == before
    await_expiry(lock)  # one that nobody else has acquired is renewed
    run_module("ovn_raft_record", {**mine, "lock_step": "join c2"})
    assert json.loads(lock.read_text())["step"] == "join c2"
    other = run_module("ovn_run_lock", {"path": str(lock), "holder": "another run"}, may_fail=True)
    assert other["held_by"]["seconds"] > 200


def test_a_run_that_lost_its_lock_writes_nothing(run_module: t.Any, tmp_path: pathlib.Path) -> None:
    path, lock = tmp_path / "northbound", str(tmp_path / "run.lock")
    run_module("ovn_run_lock", {"path": lock, "holder": "another run"})
    mine = {"path": str(path), "record": record(1), "lock": lock, "lock_holder": "this run", "lock_seconds": 300}
    refused = run_module("ovn_raft_record", mine, may_fail=True)
    assert 'held by another run, "another run"' in refused["msg"]
    assert not path.exists()
    nameless = run_module("ovn_raft_record", {**mine, "lock_holder": None}, may_fail=True)
    assert "lock_holder" in nameless["msg"]
