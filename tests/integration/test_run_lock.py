"""The lock that a run holds on a host: real processes that hold it, wait for it, act under it, and die."""

from __future__ import annotations

import concurrent.futures
import json
import os
import pathlib
import signal
import subprocess
import sys
import typing as t

import pytest
from _run_lock import await_expiry
from _waits import stays
from conftest import RunModule, until, within

from ansible_collections.c5c3.ovn.plugins.module_utils._base import control_node
from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import Refused
from ansible_collections.c5c3.ovn.plugins.module_utils._raft import lock as locks

COLLECTION = "ansible_collections.c5c3.ovn.plugins"
ACT = f"""
import sys
from {COLLECTION}.module_utils._raft.lock import acting
with acting(sys.argv[1], sys.argv[2]):
    print("acts", flush=True)
    sys.stdin.read()
"""


def lock(path: pathlib.Path, holder: str, **more: t.Any) -> dict[str, t.Any]:
    return {"path": str(path), "holder": holder, **more}


@pytest.fixture
def path(tmp_path: pathlib.Path) -> pathlib.Path:
    return tmp_path / "run" / "lock"


def start_act(path: pathlib.Path, holder: str, collection_path: str) -> subprocess.Popen[str]:
    """A process in the middle of an act, until its standard input is closed."""
    process = subprocess.Popen(
        [sys.executable, "-c", ACT, str(path), holder],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": collection_path},
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "acts\n"
    return process


def test_the_second_run_is_refused_with_the_name_of_the_first(run_module: RunModule, path: pathlib.Path) -> None:
    assert run_module("ovn_run_lock", lock(path, "first", step="joining"))["holder"] == "first"
    second = run_module("ovn_run_lock", lock(path, "second"), may_fail=True)
    assert second.failed
    assert '"first"' in second["msg"]
    assert '"joining"' in second["msg"]
    assert second["held_by"]["holder"] == "first"
    assert 300 - within(5) <= second["held_by"]["seconds"] <= 300
    assert run_module("ovn_run_lock", lock(path, "first"))["holder"] == "first"  # renewing
    theirs = run_module("ovn_run_lock", lock(path, "second", state="absent"))
    assert theirs["holder"] == "first", "nobody else's lock is released"
    assert run_module("ovn_run_lock", lock(path, "second", **{"break": True}))["holder"] == "second"
    assert run_module("ovn_run_lock", lock(path, "second", state="absent"))["holder"] is None
    assert run_module("ovn_run_lock", lock(path, "third"))["holder"] == "third"


def test_a_lock_expires(run_module: RunModule, path: pathlib.Path) -> None:
    run_module("ovn_run_lock", lock(path, "killed", seconds=0))
    assert run_module("ovn_run_lock", lock(path, "next"))["holder"] == "next"


def test_a_lock_of_an_earlier_boot_has_expired(run_module: RunModule, path: pathlib.Path) -> None:
    run_module("ovn_run_lock", lock(path, "first"))
    content = json.loads(path.read_text())
    path.write_text(json.dumps({**content, "boot": "00000000-0000-4000-8000-000000000000"}))
    assert run_module("ovn_run_lock", lock(path, "next"))["holder"] == "next"


def test_check_mode_sees_the_lock_and_acquires_none(run_module: RunModule, path: pathlib.Path) -> None:
    run_module("ovn_run_lock", lock(path, "checker"), check=True)
    run_module("ovn_run_lock", lock(path, "checker", state="renewed"), check=True)
    run_module("ovn_run_lock", lock(path, "checker", state="absent"), check=True)
    assert not path.parent.exists()
    run_module("ovn_run_lock", lock(path, "first"))
    before = path.read_bytes()
    assert run_module("ovn_run_lock", lock(path, "checker"), check=True, may_fail=True).failed
    run_module("ovn_run_lock", lock(path, "first", state="absent"), check=True)
    assert path.read_bytes() == before


@pytest.mark.parametrize("garbage", ["", "{", "[]", "7", '{"holder": 1, "expires": 99999999999}'])
def test_damaged_lock_file_locks_nothing(run_module: RunModule, path: pathlib.Path, garbage: str) -> None:
    path.parent.mkdir()
    path.write_text(garbage)
    assert run_module("ovn_run_lock", lock(path, "first"))["holder"] == "first"


def test_a_lock_file_that_is_a_directory_is_an_error(run_module: RunModule, path: pathlib.Path) -> None:
    path.mkdir(parents=True)
    ran = run_module("ovn_run_lock", lock(path, "first"), may_fail=True)
    assert ran.failed
    assert str(path) in ran["msg"]


def test_of_runs_at_once_exactly_one_gets_the_lock(run_module: RunModule, path: pathlib.Path) -> None:
    def acquire(number: int) -> bool:
        return not run_module("ovn_run_lock", lock(path, f"run {number}"), may_fail=True).failed

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(acquire, range(4))) == 1


class TestRenewal:
    def test_an_expired_lock_that_nobody_acquired_is_renewed(self, run_module: RunModule, path: pathlib.Path) -> None:
        locks.acquire(str(path), locks.LockRequest("first", seconds=0), 0)
        run_module("ovn_run_lock", lock(path, "first", state="renewed", step="installing"))
        assert run_module("ovn_run_lock", lock(path, "second"), may_fail=True)["held_by"]["step"] == "installing"

    def test_a_lock_that_another_run_acquired_and_released_is_lost(
        self, run_module: RunModule, path: pathlib.Path
    ) -> None:
        locks.acquire(str(path), locks.LockRequest("slow", seconds=0), 0)
        locks.acquire(str(path), locks.LockRequest("quick"), 0)
        held = run_module("ovn_run_lock", lock(path, "slow", state="renewed"), may_fail=True)
        assert held.failed
        assert '"quick"' in held["msg"]
        locks.release(str(path), "quick")
        gone = run_module("ovn_run_lock", lock(path, "slow", state="renewed"), may_fail=True)
        assert gone.failed
        assert "is gone" in gone["msg"]
        assert path.read_text() == ""

    def test_a_lock_that_went_with_a_restart_of_the_host_is_lost(
        self, run_module: RunModule, path: pathlib.Path
    ) -> None:
        locks.acquire(str(path), locks.LockRequest("first"), 0)
        path.unlink()
        assert run_module("ovn_run_lock", lock(path, "first", state="renewed"), may_fail=True).failed


class TestWaiting:
    def test_a_dead_run_elsewhere_is_waited_for_until_its_lock_expires(
        self, run_module: RunModule, path: pathlib.Path
    ) -> None:
        locks.acquire(str(path), locks.LockRequest("killed elsewhere", seconds=3), 0)
        held = locks.read_lock(str(path))
        assert held is not None
        ran = run_module("ovn_run_lock", lock(path, "next", wait_timeout=30), timeout=8)
        assert ran["holder"] == "next"
        assert held.seconds_left(locks.read_clock()) <= 0

    def test_an_ended_run_is_not_waited_for(self, run_module: RunModule, path: pathlib.Path) -> None:
        locks.acquire(str(path), locks.LockRequest("killed here"), 0)
        claim = lock(path, "next", wait_timeout=600, ended_runs=["killed here", "other"])
        assert run_module("ovn_run_lock", claim, timeout=10)["holder"] == "next"

    def test_a_run_that_releases_its_lock_lets_the_next_one_in(self, run_module: RunModule, path: pathlib.Path) -> None:
        locks.acquire(str(path), locks.LockRequest("first"), 0)
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            second = pool.submit(run_module, "ovn_run_lock", lock(path, "second", wait_timeout=60))
            stays(lambda: not second.done(), "the second run waits", 1.5)
            locks.release(str(path), "first")
            assert second.result(20)["holder"] == "second"

    def test_waiting_ends_with_the_time_limit(self, run_module: RunModule, path: pathlib.Path) -> None:
        locks.acquire(str(path), locks.LockRequest("first"), 0)
        ran = run_module("ovn_run_lock", lock(path, "second", wait_timeout=1), may_fail=True)
        assert ran.failed
        assert "waited 1 s" in ran["msg"]
        assert '"first"' in ran["msg"]

    def test_a_module_whose_run_was_killed_stops_waiting(self, path: pathlib.Path, collection_path: str) -> None:
        """Nobody would release the lock that it acquires: SSH closes the pipe, the module itself gets no signal."""
        run = locks.LockRequest("first")
        locks.acquire(str(path), run, 0)
        module = subprocess.Popen(
            [sys.executable, "-m", f"{COLLECTION}.modules.ovn_run_lock"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": collection_path},
        )
        assert module.stdin is not None
        assert module.stdout is not None
        module.stdin.write(json.dumps({"ANSIBLE_MODULE_ARGS": lock(path, "orphan", wait_timeout=60)}).encode())
        module.stdin.close()
        with pytest.raises(subprocess.TimeoutExpired):
            module.wait(2)
        module.stdout.close()
        module.wait(within(10))
        locks.release(str(path), "first")
        assert path.read_text() == ""


class TestActing:
    def test_act_without_the_lock_is_refused(self, path: pathlib.Path) -> None:
        with pytest.raises(Refused, match="is gone"), locks.acting(str(path), "first"):
            pytest.fail("acted without the lock")
        locks.acquire(str(path), locks.LockRequest("second", "joining"), 0)
        with pytest.raises(Refused, match='"second", step "joining"'), locks.acting(str(path), "first"):
            pytest.fail("acted without the lock")
        with locks.acting(str(path), "second"):
            pass

    def test_a_step_of_a_run_that_lost_its_lock_is_not_taken(
        self, run_module: RunModule, path: pathlib.Path, tmp_path: pathlib.Path
    ) -> None:
        launcher = tmp_path / "launcher"
        launcher.write_text("#!/bin/sh\n")
        launcher.chmod(0o755)
        environment = tmp_path / "northbound.env"
        environment.write_text(f"OVN_DB_FILE={tmp_path}/db\nOVN_RUN_DIR={tmp_path}\nOVN_STATE_DIR={tmp_path}\n")
        step = {
            "database": "northbound",
            "member": "central1",
            "state": "stopped",
            "unit": "c5c3-ovn-no-such.service",
            "record": str(tmp_path / "record"),
            "environment_file": str(environment),
            "launcher": str(launcher),
            "lock": str(path),
            "lock_holder": "first",
        }
        locks.acquire(str(path), locks.LockRequest("second"), 0)
        ran = run_module("ovn_raft_member", step, may_fail=True)
        assert ran.failed
        assert 'held by another run, "second"' in ran["msg"]

    def test_act_under_an_expired_lock_is_refused(self, path: pathlib.Path) -> None:
        locks.acquire(str(path), locks.LockRequest("first", seconds=0.1), 0)
        await_expiry(path)
        with pytest.raises(Refused, match="expired"), locks.acting(str(path), "first"):
            pytest.fail("acted with an expired lock")

    @pytest.mark.parametrize(
        "claim",
        [
            pytest.param({"ended_runs": ["first"]}, id="not even when its run is known to have ended"),
            pytest.param({"break": True}, id="not even by force"),
            pytest.param({}, id="not even after the lock has expired"),
        ],
    )
    def test_lock_is_not_acquired_during_an_act(
        self, run_module: RunModule, path: pathlib.Path, collection_path: str, claim: dict[str, t.Any]
    ) -> None:
        valid = within(3)
        locks.acquire(str(path), locks.LockRequest("first", "restarting", 300 if claim else valid), 0)
        act = start_act(path, "first", collection_path)
        if not claim:
            await_expiry(path)
        refused = run_module("ovn_run_lock", lock(path, "second", **claim), may_fail=True)
        assert refused.failed
        assert '"restarting" still runs' in refused["msg"]
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            second = pool.submit(run_module, "ovn_run_lock", lock(path, "second", wait_timeout=60, **claim))
            stays(lambda: not second.done(), "the second run waits", 1.5)
            act.kill()
            act.wait(10)
            assert second.result(20)["holder"] == "second"

    def test_a_process_that_comes_too_late_is_refused_and_hinders_nobody(
        self, path: pathlib.Path, collection_path: str
    ) -> None:
        """Workers of a killed run may still start their module when the next run has the lock."""
        for number in range(8):
            locks.acquire(str(path), locks.LockRequest(f"run {number}"), 0)
            late = subprocess.Popen(
                [sys.executable, "-c", ACT, str(path), f"run {number - 1}"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": collection_path},
            )
            locks.acquire(str(path), locks.LockRequest(f"run {number}, too", ended_runs=(f"run {number}",)), 0)
            locks.release(str(path), f"run {number}, too")
            assert late.wait(20) == 1


class TestRunsOfThisControlNode:
    """The name of a run tells whether its process still exists."""

    @pytest.fixture
    def other(self) -> t.Iterator[subprocess.Popen[str]]:
        code = f"from {COLLECTION}.module_utils._base.control_node import run_name; print(run_name('now'), flush=True); input()"
        process = subprocess.Popen(
            [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        yield process
        process.kill()
        process.wait(10)

    def test_a_killed_run_has_ended_also_while_nobody_has_waited_for_it(self, other: subprocess.Popen[str]) -> None:
        assert other.stdout is not None
        name = other.stdout.readline().strip()
        assert f"process {other.pid} " in name
        assert not control_node.has_ended(name)
        os.kill(other.pid, signal.SIGSTOP)
        assert not control_node.has_ended(name), "a run that sleeps is no dead one"
        other.kill()
        stat = pathlib.Path("/proc", str(other.pid), "stat")
        until(lambda: ") Z " in stat.read_text(), "the zombie")
        assert control_node.has_ended(name)
        other.wait(10)
        assert control_node.has_ended(name)

    def test_another_process_with_the_same_number_is_not_the_run(self, other: subprocess.Popen[str]) -> None:
        assert other.stdout is not None
        boot, namespace, started = other.stdout.readline().strip().rpartition("[")[2].strip("]").split("/")
        again = f"now on here, process {other.pid} [{boot}/{namespace}/{int(started) - 1}]"
        assert control_node.has_ended(again)

    @pytest.mark.parametrize(
        "place",
        [
            pytest.param("00000000-0000-4000-8000-000000000000/{namespace}", id="another machine or boot"),
            pytest.param("{boot}/1", id="another container"),
        ],
    )
    def test_nothing_is_known_of_runs_elsewhere(self, place: str) -> None:
        boot, namespace, started = control_node.run_name("now").rpartition("[")[2].strip("]").split("/")
        elsewhere = place.format(boot=boot, namespace=namespace)
        gone = subprocess.run(["sh", "-c", "echo $$"], capture_output=True, text=True, check=True).stdout.strip()
        assert control_node.has_ended(f"now on x, process {gone} [{boot}/{namespace}/{started}]")
        assert not control_node.has_ended(f"now on x, process {gone} [{elsewhere}/{started}]")
        assert not control_node.has_ended(f"now on x, process {gone}")

    def test_all_tasks_of_a_playbook_belong_to_one_run(self, run_playbook: t.Any, tmp_path: pathlib.Path) -> None:
        """Each task is executed by a worker that ends with it; the name is that of the playbook. A lock is renewed by its holder only."""
        path = tmp_path / "lock"
        tasks: list[dict[str, t.Any]] = [
            {"c5c3.ovn.ovn_run_lock": {"path": str(path)}, "register": "first"},
            {"c5c3.ovn.ovn_run_lock": {"path": str(path), "state": "renewed"}, "register": "second"},
            {"ansible.builtin.copy": {"content": "{{ second.holder }}", "dest": str(tmp_path / "name")}},
            {"ansible.builtin.assert": {"that": "first.holder == second.holder"}},
        ]
        variables = {"ansible_python_interpreter": sys.executable}
        play = {"hosts": "all", "connection": "local", "gather_facts": False, "vars": variables, "tasks": tasks}
        run_playbook([play])
        assert control_node.has_ended((tmp_path / "name").read_text())
