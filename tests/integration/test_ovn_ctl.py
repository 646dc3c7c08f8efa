"""What lasting create arguments of ovn-ctl do when the first member loses its file: why members here are started by a launcher
that asks a record (decision 6). docs/comparison.md says of projects that start their first member so what is played here.
"""

from __future__ import annotations

import contextlib
import os
import pathlib
import shutil
import signal
import typing as t

import pytest
from conftest import Daemon, listens, next_address, run, until

OVN_CTL = "/usr/share/ovn/scripts/ovn-ctl"
PORT = "6643"


class OvnCtlMember:
    """A Northbound member that is started with the same command line each time, as units, containers and pods do it."""

    def __init__(self, folder: pathlib.Path, remote: str = "") -> None:
        folder.mkdir()
        self.folder, self.file = folder, folder / "nb.db"
        self.control, self.pid_file = folder / "nb.ctl", folder / "nb.pid"
        self.address = next_address()
        first = [f"--db-nb-cluster-remote-addr={remote}", f"--db-nb-cluster-remote-port={PORT}"] if remote else []
        self._options = [
            *("--no-monitor", "--ovn-user=", "--db-nb-create-insecure-remote=no"),
            *(f"--db-nb-cluster-local-addr={self.address}", f"--db-nb-cluster-local-port={PORT}", *first),
            *(f"--db-nb-file={self.file}", f"--db-nb-sock={folder / 'nb.sock'}", f"--db-nb-pidfile={self.pid_file}"),
            *(f"--db-nb-ctrl-sock={self.control}", f"--ovn-nb-logfile={folder / 'nb.log'}"),
        ]

    def start(self) -> None:
        # ovn-ctl makes these folders and gives all that is in them to its user.
        names = ("OVN_RUNDIR", "OVN_DBDIR", "OVN_LOGDIR", "OVN_SYSCONFDIR", "OVS_RUNDIR")
        folders = [f"{name}={self.folder}" for name in names]
        self._script = Daemon(["env", *folders, OVN_CTL, *self._options, "run_nb_ovsdb"], self.folder / "ovn-ctl.log")
        until(lambda: listens(self.control), f"the server of {self.folder.name}")
        until(lambda: "Status: cluster member" in self.status(), f"{self.folder.name} to be a member")

    def kill(self) -> None:
        """The server, the script, and what the script waits for: all of them are one process group."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._script.pid, signal.SIGKILL)
        self._script.kill()
        self.control.unlink(missing_ok=True)
        # ovn-ctl starts nothing where it names a process, even a dead one that nobody has reaped.
        self.pid_file.unlink(missing_ok=True)

    def status(self) -> str:
        return run("ovs-appctl", "-T", "5", "-t", str(self.control), "cluster/status", "OVN_Northbound")

    @property
    def cluster(self) -> str:
        (line,) = [line for line in self.status().splitlines() if line.startswith("Cluster ID:")]
        return line


Members = t.Callable[..., OvnCtlMember]


@pytest.fixture
def member(daemons: None, short_dir: pathlib.Path) -> t.Iterator[Members]:
    """`member("name", first)`: a member that runs, and ends with the test; with `first` it joins that one's cluster."""
    if not os.path.exists(OVN_CTL) or shutil.which("ovs-appctl") is None:
        pytest.skip(f"NOT TESTED: {OVN_CTL} or ovs-appctl is missing")
    made: list[OvnCtlMember] = []

    def make(name: str, first: OvnCtlMember | None = None) -> OvnCtlMember:
        made.append(OvnCtlMember(short_dir / name, first.address if first else ""))
        made[-1].start()
        return made[-1]

    yield make
    for one in made:
        one.kill()


def test_a_first_member_that_lost_its_file_founds_a_second_cluster(member: Members) -> None:
    first = member("first")
    second = member("second", first)
    before = second.cluster
    assert first.cluster == before
    first.kill()
    first.file.unlink()
    first.start()
    assert first.cluster != before
    assert "Role: leader" in first.status(), "it is content with itself"


def test_another_member_that_lost_its_file_joins_and_leaves_a_ghost(member: Members) -> None:
    first = member("first")
    member("second", first)
    third = member("third", first)
    third.kill()
    third.file.unlink()
    third.start()
    assert third.cluster == first.cluster
    listed = [line for line in first.status().splitlines() if f" at tcp:{third.address}:" in line]
    assert len(listed) == 2, "the old server id stays in the list, under the same address"
