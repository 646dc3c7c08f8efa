"""The launcher as a process: signals, waiting for the run, probes, the console, process 1 of a pod."""

from __future__ import annotations

import concurrent.futures
import os
import signal
import subprocess
import time
from pathlib import Path

import _launcher_cases
import pytest
from _launcher_cases import STRANGER, fake_server
from _launcher_lib import ASK, Cluster, until
from _waits import stays
from conftest import within

cluster = _launcher_cases.cluster  # fixture


def test_sigterm_hands_the_leadership_over(cluster: Cluster) -> None:
    cluster.complete()
    leader = cluster.leader()
    assert leader.terminate(3) == 0
    assert leader.state() == "stopped"
    follower = until(lambda: next((m for m in cluster.members if m is not leader and m.leads()), None), "a new leader")
    assert "reason: leadership_transfer" in follower.cluster_status()


def test_stop_ends_the_server_quickly(cluster: Cluster) -> None:
    first = cluster.found()
    assert first.call("stop", seconds=3).returncode == 0
    assert first.process is not None
    assert first.process.wait(timeout=within(5)) == 0
    assert first.server_pid() is None
    assert first.call("stop").returncode == 0


def test_in_a_pod_the_launcher_outlives_the_stop_that_a_hook_has_called(cluster: Cluster) -> None:
    first = cluster.members[0]
    cluster.publish(permit=first.id)
    first.up(OVN_WAIT="1")
    assert first.call("stop").returncode == 0
    assert first.process is not None
    assert first.process.poll() is None
    assert first.terminate(2) == 0


def test_stop_spares_a_process_that_only_has_the_pid(cluster: Cluster) -> None:
    first = cluster.members[0]
    first.run_dir.mkdir()
    other = subprocess.Popen(["sleep", "60"])
    first.pid_file.write_text(f"{other.pid}\n")
    assert first.call("stop").returncode == 0
    assert other.poll() is None
    other.kill()
    other.wait(timeout=5)


def test_a_waiting_launcher_acts_when_the_record_allows_it(cluster: Cluster) -> None:
    first = cluster.members[0]
    first.start(OVN_WAIT="1")
    until(lambda: first.state() == "ask", "ask")
    cluster.publish(permit=first.id)
    until(first.connected, "created")
    assert first.terminate() == 0


def test_a_waiting_launcher_ends_on_sigterm(cluster: Cluster) -> None:
    first = cluster.members[0]
    cluster.publish(hold="yes")
    first.start(OVN_WAIT="1", OVN_POLL="30")
    until(lambda: first.state() == "idle", "idle")
    assert first.terminate(2) == 0


def test_a_veto_lasts_until_the_record_changes(cluster: Cluster) -> None:
    first, second, _third = cluster.members
    cluster.publish(permit="m2")
    second.up()
    cluster.publish(permit="m1")
    first.start(OVN_WAIT="1")
    until(lambda: first.state() == "refuse", "refused")
    second.kill()
    stays(lambda: first.state() == "refuse" and not first.file.exists(), "refused", 0.5)


def test_a_waiting_launcher_is_alive_and_not_ready(cluster: Cluster) -> None:
    first = cluster.members[0]
    assert first.call("alive").returncode == 1
    first.start(OVN_WAIT="1")
    until(lambda: first.state() == "ask", "ask")
    assert first.call("alive").returncode == 0
    answer = first.call("ready")
    assert answer.returncode == 1
    assert "the permit to create one is given to no member" in answer.stderr


def test_a_launcher_that_no_longer_looks_is_not_alive(cluster: Cluster) -> None:
    first = cluster.members[0]
    first.start(OVN_WAIT="1")
    until(lambda: first.state() == "ask", "ask")
    assert first.process is not None
    first.process.kill()
    os.utime(first.state_dir / "beat", (time.time() - 200, time.time() - 200))
    assert first.call("alive").returncode == 1


def test_a_member_is_ready_when_it_takes_part_in_the_recorded_cluster(cluster: Cluster) -> None:
    first = cluster.members[0]
    cluster.publish(permit=first.id)
    first.up()
    assert first.call("ready").returncode == 0  # no cid is recorded yet
    cluster.publish(cid=first.cid, permit="")
    assert (first.call("ready").returncode, first.call("alive").returncode) == (0, 0)
    cluster.publish(cid=STRANGER)
    answer = first.call("ready")
    assert answer.returncode == 1
    assert f"not connected to {STRANGER}" in answer.stderr
    cluster.publish(cid='"],[')
    assert first.call("ready").returncode == 1


def test_a_member_without_quorum_is_alive_and_not_ready(cluster: Cluster) -> None:
    members = cluster.complete()
    for member in members[1:]:
        member.kill()
    until(lambda: not members[0].connected(), "no quorum")
    assert (members[0].call("alive").returncode, members[0].call("ready").returncode) == (0, 1)


def test_a_joiner_is_alive_and_not_ready(cluster: Cluster) -> None:
    second = cluster.members[1]
    cluster.publish(cid=STRANGER)
    second.start(OVN_WAIT="1")
    until(lambda: "joining cluster" in second.cluster_status(), "joining")
    assert (second.call("alive").returncode, second.call("ready").returncode) == (0, 1)


def test_a_frozen_server_is_neither_alive_nor_ready(cluster: Cluster) -> None:
    first = cluster.found()
    pid = first.server_pid()
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    with concurrent.futures.ThreadPoolExecutor() as pool:
        alive, ready = (pool.submit(first.call, verb, seconds=8) for verb in ("alive", "ready"))
        stays(lambda: not ready.done(), "the probe of 3 seconds waits", 2)
        stays(lambda: not alive.done(), "the probe of 5 seconds waits", 2)
        assert (alive.result().returncode, ready.result().returncode) == (1, 1)


def children(pid: int) -> set[int]:
    """All processes below this one, as far as they live long enough to be read."""
    found: set[int] = set()
    try:
        below = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return found
    for child in below.split():
        found |= {int(child)} | children(int(child))
    return found


def test_the_log_of_the_server_is_shown_on_the_console(cluster: Cluster) -> None:
    first = cluster.members[0]
    first.env |= {"OVN_CONSOLE": "1", "OVN_WAIT": "1"}
    first.start()
    until(lambda: "given to no member" in first.messages(), "the words of the launcher")
    cluster.publish(permit=first.id)
    until(first.connected, "connected")
    until(lambda: ": elected leader by" in first.messages(), "the words of the server")
    assert first.process is not None
    below = children(first.process.pid)
    assert first.terminate() == 0
    assert "|ovsdb_server|INFO|" in first.messages()
    assert (first.state_dir / "stderr").read_text() == ""
    until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in below), "nothing is left behind")


@pytest.mark.parametrize("log", ["", "server.log"])
@pytest.mark.parametrize(
    "words",
    [
        "ovsdb-server: ovsdb error: server does not belong to cluster",
        "2026-01-01T00:00:00Z|00003|ovsdb_server|WARN|failed to open database '/d/f.db': ovsdb error: server does not belong to cluster",
    ],
)
def test_a_failed_start_is_remembered_with_a_console_as_well(cluster: Cluster, words: str, log: str) -> None:
    first = cluster.found()
    first.kill()
    path = fake_server(cluster, words)
    answer = first.call("run", PATH=path, OVN_CONSOLE="1", OVN_LOG_FILE=log and str(first.log))
    assert answer.returncode == ASK
    assert first.state("class") == "dead-join"
    assert words in answer.stdout


@pytest.mark.parametrize("shell", ["dash", "bash"])
def test_a_pod_without_root_and_with_a_read_only_root_file_system(cluster: Cluster, shell: str) -> None:
    """In namespaces of its own, as process 1: nothing is written elsewhere, orphans are reaped, SIGTERM hands over and ends everything."""
    first = cluster.members[0]
    cluster.publish(permit=first.id)
    first.env |= {"OVN_CONSOLE": "1", "OVN_WAIT": "1", "OVN_LOG_FILE": "", "TMPDIR": "/nowhere"}
    for path in (cluster.root, *cluster.root.rglob("*")):
        os.chown(path, 65534, 65534)
    for folder in (first.run_dir, first.state_dir):
        folder.mkdir()
        os.chown(folder, 65534, 65534)
    steps = [
        # ovsdb-server itself opens a temporary file in /tmp at each start; the launcher writes only to its directories.
        *(f"mount --bind {path} {path}" for path in (first.data, first.run_dir, first.state_dir)),
        "mount --bind /tmp /tmp",
        "mount -o remount,bind,ro /",
        f"exec setpriv --reuid=65534 --regid=65534 --clear-groups --no-new-privs {shell} {first.launcher[0]} run",
    ]
    first.launcher = [
        "unshare",
        "--mount",
        "--pid",
        "--fork",
        "--kill-child",
        "--mount-proc",
        "sh",
        "-c",
        "\n".join(steps),
    ]
    first.up()
    assert first.process is not None
    inside = int(Path(f"/proc/{first.process.pid}/task/{first.process.pid}/children").read_text())
    enter = [
        "nsenter",
        "--target",
        str(inside),
        "--mount",
        "--pid",
        "setpriv",
        "--reuid=65534",
        "--regid=65534",
        "--clear-groups",
    ]
    environment = os.environ | first.env

    def exec_(*command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*enter, *command], env=environment, check=False, capture_output=True, text=True, timeout=20
        )

    script = str(cluster.root / "ovn-raft-launcher")
    for verb in ("alive", "ready", "state"):
        assert exec_(shell, script, verb).returncode == 0, verb
    exec_("sh", "-c", "setsid sh -c 'sleep 0.1' & exit 0")  # an orphan: process 1 inherits it
    until(lambda: "Z" not in exec_("sh", "-c", "sed 's/.*) //' /proc/[0-9]*/stat | cut -c1").stdout, "no zombies")
    assert "Permission denied" not in first.messages()
    assert "Read-only" not in first.messages()
    assert exec_("touch", "/var/tmp/probe").returncode == 1
    os.kill(inside, signal.SIGTERM)
    assert first.process.wait(timeout=10) == 0
    first.process = None
    assert first.state() == "stopped"
