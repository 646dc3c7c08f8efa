"""The files that ovn_units writes, and which units systemd masks. What it does to units is tested on machines."""

from __future__ import annotations

import os
import pathlib
import shutil
import stat
import subprocess

import pytest
from conftest import RunModule

from ansible_collections.c5c3.ovn.plugins.module_utils._machine.systemd_units import (
    DesiredUnit,
    enabling_warnings,
    forbidding_verbs,
    parse_show,
    systemctl_verbs,
)


def _mode(path: pathlib.Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_files_are_written_once(run_module: RunModule, tmp_path: pathlib.Path) -> None:
    unit, program = tmp_path / "etc" / "x.service", tmp_path / "lib" / "x" / "program"
    files = [
        {"path": str(unit), "content": "[Service]\nDescription=Größe\n"},
        {"path": str(program), "content": "#!/bin/sh\n", "mode": "0755"},
    ]
    foreseen = run_module("ovn_units", {"files": files}, check=True)
    assert foreseen["actions"] == [f"write {unit}", f"write {program}"]
    assert not unit.exists()

    written = run_module("ovn_units", {"files": files})
    assert written["actions"] == foreseen["actions"]
    assert written["diff"] == foreseen["diff"]
    assert unit.read_text() == "[Service]\nDescription=Größe\n"
    assert (_mode(unit), _mode(program)) == (0o644, 0o755)

    assert not run_module("ovn_units", {"files": files})["changed"]


def test_files_are_deleted_once(run_module: RunModule, tmp_path: pathlib.Path) -> None:
    gone, kept = tmp_path / "gone.service", tmp_path / "kept.service"
    gone.write_text("[Service]\n")
    files = [{"path": str(gone), "state": "absent"}, {"path": str(kept), "content": ""}]
    foreseen = run_module("ovn_units", {"files": files}, check=True)
    assert (foreseen["actions"], gone.exists(), kept.exists()) == ([f"write {kept}", f"delete {gone}"], True, False)

    # The manager of this machine has nothing to do with the file, and none may run here.
    bin_directory = tmp_path / "bin"
    bin_directory.mkdir()
    (bin_directory / "systemctl").write_text(f'#!/bin/sh\necho "$*" >> {tmp_path}/log\n')
    (bin_directory / "systemctl").chmod(0o755)
    prefix = ("env", f"PATH={bin_directory}:{os.environ['PATH']}")
    deleted = run_module("ovn_units", {"files": files}, prefix=prefix)
    assert (deleted["actions"], deleted["diff"]) == (foreseen["actions"], foreseen["diff"])
    assert (gone.exists(), kept.exists()) == (False, True)
    assert (tmp_path / "log").read_text() == "daemon-reload\n"

    assert not run_module("ovn_units", {"files": files})["changed"]
    refused = run_module("ovn_units", {"files": [{"path": str(gone)}]}, may_fail=True)
    assert "content" in refused["msg"]


def test_a_changed_mode_is_put_right(run_module: RunModule, tmp_path: pathlib.Path) -> None:
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o600)
    files = [{"path": str(program), "content": "#!/bin/sh\n", "mode": "0755"}]
    assert run_module("ovn_units", {"files": files}, check=True)["changed"]
    assert _mode(program) == 0o600
    assert run_module("ovn_units", {"files": files})["changed"]
    assert _mode(program) == 0o755


def test_a_mode_that_is_none(run_module: RunModule, tmp_path: pathlib.Path) -> None:
    files = [{"path": str(tmp_path / "x"), "content": "", "mode": "u=rw"}]
    refused = run_module("ovn_units", {"files": files}, may_fail=True)
    assert "octal number" in refused["msg"]
    assert not (tmp_path / "x").exists()


def test_a_folder_in_the_way(run_module: RunModule, tmp_path: pathlib.Path) -> None:
    refused = run_module("ovn_units", {"files": [{"path": str(tmp_path), "content": ""}]}, may_fail=True)
    assert str(tmp_path) in refused["msg"]


def test_a_file_that_cannot_be_deleted(run_module: RunModule) -> None:
    """Nobody deletes a file of /proc."""
    refused = run_module("ovn_units", {"files": [{"path": "/proc/version", "state": "absent"}]}, may_fail=True)
    assert refused["msg"].startswith("/proc/version cannot be deleted: Operation not permitted.")


@pytest.mark.skipif(not shutil.which("systemctl"), reason="NOT TESTED: systemd is not installed")
@pytest.mark.parametrize(
    ("unit", "verbs"),
    [
        ("distribution.service", ["mask"]),
        ("absent.service", ["mask"]),
        ("template@1.service", ["mask"]),
        ("own.service", ["disable"]),
        ("override.service", ["disable"]),
        ("linked.service", ["disable"]),
        ("masked.service", []),
    ],
)
def test_what_systemd_masks(tmp_path: pathlib.Path, unit: str, verbs: list[str]) -> None:
    """systemctl works on a file system that runs nothing. A unit that it does not mask is disabled, and neither starts with the machine."""
    etc, usr, elsewhere = tmp_path / "etc/systemd/system", tmp_path / "usr/lib/systemd/system", tmp_path / "opt"
    for directory in (etc, usr, elsewhere):
        directory.mkdir(parents=True)
    text = "[Service]\nExecStart=/bin/true\n[Install]\nWantedBy=multi-user.target\n"
    for path in (usr / "distribution.service", usr / "override.service", usr / "masked.service"):
        path.write_text(text)
    for path in (
        etc / "own.service",
        etc / "override.service",
        etc / "template@.service",
        elsewhere / "linked.service",
    ):
        path.write_text(text)
    (etc / "linked.service").symlink_to("/opt/linked.service")
    (etc / "masked.service").symlink_to("/dev/null")

    def systemctl(verb: str) -> subprocess.CompletedProcess[str]:
        command = ["systemctl", f"--root={tmp_path}", verb, unit]
        return subprocess.run(command, check=False, capture_output=True, text=True, timeout=30)

    enabled = systemctl("enable").returncode == 0
    state = systemctl("is-enabled").stdout.strip()
    shown = f"Id={unit}\nLoadState={'masked' if state == 'masked' else 'loaded'}\nUnitFileState={state}\n"
    (known,) = parse_show(shown, lambda path: os.path.lexists(f"{tmp_path}{path}"))
    assert forbidding_verbs(known) == verbs
    if verbs != ["mask"]:
        assert systemctl("mask").returncode != 0 or not verbs
    for verb in verbs:
        assert systemctl(verb).returncode == 0
    assert enabled is (unit not in ("absent.service", "masked.service"))
    assert systemctl("is-enabled").returncode != 0


@pytest.mark.skipif(not shutil.which("systemctl"), reason="NOT TESTED: systemd is not installed")
@pytest.mark.parametrize(
    ("install", "state", "verbs"),
    [
        ("[Install]\nWantedBy=multi-user.target\n", "disabled", ["enable"]),
        ("[Install]\nAlso=other.socket\n", "indirect", []),
        ("", "static", []),
    ],
)
def test_what_systemd_enables(tmp_path: pathlib.Path, install: str, state: str, verbs: list[str]) -> None:
    """A unit whose state stays what it is when systemd enables it is not enabled by each run."""
    name, units = "one.service", tmp_path / "etc/systemd/system"
    units.mkdir(parents=True)
    (units / name).write_text(f"[Service]\nExecStart=/bin/true\n{install}")
    (units / "other.socket").write_text("[Socket]\nListenStream=/run/x\n[Install]\nWantedBy=sockets.target\n")
    desired = DesiredUnit(name, enabled=True)

    def systemctl(verb: str) -> str:
        command = ["systemctl", f"--root={tmp_path}", verb, name]
        return subprocess.run(command, check=False, capture_output=True, text=True, timeout=30).stdout.strip()

    for expected, wanted in ((state, verbs), ("enabled" if verbs else state, [])):
        assert systemctl("is-enabled") == expected
        (unit,) = parse_show(f"Id={name}\nLoadState=loaded\nUnitFileState={expected}\n")
        assert systemctl_verbs(desired, unit) == wanted
        told = enabling_warnings([desired], {name: unit})
        assert [f"{name} has no [Install] section" in one for one in told] == [True] * (state == "static")
        systemctl("enable")
