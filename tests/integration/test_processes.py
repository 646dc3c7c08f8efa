"""What runs on a host is known, or a run refuses: real processes, real rights, a real /proc."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import typing as t
from pathlib import Path

import pytest
from conftest import RunModule, until

# Still root, but as in a container that must not look at others' processes.
WITHOUT_RIGHTS = ("setpriv", "--inh-caps=-sys_ptrace", "--bounding-set=-sys_ptrace")
OTHER_USER = """\
import os
from ansible_collections.c5c3.ovn.plugins.module_utils._errors import OvnError
from ansible_collections.c5c3.ovn.plugins.module_utils._processes.proc import running_programs
os.setgroups([])
os.setgid(65534)
os.setuid(65534)
try:
    print(running_programs(["ovn-northd"]))
except OvnError as e:
    print(e)
"""


@pytest.fixture
def northd(tmp_path: Path) -> t.Iterator[subprocess.Popen[bytes]]:
    """A process with the name of northd, which answers nobody."""
    if os.geteuid() != 0:
        pytest.skip("NOT TESTED: processes of other users need root")
    program = shutil.copy(str(shutil.which("sleep")), tmp_path / "ovn-northd")
    process = subprocess.Popen([program, "600"])
    until(lambda: Path(f"/proc/{process.pid}/comm").read_text() == "ovn-northd\n", "its name")
    yield process
    process.kill()
    process.wait()


def as_another_user(collection_path: str, *prefix: str) -> str:
    environment = {**os.environ, "PYTHONPATH": collection_path}
    command = [*prefix, sys.executable, "-c", OTHER_USER]
    return subprocess.run(command, env=environment, check=True, capture_output=True, text=True, timeout=60).stdout


def test_a_daemon_is_found_by_adoption_and_precheck(northd: subprocess.Popen[bytes], run_module: RunModule) -> None:
    daemons = run_module("ovn_daemons_info", {"timeout": 0.1})["daemons"]
    assert ("northd", False) in [(one["name"], one["own"]) for one in daemons if one["pid"] == northd.pid]
    measured = run_module("ovn_precheck", {})["facts"]["daemons"]
    assert [one["program"] for one in measured if one["pid"] == northd.pid] == ["ovn-northd"]


@pytest.mark.parametrize("module", ["ovn_daemons_info", "ovn_precheck"])
def test_what_must_not_be_read_is_no_absence(
    northd: subprocess.Popen[bytes], run_module: RunModule, module: str
) -> None:
    """Without this, a rollout would create a second control plane beside the one that it cannot see."""
    refused = run_module(module, {}, may_fail=True, prefix=WITHOUT_RIGHTS)
    assert "Looking for daemons on this host failed: /proc/" in refused["msg"]
    assert "/ns/net cannot be read (Permission denied). Run as root" in refused["msg"]


def test_another_user_is_told_what_is_not_read(northd: subprocess.Popen[bytes], collection_path: str) -> None:
    assert "/ns/net cannot be read (Permission denied)" in as_another_user(collection_path)


@pytest.mark.parametrize(
    ("option", "cause"),
    [
        ("hidepid=1", "/comm cannot be read (Operation not permitted)"),
        ("hidepid=2", "/proc hides the processes of other users"),
    ],
)
def test_hidden_processes(northd: subprocess.Popen[bytes], collection_path: str, option: str, cause: str) -> None:
    mount = f'mount -t proc -o {option} proc /proc && exec "$@"'
    assert cause in as_another_user(collection_path, "unshare", "--mount", "sh", "-c", mount, "sh")


def test_a_process_that_ends_meanwhile_is_passed_over(run_module: RunModule) -> None:
    """Many short processes with a name that counts; none of them makes a look at the host fail."""
    loop = "for n in $(seq 300); do sh -c 'printf ovn-northd >/proc/$$/comm'; done"
    with subprocess.Popen(["sh", "-c", loop]) as short:
        looks = 0
        while short.poll() is None or looks == 0:
            run_module("ovn_daemons_info", {"timeout": 0.1})
            looks += 1
