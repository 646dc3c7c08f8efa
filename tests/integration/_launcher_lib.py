"""A Raft member under the launcher, on loopback, in a directory of its own; every process is ended by its pid."""

from __future__ import annotations

import contextlib
import errno
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import typing as t
from pathlib import Path

from _waits import until, within

from ansible_collections.c5c3.ovn.plugins.module_utils._daemons.raft_launcher import SCRIPT

SCHEMA = "/usr/share/ovn/ovn-nb.ovsschema"
DATABASE = "OVN_Northbound"
ASK, REFUSE, IDLE = 10, 11, 12


def delete_folder(path: Path) -> None:
    """What a killed launcher has left in the background may still write a last line."""
    until(lambda: shutil.rmtree(path, ignore_errors=True) or not path.exists(), f"{path} is gone")


def tool(*arguments: str | Path) -> str:
    return subprocess.run(
        ["ovsdb-tool", *map(str, arguments)], check=True, capture_output=True, text=True, timeout=within(20)
    ).stdout.strip()


def log_terms(member: Member) -> dict[int, int]:
    """The terms of all log entries in this member's file by their index, as ovsdb-tool reads them; the snapshot's as well."""
    found: dict[int, int] = {}
    index = term = 0
    for line in [*tool("show-log", member.file).splitlines(), "record"]:
        if line.startswith("record"):
            if index:
                found[index] = term
            index = term = 0
        elif match := re.fullmatch(r" (?:prev_)?(index|term): (\d+)", line):
            index, term = (int(match[2]), term) if match[1] == "index" else (index, int(match[2]))
    return found


_RESERVED: list[socket.socket] = []


def reserve(what: str) -> bool:
    """Return whether this process holds it from now on: another worker may find the same network free before anybody listens there."""
    held = socket.socket(socket.AF_UNIX)
    try:
        held.bind(f"\0c5c3-ovn-{what}")
    except OSError:
        held.close()
        return False
    _RESERVED.append(held)
    return True


def free_network() -> str:
    """A loopback /24 in which nobody listens on the ports we use."""
    while True:
        network = f"127.{random.randint(246, 254)}.{random.randint(0, 255)}"  # above those of conftest's `next_address`
        try:
            for host in range(1, 5):
                for port in range(6641, 6645):
                    with socket.socket() as probe:
                        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                        probe.bind((f"{network}.{host}", port))
        except OSError as e:
            if e.errno != errno.EADDRINUSE:
                raise
            continue
        if reserve(network):
            return network


class Member:
    """One member: its settings, its record directory, its launcher process."""

    def __init__(self, root: Path, network: str, number: int) -> None:
        self.id = f"m{number}"
        self.number = number
        self.launcher = [str(root / "ovn-raft-launcher")]
        self.dir = root / self.id
        self.record, self.state_dir, self.run_dir = self.dir / "record", self.dir / "state", self.dir / "run"
        self.data = self.dir / "data"
        for directory in (self.record, self.data):
            directory.mkdir(parents=True)
        self.file = self.data / "ovnnb_db.db"
        self.log = self.dir / "server.log"
        self.address = f"tcp:{network}.{number}:6643"
        self.endpoint = f"tcp:{network}.{number}:6641"
        self.sock, self.ctl, self.pid_file = (self.run_dir / f"ovnnb_db.{end}" for end in ("sock", "ctl", "pid"))
        self.env = {
            "OVN_DATABASE": "northbound",
            "OVN_MEMBER": self.id,
            "OVN_RECORD_DIR": str(self.record),
            "OVN_DB_FILE": str(self.file),
            "OVN_RUN_DIR": str(self.run_dir),
            "OVN_STATE_DIR": str(self.state_dir),
            "OVN_LOG_FILE": str(self.log),
            "OVN_LOCAL_ADDRESS": self.address,
            "OVN_POLL": "0.1",
            "OVN_EXTRA_OPTIONS": f"--remote=ptcp:6641:{network}.{number}",
        }
        self.process: subprocess.Popen[str] | None = None

    # The record ------------------------------------------------------------------------------------------------
    def write(self, **fields: str) -> None:
        for key, value in fields.items():
            new = self.record / f".{key}"
            new.write_text(f"{value}\n" if value else "")
            new.rename(self.record / key)

    # The launcher ----------------------------------------------------------------------------------------------
    def call(self, verb: str, *, seconds: float = 60, **env: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*self.launcher, verb],
            env=os.environ | self.env | env,
            check=False,
            capture_output=True,
            text=True,
            timeout=within(seconds),
        )

    def start(self, **env: str) -> None:
        with (self.dir / "launcher.log").open("a") as log:
            self.process = subprocess.Popen(
                [*self.launcher, "run"],
                env=os.environ | self.env | env,
                stderr=log,
                stdout=log,
                text=True,
            )

    def up(self, **env: str) -> None:
        self.start(**env)
        until(self.connected, f"{self.id} connected; {self.messages()}")

    def messages(self) -> str:
        path = self.dir / "launcher.log"
        return path.read_text() if path.exists() else ""

    def state(self, key: str = "state") -> str:
        path = self.state_dir / key
        return path.read_text().strip() if path.exists() else ""

    def examined(self) -> dict[str, str]:
        answer = self.call("state")
        assert answer.returncode == 0, answer.stderr
        return dict(line.split("=", 1) for line in answer.stdout.splitlines())

    # The server ------------------------------------------------------------------------------------------------
    def server_pid(self) -> int | None:
        try:
            pid = int(self.pid_file.read_text())
            command = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        except (OSError, ValueError):
            return None
        return pid if str(self.file).encode() in command else None

    def appctl(self, *command: str) -> str:
        return subprocess.run(
            ["ovs-appctl", "-T", "5", "-t", str(self.ctl), *command],
            check=False,
            capture_output=True,
            text=True,
            timeout=within(20),
        ).stdout

    def cluster_status(self) -> str:
        return self.appctl("cluster/status", DATABASE)

    def row(self) -> str:
        query = (
            '["_Server",{"op":"select","table":"Database","where":[["name","==","OVN_Northbound"]],'
            '"columns":["cid","connected","leader"]}]'
        )
        return subprocess.run(
            ["ovsdb-client", "-t", "3", "query", f"unix:{self.sock}", query],
            check=False,
            capture_output=True,
            text=True,
            timeout=within(20),
        ).stdout

    def connected(self) -> bool:
        return '"connected":true' in self.row()

    def leads(self) -> bool:
        return '"leader":true' in self.row()

    def kill(self) -> None:
        """SIGKILL for the server and its launcher, as a crash would do."""
        pid = self.server_pid()
        if self.process is not None:
            self.process.kill()
            self.process.wait(timeout=within(10))
            self.process = None
        pid = pid or self.server_pid()
        if pid is not None:
            with contextlib.suppress(ProcessLookupError):  # it may end by itself
                os.kill(pid, signal.SIGKILL)
            until(lambda: self.server_pid() is None, f"{self.id} killed")

    def terminate(self, seconds: float = 40) -> int:
        assert self.process is not None
        self.process.terminate()
        code = self.process.wait(timeout=within(seconds))
        self.process = None
        return code

    @property
    def cid(self) -> str:
        return tool("db-cid", self.file)

    @property
    def sid(self) -> str:
        return tool("db-sid", self.file)


class Cluster:
    """Up to three members and the record that all of them see."""

    def __init__(self) -> None:
        # Not pytest's directory: the path of a unix socket has to stay below 108 bytes.
        self.root = Path(tempfile.mkdtemp(prefix="ovn-launcher-"))
        (self.root / "ovn-raft-launcher").write_text(SCRIPT)
        (self.root / "ovn-raft-launcher").chmod(0o755)
        network = free_network()
        self.members = [Member(self.root, network, number) for number in (1, 2, 3)]
        for member in self.members:
            member.env["OVN_CLIENT_ENDPOINTS"] = ",".join(m.endpoint for m in self.members if m is not member)
        self.states = {m.id: ("expected", "-") for m in self.members}
        self.publish(cid="", retired_cids="", permit="", hold="", election_timer="1000")

    def publish(self, **fields: str) -> None:
        lines = [f"{m.id} {' '.join(self.states[m.id])} {m.address}" for m in self.members]
        for member in self.members:
            member.write(**fields, members="\n".join(lines))

    def declare(self, member: Member, state: str, sid: str | None = None) -> None:
        self.states[member.id] = (state, sid if sid is not None else self.states[member.id][1])
        self.publish()

    def found(self) -> Member:
        """The first member with the permit, then the cluster recorded and the permit gone."""
        first = self.members[0]
        self.publish(permit=first.id)
        first.up()
        self.states[first.id] = ("confirmed", first.sid)
        self.publish(cid=first.cid, permit="")
        return first

    def complete(self) -> list[Member]:
        """Three confirmed members."""
        self.found()
        for member in self.members[1:]:
            member.up()
            self.declare(member, "confirmed", member.sid)
        return self.members

    def leader(self) -> Member:
        return t.cast("Member", until(lambda: next((m for m in self.members if m.leads()), None), "a leader"))

    def close(self) -> None:
        for member in self.members:
            member.kill()
        delete_folder(self.root)
