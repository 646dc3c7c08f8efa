"""Clusters to measure: ours under the launcher, and the bare daemons beside them; hosts in network namespaces, writers on each member.

A part that needs them runs as a program of its own in namespaces of its own, and prints its figures as one line of JSON.
"""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import typing as t
from pathlib import Path

_TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(_TESTS / "integration"), str(_TESTS / "chaos")]

from _loopback import LoopbackBackend, LoopbackHost, Tls
from _waits import until
from conftest import Pki
from network import Network

from ansible_collections.c5c3.ovn.plugins.module_utils._base.databases import DATABASE_NAMES
from ansible_collections.c5c3.ovn.plugins.module_utils._base.deadline import Deadline
from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import Conflict, OvnError
from ansible_collections.c5c3.ovn.plugins.module_utils._ovsdb.endpoint import parse_endpoint
from ansible_collections.c5c3.ovn.plugins.module_utils._ovsdb.rows import Operation, transact
from ansible_collections.c5c3.ovn.plugins.module_utils._ovsdb.tls_files import TlsFiles
from ansible_collections.c5c3.ovn.plugins.module_utils._ovsdb.wire import Connection

NAMES = ("central1", "central2", "central3")
_SCHEMAS = {"northbound": "/usr/share/ovn/ovn-nb.ovsschema", "southbound": "/usr/share/ovn/ovn-sb.ovsschema"}
_ANSWER_SECONDS = 0.5


def run_inside(program: str, *arguments: str) -> t.Any:
    """Run a program of this folder where it can make network namespaces; return what it printed last, parsed."""
    unshare = ("unshare", "--net", "--pid", "--fork", "--kill-child=KILL", "--mount-proc")
    command = [*unshare, sys.executable, str(Path(__file__).with_name(program)), *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        last = ""
        for last in process.stdout:
            if not last.startswith(("[", "{")):
                print(last, end="", flush=True)
    if process.returncode:
        raise RuntimeError(f"{program} ended with {process.returncode}")
    return json.loads(last)


class BareHost(LoopbackHost):
    """The same server without the launcher: what the daemons alone give."""

    def start(self) -> None:
        if not self.is_on or (self.process is not None and self.process.poll() is None):
            return
        self.run_dir.mkdir(parents=True, exist_ok=True)
        environment = self.member.environment()
        socket = f"--remote=p{self.socket}"
        files = [
            f"--unixctl={self.control_socket}",
            f"--pidfile={self.control_socket[:-3]}pid",
            f"--log-file={self.log}",
        ]
        tls = (
            ["-p", self.tls.private_key, "-c", self.tls.certificate, "-C", self.tls.ca_certificate] if self.tls else []
        )
        options = ["-vconsole:off", "-vfile:info", socket, *files, *tls, environment["OVN_EXTRA_OPTIONS"]]
        command = [*self.enter, "setpriv", "--pdeathsig", "KILL", "ovsdb-server", *options, str(self.file)]
        self.process = subprocess.Popen(command)

    def stop(self) -> None:
        process, self.process = self.process, None
        if process is not None:
            subprocess.run(["ovs-appctl", "-T", "20", "-t", self.control_socket, "exit"], check=False, timeout=30)
            process.wait(timeout=60)

    def supervise(self) -> None:
        """Nobody starts it again."""


@contextlib.contextmanager
def cluster(
    network: Network, timer: int, *, database: str = "northbound", tls: bool = False, bare: bool = False
) -> t.Iterator[LoopbackBackend]:
    """Three members that are connected; with `bare`, ovsdb-tool makes them and nobody looks after them."""
    with contextlib.ExitStack() as stack:
        issue = None
        if tls:
            pki = Pki(Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="c5c3-pki-"))))

            def issue(address: str) -> Tls:
                return Tls(*dataclasses.astuple(pki.issue(address, addresses=[address])))

        backend = stack.enter_context(
            LoopbackBackend(
                database,
                election_timer=timer,
                hosts=[network.address(name) for name in NAMES],
                enter=[network.enter(name) for name in NAMES],
                tls=issue,
                host_class=BareHost if bare else None,
            )
        )
        if bare:
            _make(backend)
        else:
            backend.run()
        wait_connected(backend)
        yield backend


def _make(backend: LoopbackBackend) -> None:
    first, *others = backend.hosts
    schema = _SCHEMAS[backend.database]
    create = [f"--election-timer={backend.election_timer}", "create-cluster", str(first.file), schema, first.address]
    subprocess.run(["ovsdb-tool", *create], check=True)
    first.start()
    for host in others:
        subprocess.run(
            ["ovsdb-tool", "join-cluster", str(host.file), backend.name, host.address, first.address], check=True
        )
        host.start()
        wait_connected(backend, [host])


def wait_connected(backend: LoopbackBackend, hosts: t.Sequence[LoopbackHost] = (), seconds: float = 120.0) -> None:
    until(lambda: all(host.connected for host in hosts or backend.hosts), "all members to be connected", seconds)


def settle(backend: LoopbackBackend) -> None:
    """The last election is long ago afterwards: one that is close makes the next outage longer."""
    time.sleep(2 * backend.election_timer / 1000 + 1)  # elections that are over send no event


class Acknowledged(t.Protocol):
    """A client with the times at which its writes were acknowledged."""

    acks: list[float]


class Writer(threading.Thread):
    """Writes row after row; one that is not acknowledged is tried again at the next of its members until `seconds` are over.

    `acks` are the times of the answers, `failed` counts the rows that nobody acknowledged. A row has a unique name, so that a repetition of
    one that took effect is refused.
    """

    def __init__(self, hosts: t.Sequence[LoopbackHost], database: str, name: str, seconds: float) -> None:
        super().__init__(daemon=True, name=name)
        self.hosts, self.database, self.seconds = list(hosts), DATABASE_NAMES[database], seconds
        self.acks: list[float] = []
        self.failed = 0
        self.finish = threading.Event()
        self._connection: Connection | None = None

    def run(self) -> None:
        for number in itertools.count():
            if self.finish.wait(0.02):
                break
            row = {"name": f"bench-{self.name}-{number}"}
            deadline = Deadline(self.seconds)
            while not self._write({"op": "insert", "table": "Address_Set", "row": row}):
                if deadline.expired:
                    self.failed += 1
                    break
                time.sleep(0.02)  # as long as between two rows
            else:
                self.acks.append(time.monotonic())

    def _write(self, operation: Operation) -> bool:
        host = self.hosts[0]
        try:
            if self._connection is None:
                tls = TlsFiles(*host.tls) if host.tls else TlsFiles()
                self._connection = Connection(parse_endpoint(host.endpoint), tls, Deadline(_ANSWER_SECONDS))
            self._connection.deadline = Deadline(max(_ANSWER_SECONDS, self.seconds / 4))
            transact(self._connection, self.database, [operation])
        except Conflict:
            return True
        except OvnError:
            if self._connection is not None:
                self._connection.close()
            self._connection = None
            self.hosts = [*self.hosts[1:], host]
            return False
        return True


@contextlib.contextmanager
def running(*found: Writer) -> t.Iterator[None]:
    """These writers write while the block runs: each has begun before it."""
    for writer in found:
        writer.start()
    try:
        await_acks(found)
        yield
    finally:
        for writer in found:
            writer.finish.set()
        for writer in found:
            writer.join()


def await_acks(clients: t.Iterable[Acknowledged]) -> None:
    """Wait until each client was acknowledged from now on."""
    begun = time.monotonic()
    until(lambda: all(client.acks and client.acks[-1] > begun for client in clients), "the clients to write", 60)


def pinned_writers(backend: LoopbackBackend) -> list[Writer]:
    """One for each member, which gives up soon: together they tell when the cluster takes writes."""
    return [Writer([host], backend.database, f"{host.id}-{time.monotonic_ns()}", 0.0) for host in backend.hosts]


def roaming_writers(backend: LoopbackBackend) -> list[Writer]:
    """As many that know all members, each begins with another one."""
    turns = [backend.hosts[number:] + backend.hosts[:number] for number in range(len(backend.hosts))]
    return [Writer(hosts, backend.database, f"{hosts[0].id}-{time.monotonic_ns()}", 20.0) for hosts in turns]


def longest_gap(acks: t.Sequence[float], start: float, end: float) -> float:
    """The longest time without an acknowledgement between two moments."""
    inside = sorted([start, *(ack for ack in acks if start < ack < end), end])
    return max(later - sooner for sooner, later in zip(inside, inside[1:]))


def print_answer(answer: t.Any) -> None:
    print(json.dumps(answer), flush=True)


def has_root() -> bool:
    return os.geteuid() == 0
