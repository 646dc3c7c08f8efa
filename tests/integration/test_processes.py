"""What runs on a host is known, or a run refuses: real processes, real rights, a real /proc."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import typing as t
from pathlib import Path

import pytest
from conftest import Daemon, RunModule, listens, run, until

from ansible_collections.c5c3.ovn.plugins.module_utils._host.foreign_processes import (
    NO_VALUE,
    OPTIONAL,
    OPTIONS,
    REQUIRED,
)

# Still root, but as in a container that must not look at others' processes.
WITHOUT_RIGHTS = ("setpriv", "--inh-caps=-sys_ptrace", "--bounding-set=-sys_ptrace")
OTHER_USER = """\
import os
from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import OvnError
from ansible_collections.c5c3.ovn.plugins.module_utils._machine.proc import running_programs
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


HELP = re.compile(r"^ +(?:-\w, |-v\w+, )?(--[\w-]+)(\[?=|\s+[A-Z]{3,}\b)?", re.MULTILINE)


def options_in_help(program: str) -> dict[str, str]:
    """Return the long options that the program documents, and whether they take a value; one with and without a value may leave it out."""
    found: dict[str, set[str]] = {}
    for name, value in HELP.findall(run(program, "--help")):
        kind = OPTIONAL if value == "[=" else REQUIRED if value else NO_VALUE
        found.setdefault(name, set()).add(kind)
    return {name: OPTIONAL if len(kinds) > 1 else kinds.pop() for name, kinds in found.items()}


@pytest.mark.parametrize("program", OPTIONS)
def test_options_are_those_of_the_program(daemons: None, program: str) -> None:
    known, documented = OPTIONS[program], options_in_help(program)
    assert documented.keys() >= {"--remote" if program == "ovsdb-server" else "--ovnnb-db", "--log-file", "--pidfile"}
    assert {name: kind for name, kind in documented.items() if known.get(name) != kind} == {}
    for name in known.keys() - documented.keys():
        kind = known[name]
        arguments = [name] if kind == REQUIRED else [f"{name}=x", "--version"]
        answer = subprocess.run([program, *arguments], capture_output=True, text=True, timeout=30, check=False).stderr
        refused = "requires an argument" if kind == REQUIRED else "doesn't allow an argument"
        assert refused in answer or "unrecognized option" in answer, f"{name}: {answer}"


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param("--log-file --remote=punix:{0}/sock {0}/nb.db", id="an optional value"),
        pytest.param("--remote=punix:{0}/sock --log-file {0}/nb.db", id="an optional value before the file"),
        pytest.param("--rem punix:{0}/sock --pidf {0}/nb.db", id="abbreviations"),
        pytest.param("--remote=punix:{0}/sock {0}/other.db", id="a file that was added later"),
    ],
)
def test_foreign_server_is_found(daemons: None, short_dir: Path, run_module: RunModule, arguments: str) -> None:
    """However it was started: what is not found is not refused."""
    schemas = {"nb.db": "/usr/share/ovn/ovn-nb.ovsschema", "other.db": "/usr/share/openvswitch/vswitch.ovsschema"}
    for name, schema in schemas.items():
        run("ovsdb-tool", "create", str(short_dir / name), schema)
    places = [f"OVS_{kind}DIR={short_dir}" for kind in ("RUN", "LOG", "DB")]
    words = arguments.format(short_dir).split()
    command = ["env", *places, "ovsdb-server", "-vconsole:off", f"--unixctl={short_dir}/ctl", *words]
    server = Daemon(command, short_dir / "out")
    until(lambda: listens(short_dir / "sock"), "the server")
    if "other.db" in arguments:
        until(lambda: listens(short_dir / "ctl"), "the control socket of the server")
        run("ovs-appctl", "-t", f"{short_dir}/ctl", "ovsdb-server/add-db", f"{short_dir}/nb.db")
    found = run_module("ovn_daemons_info", {"timeout": 1})["daemons"]
    (daemon,) = [one for one in found if one["pid"] == server.pid]
    assert (daemon["name"], daemon["file"], daemon["own"]) == ("northbound", f"{short_dir}/nb.db", False)
    assert daemon["remotes"] == [f"punix:{short_dir}/sock"]
    assert server.pid in run_module("ovn_precheck", {"timeout": 1})["facts"]["control_plane"]
    server.kill()


def test_server_of_both_databases_is_found_with_both(daemons: None, short_dir: Path, run_module: RunModule) -> None:
    files = {name: f"{short_dir}/{name}.db" for name in ("nb", "sb")}
    for name, file in files.items():
        run("ovsdb-tool", "create", file, f"/usr/share/ovn/ovn-{name}.ovsschema")
    remote = f"--remote=punix:{short_dir}/sock"
    command = ["ovsdb-server", "-vconsole:off", f"--unixctl={short_dir}/ctl", remote, *files.values()]
    server = Daemon(command, short_dir / "out")
    until(lambda: listens(short_dir / "sock"), "the server")
    found = run_module("ovn_daemons_info", {"timeout": 1})
    served = {one["name"]: one["file"] for one in found["daemons"] if one["pid"] == server.pid}
    assert served == {"northbound": files["nb"], "southbound": files["sb"]}
    server.kill()


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
def test_unreadable_process_is_not_reported_as_absent(
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
