"""The list of a central host: what the options of the module say, and the lock beside the file."""

from __future__ import annotations

import fcntl
import pathlib
import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import InvalidInput, OvnError, TimedOut
from ansible_collections.c5c3.ovn.plugins.module_utils._host import file_lock
from ansible_collections.c5c3.ovn.plugins.module_utils._host.certificate import read_change, update_file
from ansible_collections.c5c3.ovn.plugins.module_utils._pki.issued import IssuedCertificate, IssuedChange

END = "2027-11-21T16:00:00Z"


def options(not_after: str, *, issued: bool) -> dict[str, t.Any]:
    one = {"kind": "chassis", "holder": "a", "issuer": "CA", "serial_number": "1f", "not_after": not_after}
    return {
        "certificates": [{**one, "issued": issued}],
        "removed_chassis": ["b"],
        "removed_metadata_agents": ["c"],
        "clients": None,
    }


def test_what_was_found_and_what_was_issued() -> None:
    one = IssuedCertificate("chassis", "a", "CA", "1f", END)
    assert read_change(options(END, issued=False), check_mode=False) == IssuedChange([one], [], ["b"], None, ["c"])
    assert read_change(options(END, issued=True), check_mode=False) == IssuedChange([], [one], ["b"], None, ["c"])


def test_only_one_that_would_be_issued_has_no_end_yet() -> None:
    assert read_change(options("", issued=True), check_mode=True).issued[0].not_after == ""
    for refused in ({"issued": True, "check_mode": False}, {"issued": False, "check_mode": True}):
        with pytest.raises(InvalidInput, match='not_after of chassis a is ""'):
            read_change(options("", issued=refused["issued"]), check_mode=refused["check_mode"])


def test_a_lock_that_is_held_is_named(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_lock, "_LOCK_SECONDS", 0.2)
    path = tmp_path / "list.json"
    change = IssuedChange([IssuedCertificate("chassis", "a", "CA", "1f", END)])
    with open(f"{path}.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_SH)
        with pytest.raises(TimedOut, match=rf"waiting for {path}\.lock: another process has locked it"):
            update_file(str(path), change, check_mode=False)
        assert not path.exists()
        update_file(str(path), change, check_mode=True)
    assert update_file(str(path), change, check_mode=False)[1] == change.found


def test_what_fails_under_the_lock_is_not_blamed_on_the_lock(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "list.json"
    (tmp_path / ".list.json.pending").mkdir()
    change = IssuedChange([IssuedCertificate("chassis", "a", "CA", "1f", END)])
    with pytest.raises(OvnError, match=r"^/.*\.pending cannot be written: "):
        update_file(str(path), change, check_mode=False)


def test_a_lock_that_cannot_be_opened(tmp_path: pathlib.Path) -> None:
    (tmp_path / "list.json.lock").mkdir()
    change = IssuedChange([IssuedCertificate("chassis", "a", "CA", "1f", END)])
    with pytest.raises(OvnError, match=r"list\.json\.lock cannot be opened: Is a directory"):
        update_file(str(tmp_path / "list.json"), change, check_mode=False)
