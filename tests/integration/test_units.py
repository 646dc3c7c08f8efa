"""The files that ovn_units writes. What it does to units is tested on machines."""

from __future__ import annotations

import pathlib
import stat

from conftest import RunModule


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
