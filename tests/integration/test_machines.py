"""The test bed's own test: one machine through all verbs of tests/testbed/machines, on a network of its own."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import tempfile
import typing as t

import pytest
from cloud_machines import ssh_command

MACHINES = pathlib.Path(__file__).parents[1] / "testbed" / "machines"
CGROUPS = pathlib.Path("/sys/fs/cgroup")


class Machines:
    """A set of machines that no other test run shares: state folder, network namespace and addresses are its own."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.state = folder / "state"
        self.namespace = f"mt{os.getpid()}"
        self.octet = 100 + os.getpid() % 150  # test_sandbox.py has others of the same network
        self.address = f"203.0.113.{self.octet}"
        self._environment = {
            **os.environ,
            "MACHINES_STATE": str(self.state),
            "MACHINES_NAMESPACE": self.namespace,
            "MACHINES_NETWORK": "203.0.113",
        }

    def __call__(self, *words: str, expected: int = 0, **environment: str) -> str:
        done = subprocess.run(
            [MACHINES, *words],
            env={**self._environment, **environment},
            capture_output=True,
            check=False,
            text=True,
            timeout=600,
        )
        assert done.returncode == expected, done.stdout + done.stderr
        return done.stdout + done.stderr

    def status(self) -> str:
        return self("list").split()[-1]

    def ssh(self, command: str) -> subprocess.CompletedProcess[str]:
        words = ssh_command(self.state, self.address, command, "ConnectTimeout=1")
        return subprocess.run(words, capture_output=True, check=False, text=True, timeout=30)

    def traces(self) -> list[str]:
        """What of this set can still be found on the host."""
        links = subprocess.run(["ip", "-o", "link"], capture_output=True, text=True, check=True).stdout
        routes = subprocess.run(["ip", "-o", "route"], capture_output=True, text=True, check=True).stdout
        found = [line for line in (links + routes).splitlines() if self.namespace in line]
        for path in (pathlib.Path("/run/netns"), pathlib.Path("/run/systemd/nspawn"), CGROUPS):
            found += [str(entry) for entry in path.glob(f"**/{self.namespace}*") if path.exists()]
        mounts = pathlib.Path("/proc/self/mounts").read_text(encoding="utf-8")
        found += [line for line in mounts.splitlines() if str(self.state) in line]
        if self.state.exists():
            found.append(str(self.state))
        return found


@pytest.fixture
def machines() -> t.Iterator[Machines]:
    if os.geteuid() != 0:
        print("\nNOT TESTED: the machines of the test bed need root", file=sys.__stderr__)
        pytest.skip("NOT TESTED: the machines of the test bed need root")
    with tempfile.TemporaryDirectory(prefix="c5c3-machines-", dir="/var/tmp", ignore_cleanup_errors=True) as folder:
        machines = Machines(pathlib.Path(folder))
        try:
            yield machines
        finally:
            machines("down")


def test_a_machine_keeps_its_disk_and_leaves_no_trace(machines: Machines) -> None:
    machines("down")  # of what is not there: fine
    machines("up", f"m1={machines.octet}")
    assert "up already" in machines("up", f"m1={machines.octet}")
    assert machines.ssh("echo kept > /root/kept; systemctl is-system-running").stdout.split() == ["running"]
    services = "systemctl list-units --state=running --no-legend 'ovn*' 'ovs*' 'openvswitch*'; ls /etc/openvswitch"
    assert machines.ssh(services).stdout == "", "OVN must be installed but neither running nor set up"
    assert machines.ssh("python3 -c 'import apt, cryptography, ovs'").returncode == 0
    # A stopped service loses all its processes: the machine's control groups are its own.
    stop = "systemd-run -q --unit=two sh -c 'sleep 300 & exec sleep 301'; systemctl stop two; pgrep -x sleep"
    assert machines.ssh(stop).stdout == ""

    machines("partition", "m1")
    assert machines.ssh("true").returncode != 0
    assert machines.status() == "partitioned"
    machines("heal", "m1")
    assert machines.ssh("true").returncode == 0

    machines("crash", "m1")
    assert machines.status() == "off"
    machines("boot", "m1")
    assert machines.ssh("cat /root/kept").stdout == "kept\n"
    machines("poweroff", "m1")
    assert machines.status() == "off"
    machines("up", f"m1={machines.octet}")
    assert machines.ssh("cat /root/kept").stdout == "kept\n"

    machines("down")
    assert machines.traces() == []


def test_a_wrong_request_says_what_is_wrong(machines: Machines) -> None:
    assert "want NAME=OCTET" in machines("up", "m1", expected=1)
    assert "2 to 254" in machines("up", "m1=1", expected=1)
    assert "there is no machine m1" in machines("boot", "m1", expected=1)
    assert "is a network of this host" in machines("up", "m1=2", expected=1, MACHINES_NETWORK="127.0.0")
    machines("down")
    assert machines.traces() == []
