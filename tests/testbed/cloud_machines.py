"""The machines of `make openstack`, what the parts of cloud.py have in common, and how every test reaches a machine of the test bed."""

from __future__ import annotations

import concurrent.futures
import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
STATE = Path(os.environ.get("MACHINES_STATE", "/var/tmp/c5c3-ovn-openstack"))
NETWORK = os.environ.get("MACHINES_NETWORK", "198.51.100")
CENTRALS = {"central1": 111, "central2": 112, "central3": 113}
COMPUTES = {"compute1": 121, "compute2": 122}
ADDED = {"compute3": 123}  # `added`, after the others
GATEWAYS = {"gateway1": 141, "gateway2": 142}
CONTROLLER = {"controller1": 131}
OUTSIDE = "203.0.113.1"  # the router of the provider's network
SECONDS = 60.0


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


class Failed(Exception):
    """The cloud does not do what it should."""


def address(machine: str) -> str:
    return f"{NETWORK}.{ {**CENTRALS, **COMPUTES, **ADDED, **GATEWAYS, **CONTROLLER}[machine] }"


def ssh_command(state: Path, ip: str, command: str, *options: str) -> list[str]:
    """Return the words of an ssh(1) that runs the command on a machine; its key lies in the `state` folder."""
    common = ("BatchMode=yes", "LogLevel=ERROR", "StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null")
    return ["ssh", "-i", str(state / "key"), *(f"-o{one}" for one in (*common, *options)), f"root@{ip}", command]


def ssh(machine: str, command: str, *, check: bool = True, timeout: float = 120) -> str:
    """Return what the command prints on the machine."""
    shared = (f"ControlPath={STATE}/ssh/cloud-%h", "ControlMaster=auto", "ControlPersist=60s")
    done = subprocess.run(
        ssh_command(STATE, address(machine), command, "ConnectTimeout=5", *shared),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    if check and done.returncode != 0:
        raise Failed(
            f"{machine}: {command.splitlines()[0][:120]} failed: {(done.stderr or done.stdout).strip()[-400:]}"
        )
    return done.stdout


def outside(command: str, *, check: bool = True) -> str:
    """Return what a command prints that runs on the network of the provider: the controller stands there too, with one leg."""
    return ssh("controller1", command, check=check)


def machines(verb: str, *names: str) -> None:
    subprocess.run([str(HERE / "machines"), verb, *names], check=True, stdout=subprocess.DEVNULL)


def everywhere(function: Callable[[str], Any], names: Any) -> list[Any]:
    with concurrent.futures.ThreadPoolExecutor() as pool:
        return list(pool.map(function, names))


@contextlib.contextmanager
def step(text: str) -> Iterator[None]:
    start = time.monotonic()
    say(text)
    yield
    say(f"  {time.monotonic() - start:.1f} s")


def wait_until(condition: Callable[[], bool], problem: str, seconds: float = SECONDS) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise Failed(problem)
        time.sleep(0.3)  # commands on machines answer, nothing wakes us


def answers(ip: str) -> bool:
    return ", 0% packet loss" in outside(f"ping -c 2 -i 0.2 -W 1 {ip}", check=False)
