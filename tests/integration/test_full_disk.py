"""Members whose disk is full: real servers, each on a file system of its own."""

from __future__ import annotations

import contextlib
import os
import subprocess
import typing as t
from pathlib import Path

import pytest
from _launcher_lib import until
from _loopback import LoopbackBackend, LoopbackHost
from _waits import within
from test_scenarios import OnLoopback

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import OvnError, Refused

MEGABYTES = 4


def mount(directory: Path, *options: str) -> None:
    size = f"size={MEGABYTES}m"
    subprocess.run(["mount", "-t", "tmpfs", "-o", ",".join([size, *options]), "tmpfs", directory], check=True)


class HostWithDisk(LoopbackHost):
    """Its databases lie on a small file system of their own."""

    def __init__(self, *arguments: t.Any, **options: t.Any) -> None:
        super().__init__(*arguments, **options)
        mount(self.data)

    def fill(self, left: int = 0) -> None:
        """Until no more than so many bytes are free."""
        with (self.data / "ballast").open("wb", buffering=0) as ballast:
            try:
                while True:
                    ballast.write(bytes(4096))
            except OSError:
                ballast.truncate(ballast.tell() - left)

    def has_said(self, words: str) -> bool:
        return words in (self.root / "launcher.log").read_text()

    def free(self) -> None:
        (self.data / "ballast").unlink()

    def free_until_complete(self) -> None:
        """What the launcher said before does not count: it may have looked while `fill` had not made room yet."""
        log = self.root / "launcher.log"
        before = log.stat().st_size
        self.free()
        until(lambda: b"has room again" in log.read_bytes()[before:], "the file is complete", 30)

    def unmount(self) -> None:
        subprocess.run(["umount", "--lazy", self.data], check=False)


@pytest.fixture
def backend(daemons: None) -> t.Iterator[LoopbackBackend]:
    backend = LoopbackBackend(host_class=HostWithDisk)
    try:
        backend.run()
        yield backend
    finally:
        backend.close(keep_files=True)
        for host in backend.hosts:
            t.cast("HostWithDisk", host).unmount()
        backend.close()


def hosts(backend: LoopbackBackend) -> list[HostWithDisk]:
    return t.cast("list[HostWithDisk]", backend.hosts)


def runs_until_whole(backend: LoopbackBackend, most: int = 4) -> list[str]:
    """The steps of the runs that an operator starts until one finds nothing to do. A refusal names what the next one does."""
    steps = list[str]()
    for _run in range(most):
        with contextlib.suppress(OvnError):
            backend.run()
            if not backend.acts:
                return steps
        steps += [step.reason for step in backend.acts]
    raise AssertionError(f"not whole after {most} runs: {steps}; {backend.problem()}")


def is_written(leader: HostWithDisk, number: int = 0, size: int = 5000) -> bool:
    """Whether a write is acknowledged by a leader whose disk is full: the others may have it, then it gives up."""
    name = f"{'x' * size}{number}"  # its last block on the disk has room for less
    row = f'["OVN_Northbound", {{"op": "insert", "table": "Address_Set", "row": {{"name": "{name}"}}}}]'
    done = subprocess.run(
        ["ovsdb-client", f"--timeout={within(5):.0f}", "transact", leader.socket, row],
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode == 0 and '"error"' not in done.stdout


def test_a_member_with_a_full_disk_is_not_restarted_and_costs_no_row(backend: LoopbackBackend) -> None:
    played = OnLoopback(backend)
    leader = until(lambda: backend.leader, "a leader")
    follower = next(host for host in hosts(backend) if host is not leader)
    follower.fill()
    for _row in range(5):
        played.write()
    assert backend.observe()[follower.id].free_bytes == 0
    before = {host.id: host.server_pid() for host in hosts(backend)}
    for host in hosts(backend):
        host.configure(hosts(backend), OVN_REVISION="2")
    with pytest.raises(Refused, match=rf"{follower.id} is not restarted: .* has 0 KiB free"):
        backend.run()
    assert {host.id: host.server_pid() for host in hosts(backend)} == before
    follower.free()
    steps = runs_until_whole(backend)
    assert len([step for step in steps if step.startswith("restart ")]) >= 2
    assert played.rows() == {1: 5, 2: 5, 3: 5}


def test_followers_whose_disks_were_full_start_from_their_files(backend: LoopbackBackend) -> None:
    """One after the other: both keep entries in memory that they could not write, until the launcher has the file written again."""
    leader = t.cast(HostWithDisk, until(lambda: backend.leader, "a leader"))
    followers = [host for host in hosts(backend) if host is not leader]
    for number, host in enumerate(followers):
        # As long as it is open, no other file can get its inode.
        with host.file.open("rb") as former:
            host.fill()
            until(lambda host=host: host.has_said("is full"), "the launcher notices", 30)
            assert is_written(leader, 2 * number)
            assert is_written(leader, 2 * number + 1)
            host.free_until_complete()
            assert not os.path.samestat(os.fstat(former.fileno()), host.file.stat())
    for host in hosts(backend):
        host.power_off()
    for host in hosts(backend):
        host.power_on()
    until(lambda: all(host.connected for host in hosts(backend)), "all are back", 60)
    backend.run()
    assert not backend.acts
    assert OnLoopback(backend).rows() == {1: 4, 2: 4, 3: 4}


@pytest.mark.parametrize("console", [False, True], ids=["log in a file", "log to the console, as in pods"])
def test_a_transaction_that_is_too_large_for_the_disk_leaves_no_hole(backend: LoopbackBackend, console: bool) -> None:
    """Small ones still fit, so only the server's log tells."""
    if console:
        for host in hosts(backend):
            host.configure(hosts(backend), OVN_REVISION="2", OVN_CONSOLE="1", OVN_LOG_FILE="")
        assert runs_until_whole(backend)
    leader = t.cast(HostWithDisk, until(lambda: backend.leader, "a leader"))
    follower = next(host for host in hosts(backend) if host is not leader)
    follower.fill(left=100_000)
    assert is_written(leader, 1, size=120_000)
    assert is_written(leader, 2)
    free = backend.observe()[follower.id].free_bytes
    assert free is not None
    assert free > 2**16
    problem = "misses what its server could not write"
    until(lambda: problem in backend.observe()[follower.id].start_problem, "the launcher notices", 30)
    observed = backend.observe()
    assert {o.start_problem for o in observed.values() if o.member != follower.id} == {""}
    follower.free_until_complete()
    assert backend.observe()[follower.id].start_problem == ""
    follower.power_off()
    follower.power_on()
    until(lambda: follower.connected, "it is back", 60)
    backend.run()
    assert not backend.acts
    assert OnLoopback(backend).rows() == {1: 2, 2: 2, 3: 2}


def test_a_leader_that_cannot_write_is_restarted_when_there_is_room(backend: LoopbackBackend) -> None:
    leader = t.cast(HostWithDisk, until(lambda: backend.leader, "a leader"))
    leader.fill()
    rows = int(is_written(leader))
    until(lambda: any(host.leads for host in hosts(backend) if host is not leader), "another leader")
    backend.run()  # which goes on without it
    assert not backend.acts
    assert backend.problem() == f"not connected: {leader.id}"
    leader.free()
    steps = runs_until_whole(backend)  # tried again if the server closes its database meanwhile
    assert {step.partition(":")[0] for step in steps} == {f"restart northbound on {leader.id}"}
    assert OnLoopback(backend).rows() == dict.fromkeys((1, 2, 3), rows)


def test_members_that_cannot_write_come_back_when_there_is_room(backend: LoopbackBackend) -> None:
    """All of them: their files grow alike, so that is how it goes."""
    played = OnLoopback(backend)
    played.write()
    leader = t.cast(HostWithDisk, until(lambda: backend.leader, "a leader"))
    for host in hosts(backend):
        host.fill()
    assert not is_written(leader)

    def gave_up() -> bool:
        """A follower that the write did not reach has room for a vote in its last block, and may be elected."""
        for host in hosts(backend):
            if host.leads:
                is_written(host)
        return not any(o.connected for o in backend.observe().values())

    until(gave_up, "nobody takes part")
    with pytest.raises(Refused, match=r"is not restarted: .* has 0 KiB free"):
        backend.run()
    for host in hosts(backend):
        host.free()
    steps = runs_until_whole(backend)
    assert steps[0].endswith("after a failed write a server takes part again only when it is restarted")
    played.write()
    assert len(set(played.rows().values())) == 1
