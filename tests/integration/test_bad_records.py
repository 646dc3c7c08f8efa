"""A copy of the state record that is damaged, foreign or out of reach: the real modules refuse it, say where it is, and change nothing."""

from __future__ import annotations

import json
import os
import pathlib
import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._raft.record import Member, Record, render_files

pytestmark = pytest.mark.timeout(120)

CID = "aaaaaaaa-0000-4000-8000-00000000000a"
RECORD = Record("northbound", {"c1": Member("ssl:192.0.2.1:6643")}, revision=3, cid=CID)
JSON = json.dumps(RECORD.as_dict())
# Root reads whatever the mode forbids, unless it gives these rights up.
WITHOUT_RIGHTS = ("setpriv", "--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-all")

Spoil = t.Callable[[pathlib.Path], t.Any]


def _link_to_itself(path: pathlib.Path) -> None:
    path.rename(path.with_name("aside"))
    path.symlink_to(path.name)


def _state(path: pathlib.Path) -> dict[str, t.Any]:
    """Everything below the folder: names, kinds, modes and contents."""
    found: dict[str, t.Any] = {}
    for place in sorted(path.rglob("*")):
        status = place.lstat()
        content = os.readlink(place) if place.is_symlink() else place.read_bytes() if place.is_file() else None
        found[str(place)] = (status.st_mode, status.st_ino, status.st_mtime_ns, content)
    return found


BAD: list[t.Any] = [
    pytest.param(lambda path: (path / "record.json").write_text(JSON[:99]), "cut off or no JSON", (), id="cut off"),
    pytest.param(
        lambda path: (path / "record.json").write_text(JSON.replace("northbound", "southbound")),
        "record of southbound, not of northbound",
        (),
        id="of another database",
    ),
    pytest.param(_link_to_itself, "too many levels of symbolic links", (), id="a link to itself"),
    pytest.param(lambda path: (path / "record.json").chmod(0), "permission denied", WITHOUT_RIGHTS, id="unreadable"),
]


@pytest.fixture
def copy(tmp_path: pathlib.Path) -> pathlib.Path:
    """A good copy, as one that was restored by hand: a directory."""
    path = tmp_path / "etc" / "northbound"
    path.mkdir(parents=True)
    for name, content in render_files(RECORD, 1000).items():
        (path / name).write_text(content, encoding="utf-8")
    return path


def _write(path: pathlib.Path, **changes: t.Any) -> dict[str, t.Any]:
    return {"path": str(path), "record": RECORD.replace(revision=4, **changes).as_dict()}


def _examine(path: pathlib.Path) -> dict[str, t.Any]:
    return {
        "state": "examined",
        "database": "northbound",
        "member": "c1",
        "record": str(path),
        "environment_file": str(path.parent / "northbound.env"),
        "database_file": str(path.parent / "northbound.db"),
    }


@pytest.mark.parametrize(("spoil", "cause", "prefix"), BAD)
def test_a_bad_copy_is_refused_and_left_as_it_is(
    spoil: Spoil, cause: str, prefix: tuple[str, ...], copy: pathlib.Path, run_module: t.Any
) -> None:
    spoil(copy)
    before = _state(copy.parent)
    for name, arguments in (("ovn_raft_member", _examine(copy)), ("ovn_raft_record", _write(copy))):
        refused = run_module(name, arguments, may_fail=True, prefix=prefix)
        assert refused.failed, f"{name} takes it"
        for words in (cause, str(copy), os.uname().nodename, "othing was changed"):
            assert words in refused["msg"]
        assert _state(copy.parent) == before


@pytest.mark.parametrize(
    ("mount", "cause", "step"),
    [
        pytest.param(
            "mount --bind {0} {0} && mount -o remount,ro,bind {0}",
            "read-only file system",
            "findmnt -T",
            id="read-only",
        ),
        pytest.param(
            "mount --bind {0} {0} && mount -t tmpfs -o size=4k,nr_inodes=2 tmpfs {0}",
            "no space left on device",
            "Free space",
            id="full",
        ),
    ],
)
def test_a_disk_that_accepts_no_writes_is_reported_and_the_copy_stays(
    mount: str, cause: str, step: str, copy: pathlib.Path, run_module: t.Any
) -> None:
    before = _state(copy.parent)
    script = f'{mount.format(copy.parent)} && exec "$@"'
    prefix = ("unshare", "-m", "sh", "-c", script, "sh")
    refused = run_module("ovn_raft_record", _write(copy), may_fail=True, prefix=prefix)
    assert refused.failed
    assert cause in refused["msg"], refused["msg"]
    assert step in refused["msg"]
    assert str(copy) in refused["msg"]
    assert _state(copy.parent) == before


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        pytest.param(
            {"revision": 3, "hold": True}, "with another content", id="the same revision with another content"
        ),
        pytest.param({"revision": 2}, "newer than the revision 2", id="an older revision"),
    ],
)
def test_a_copy_is_never_replaced_by_what_is_not_newer(
    changes: dict[str, t.Any], words: str, copy: pathlib.Path, run_module: t.Any
) -> None:
    before = _state(copy.parent)
    record = RECORD.replace(**changes).as_dict()
    refused = run_module("ovn_raft_record", {"path": str(copy), "record": record}, may_fail=True)
    assert refused.failed
    assert words in refused["msg"]
    assert _state(copy.parent) == before
