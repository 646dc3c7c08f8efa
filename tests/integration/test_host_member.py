"""What a host says of its own member: real launcher, real servers, no unit."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import typing as t
from pathlib import Path

import pytest
from _launcher_lib import Cluster, Member, until

from ansible_collections.c5c3.ovn.plugins.module_utils._base.deadline import Deadline
from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import Refused
from ansible_collections.c5c3.ovn.plugins.module_utils._raft import host
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.host import HostMember


@pytest.fixture
def cluster() -> t.Iterator[Cluster]:
    made = Cluster()
    for member in made.members:
        member.env["OVN_WITNESS_SECONDS"] = "0.2"
    yield made
    made.close()


def on_host(member: Member, launcher: str = "", **env: str) -> HostMember:
    """The member as its host sees it. systemctl says that its unit is active."""
    settings = member.dir / "env"
    settings.write_text("".join(f"{key}={value}\n" for key, value in {**member.env, **env}.items()))

    def run(command: list[str], environment: dict[str, str]) -> tuple[int, str, str]:
        if command[0] == "systemctl":
            return 0, "", ""
        done = subprocess.run(
            command, env=os.environ | environment, check=False, capture_output=True, text=True, timeout=60
        )
        return done.returncode, done.stdout, done.stderr

    return HostMember(
        database="northbound",
        member=member.id,
        record=str(member.dir / "no-record"),
        environment_file=str(settings),
        launcher=launcher or member.launcher[0],
        unit="x.service",
        run=run,
    )


@pytest.fixture
def broken_launcher(cluster: Cluster) -> str:
    """A launcher that fails whenever it is asked."""
    path = cluster.root / "broken-launcher"
    path.write_text('#!/bin/sh\necho >>"$0.calls"\nexit 137\n')
    path.chmod(0o755)
    return str(path)


def test_the_file_of_a_member_that_takes_part_is_not_examined(cluster: Cluster, broken_launcher: str) -> None:
    members = cluster.complete()
    leader = cluster.leader()
    until(lambda: on_host(leader).observe().witness_index, "sampled")
    seen = on_host(leader, broken_launcher).observe()
    assert (seen.file_class, seen.connected, seen.is_lost) == ("member", True, False)
    assert (seen.file_sid, seen.file_cid) == (leader.sid, leader.cid)
    assert seen.last_index == int(leader.examined()["last_index"])
    until(lambda: set(on_host(leader).observe().witnesses) == {member.sid[:4] for member in members}, "all remembered")
    assert seen.file_bytes == leader.file.stat().st_size
    assert seen.start_problem == ""
    assert not Path(f"{broken_launcher}.calls").exists()


@pytest.mark.parametrize(("left", "file_class"), [(None, "none"), (b"", "empty")])
def test_a_member_that_runs_on_a_deleted_file_is_lost(cluster: Cluster, left: bytes | None, file_class: str) -> None:
    first = cluster.found()
    first.file.unlink()
    if left is not None:
        first.file.write_bytes(left)
    seen = on_host(first).observe()
    assert (seen.file_class, seen.connected, seen.is_lost) == (file_class, True, True)


def test_a_member_whose_disk_was_unmounted_under_it_is_not_lost(cluster: Cluster, broken_launcher: str) -> None:
    first, data = cluster.members[0], str(cluster.members[0].data)
    for number in ("1", "2"):
        subprocess.run(["truncate", "-s", "32M", f"{data}.{number}"], check=True, timeout=20)
        subprocess.run(["mkfs.ext4", "-q", f"{data}.{number}"], check=True, timeout=60)
        subprocess.run(["mount", "-o", "loop", f"{data}.{number}", data], check=True, timeout=20)
        if number == "1":
            cluster.found()
            until(lambda: on_host(first).observe().witness_index, "sampled")
    try:
        seen = on_host(first).observe()
        assert (seen.file_class, seen.connected, seen.is_lost) == ("disk-missing", True, False)
        assert "Mount it" in seen.file_reason
        assert seen.file_sid == seen.sid
        unsure = on_host(first, broken_launcher).observe()
        assert (unsure.file_class, unsure.connected, unsure.is_lost) == ("unknown", True, False)
    finally:
        first.kill()
        for _number in ("2", "1"):  # what the launcher has left in the background may still look at the file
            until(lambda: subprocess.run(["umount", data], check=False, timeout=20).returncode == 0, "unmounted")


def test_a_member_that_does_not_take_part_is_examined(cluster: Cluster, broken_launcher: str) -> None:
    members = cluster.complete()
    for member in members[1:]:
        member.kill()
    first = members[0]
    until(lambda: not first.connected(), "no quorum")
    seen = on_host(first).observe()
    assert (seen.file_class, seen.file_sid, seen.running, seen.connected) == ("member", first.sid, True, False)
    assert on_host(first, broken_launcher).observe().file_class == "unknown"


def test_a_member_at_rest_says_how_far_its_log_goes(cluster: Cluster) -> None:
    first = cluster.found()
    until(lambda: on_host(first).observe().witness_index, "sampled")
    first.terminate()
    seen = on_host(first).observe()
    assert (seen.file_class, seen.running) == ("member", False)
    assert seen.last_term is not None
    assert seen.last_index == seen.witness_index
    away = on_host(first, OVN_LOCAL_ADDRESS="tcp:192.0.2.77:6643").observe()
    assert "192.0.2.77 is not an address of this host" in away.start_problem


def test_declared_address_is_checked_before_installation(cluster: Cluster) -> None:
    fresh = dataclasses.replace(on_host(cluster.found()), environment_file="/nowhere")
    away, here = (dataclasses.replace(fresh, address=f"tcp:{ip}:6643").observe() for ip in ("192.0.2.77", "127.0.0.1"))
    assert (away.installed, here.installed) == (False, False)
    assert "192.0.2.77 is not an address of this host" in away.host_problem
    assert here.host_problem == ""


def test_a_launcher_that_waits_is_named_before_the_time_is_over(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its unit is active all the time."""
    first = cluster.members[0]
    first.start(OVN_WAIT="1")
    until(lambda: first.state() == "ask", "asked")
    refused = pytest.raises(Refused, match=r"waits\. .*the permit to create one is given to no member")
    with refused, monkeypatch.context() as patched:
        patched.setattr(host, "_WAITING_SECONDS", 0.5)
        on_host(first).wait_connected(Deadline(30))
    cluster.publish(permit=first.id)
    on_host(first).wait_connected(Deadline(30))
