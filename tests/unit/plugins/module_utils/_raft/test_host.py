"""What is seen of a member on its own host, where no server answers."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._machine.commands import Commands
from ansible_collections.c5c3.ovn.plugins.module_utils._raft import host
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.host import HostMember

CLASSES = "class={}\ncid=\nsid=\nreason=\n"


def member(tmp_path: pathlib.Path, **changes: str) -> HostMember:
    """A host with launcher and settings; the launcher says `class=none`."""
    launcher = tmp_path / "launcher"
    launcher.touch(mode=0o755)
    (tmp_path / "state").mkdir(exist_ok=True)
    settings = {
        "OVN_DB_FILE": "/db/nb.db",
        "OVN_RUN_DIR": tmp_path,
        "OVN_STATE_DIR": tmp_path / "state",
        "OVN_REVISION": "on disk",
    }
    (tmp_path / "env").write_text("".join(f"{key}={value}\n" for key, value in settings.items()), encoding="utf-8")
    parts = {
        "database": "northbound",
        "member": "c1",
        "record": str(tmp_path / "record"),
        "environment_file": str(tmp_path / "env"),
        "launcher": str(launcher),
        "unit": "x.service",
        **changes,
    }
    return HostMember(**parts, run=lambda command, environment: (0, CLASSES.format("none"), ""))


def test_a_stale_pid_file_whose_number_is_somebody_elses_is_no_hanging_server(tmp_path: pathlib.Path) -> None:
    (tmp_path / "ovnnb_db.pid").write_text(f"{os.getpid()}\n", encoding="ascii")
    seen = member(tmp_path).observe()
    assert not seen.running


@pytest.mark.parametrize("loading", [True, False])
def test_a_server_that_does_not_answer_loads_its_file_or_hangs(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, loading: bool
) -> None:
    monkeypatch.setattr(host, "LOADING_SECONDS", 600.0 if loading else 0.0)
    program = [sys.executable, "-c", "print(flush=True); input()", "/db/nb.db"]
    with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        server.stdout.readline()  # its command line can be read only when it runs
        (tmp_path / "ovnnb_db.pid").write_text(f"{server.pid}\n", encoding="ascii")
        if loading:
            seen = member(tmp_path).observe()
            assert (seen.running, seen.connected) == (True, False)
        else:
            seen = member(tmp_path).observe()
            assert (seen.running, seen.connected, seen.file_class) == (True, False, "unknown")
            assert "busy or it hangs" in seen.file_reason
        server.communicate(b"\n")


@pytest.mark.parametrize(
    ("content", "file_class"),
    [(None, "none"), (b"", "empty"), (b"OVSDB JSON 1 2\n{}", "standalone"), (b"OVSDB CLUSTER 1 2\n{}", "unexamined")],
)
def test_without_launcher_only_the_kind_of_the_file_is_known(
    tmp_path: pathlib.Path, content: bytes | None, file_class: str
) -> None:
    if content is not None:
        (tmp_path / "nb.db").write_bytes(content)
    fresh = member(tmp_path, environment_file=str(tmp_path / "nothing"), database_file=str(tmp_path / "nb.db"))
    seen = fresh.observe()
    assert (seen.installed, seen.file_class) == (False, file_class)


@pytest.mark.parametrize(
    ("revision", "due"),
    [("", ""), ("on disk", ""), ("of check mode", "its settings have changed")],
)
def test_check_mode_sees_that_a_restart_is_due_though_it_wrote_no_settings(
    tmp_path: pathlib.Path, revision: str, due: str
) -> None:
    looked = member(tmp_path, revision=revision)
    (tmp_path / "state" / "revision").write_text("on disk\n", encoding="utf-8")
    assert looked._restart_reason(looked.environment()) == due


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ((137, "", "Killed"), "(code 137): Killed"),
        ((127, "", ""), "(code 127): it printed nothing"),
        ((0, "class=mem", ""), "(code 0): it printed nothing"),
    ],
)
def test_a_launcher_that_fails_says_nothing_about_the_file(
    tmp_path: pathlib.Path, told: tuple[int, str, str], words: str
) -> None:
    looked = member(tmp_path)
    looked.run = lambda command, environment: told
    seen = looked.observe()
    assert (seen.file_class, seen.is_lost) == ("unknown", False)
    assert words in seen.file_reason


def test_file_is_unknown_if_launcher_cannot_be_run(tmp_path: pathlib.Path) -> None:
    """Its interpreter is missing."""
    observed = member(tmp_path)
    pathlib.Path(observed.launcher).write_text("#!/nowhere/sh\n", encoding="utf-8")
    observed.run = Commands().run
    seen = observed.observe()
    assert (seen.file_class, seen.is_lost) == ("unknown", False)
    assert f"(code 127): Cannot run {observed.launcher}: No such file or directory. Check that" in seen.file_reason
    assert seen.file_reason.endswith("on this host. Run the playbook again.")


def test_what_the_launcher_and_the_witness_say_of_the_log(tmp_path: pathlib.Path) -> None:
    sid = "abcd0000-0000-4000-8000-000000000001"
    (tmp_path / "rec").mkdir()
    (tmp_path / "rec.witness").write_text(f"server {sid} 12 -\npeer ef01 7\n", encoding="utf-8")
    (tmp_path / "rec" / "witness").write_text("peer abcd 13\n", encoding="utf-8")
    looked = member(tmp_path)
    with pathlib.Path(looked.environment_file).open("a", encoding="utf-8") as settings:
        settings.write(f"OVN_RECORD_DIR={tmp_path}/rec\n")
    said = f"class=outdated-copy\ncid=\nsid={sid}\nreason=old\nlast_term=3\nlast_index=9\n"
    looked.run = lambda command, environment: (0, said, "")
    seen = looked.observe()
    assert (seen.is_lost, seen.last_term, seen.last_index, seen.witness_index) == (True, 3, 9, 13)
    assert seen.witnesses == {"abcd": 13, "ef01": 7}
