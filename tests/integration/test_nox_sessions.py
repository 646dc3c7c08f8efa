"""The session `integration` of nox: the result of a test beside others counts, whatever the test does alone."""

from __future__ import annotations

import importlib.util
import os
import pathlib
import subprocess
import sys

import pytest
from nox.command import CommandFailed

ROOT = pathlib.Path(__file__).parents[2]
UNSTEADY = """
import pathlib

def test_unsteady():
    mark = pathlib.Path("ran")
    known = mark.exists()
    mark.touch()
    assert known
"""


class Session:
    """What `integration` uses of a session of nox, in a folder with a test that fails the first time alone."""

    name = "integration"
    posargs = ("--numprocesses=0", "--rootdir=.", "tests/test_unsteady.py")

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder

    def run(self, *command: str, **_options: object) -> None:
        started = (sys.executable, "-m", *command[command.index("pytest") :])
        ended = subprocess.run(started, cwd=self.folder, check=False, capture_output=True)
        if ended.returncode:
            raise CommandFailed(return_code=ended.returncode)

    def warn(self, *_message: str) -> None: ...


def test_integration_with_test_that_passes_alone_fails(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "environ", os.environ.copy())  # the file changes some variables
    spec = importlib.util.spec_from_file_location("noxfile", ROOT / "noxfile.py")
    assert spec
    assert spec.loader
    noxfile = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(noxfile)
    for name in ("daemons", "api_server"):
        monkeypatch.setattr(noxfile, name, lambda *_arguments: None)
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_unsteady.py").write_text(UNSTEADY)
    with pytest.raises(CommandFailed):
        noxfile.integration.func(Session(tmp_path))
    assert (tmp_path / "ran").exists()
