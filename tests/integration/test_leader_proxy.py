"""The proxy beside Neutron: the archive as its unit starts it, real databases, and the client library of Neutron (ovs.db.idl) behind it."""

from __future__ import annotations

import contextlib
import ipaddress
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import threading
import time
import typing as t

import pytest
from conftest import Daemon, RaftCluster, until, within
from ovs import poller
from ovs.db import idl
from ovs.stream import Stream
from ovsdbapp.backend.ovs_idl import idlutils

from ansible_collections.c5c3.ovn.plugins.module_utils._agent.archive import build_archive
from ansible_collections.c5c3.ovn.plugins.module_utils._base.databases import DATABASES

if t.TYPE_CHECKING:
    from _pki import TlsFiles
    from conftest import MakeCluster

SCHEMAS = pathlib.Path("/usr/share/ovn")
_REQUESTS = 1000
ATTEMPTS = 20  # _neutron/settings.py gives Neutron the address of the proxy so often


class Proxy:
    """One proxy before two clusters."""

    def __init__(self, clusters: dict[str, RaftCluster], folder: pathlib.Path, listen: str = "") -> None:
        """`listen` is the address in its settings, if it is not that of a member."""
        folder.mkdir()
        self.alive_file = folder / "alive"
        self.archive = folder / "c5c3-ovn.pyz"
        self.archive.write_bytes(build_archive())
        host = clusters["northbound"].members[0].address.split(":")[1]
        pki = clusters["northbound"].pki
        self.files: TlsFiles | None = pki.issue("neutron") if pki else None
        port = (
            10_000 + int(ipaddress.ip_address(host)) % 10_000 * 2
        )  # its own, as another test may listen on all addresses, too
        self.ports = {"northbound": (host, port), "southbound": (host, port + 1)}
        environment = {f"OVN_{name.upper()}": ",".join(clusters[name].endpoints) for name in DATABASES}
        environment |= {
            f"OVN_{name.upper()}_LISTEN": f"tcp:{listen or host}:{self.ports[name][1]}" for name in DATABASES
        }
        if listen:  # as in a pod
            environment |= {"OVN_ALIVE_FILE": str(self.alive_file), "OVN_KEEP_ARCHIVE": "true"}
        if self.files:
            environment["OVN_PRIVATE_KEY"] = self.files.private_key
            environment["OVN_CERTIFICATE"] = self.files.certificate
            environment["OVN_CA_CERTIFICATE"] = self.files.ca_certificate
        variables = [f"{name}={value}" for name, value in environment.items()]
        self.command = ["env", *variables, sys.executable, "-I", str(self.archive), "leader-proxy"]
        self.daemon = Daemon(self.command, folder / "proxy.log")
        for name in DATABASES:
            until(
                lambda name=name: f"{name}: clients are led to" in self.log or not self.daemon.running,
                f"a member of {name}",
            )
        assert self.daemon.running, self.log

    @property
    def log(self) -> str:
        return self.daemon.log.read_text()

    def replace_archive(self, content: bytes) -> None:
        """As an update does."""
        other = self.archive.with_suffix(".new")
        other.write_bytes(content)
        other.replace(self.archive)

    def remote(self, database: str) -> str:
        host, port = self.ports[database]
        return ",".join([f"{'ssl' if self.files else 'tcp'}:{host}:{port}"] * ATTEMPTS)

    def connect(self, database: str) -> socket.socket:
        return socket.create_connection(self.ports[database], timeout=10)


class Client(threading.Thread):
    """A connection of python-ovs that follows the Northbound, as Neutron's does: `leader_only`, and no probes."""

    def __init__(self, remote: str, files: TlsFiles | None) -> None:
        super().__init__(daemon=True)
        if files:
            Stream.ssl_set_private_key_file(files.private_key)
            Stream.ssl_set_certificate_file(files.certificate)
            Stream.ssl_set_ca_cert_file(files.ca_certificate)
        helper = idlutils.get_schema_helper(remote, "OVN_Northbound")
        helper.register_columns("NB_Global", ["external_ids"])
        self.idl = idl.Idl(remote, helper, probe_interval=0, leader_only=True)
        self._ended = threading.Event()
        self.sessions: list[tuple[float, bool]] = []  # since when it is connected or not

    def run(self) -> None:
        connected: bool | None = None
        while not self._ended.is_set():
            self.idl.run()
            # What is received of a member that leads, after its contents.
            now = self.idl._session.is_connected() and self.idl.state == idl.Idl.IDL_S_MONITORING
            if now != connected:
                connected = now
                self.sessions.append((time.monotonic(), now))
            wait = poller.Poller()
            self.idl.wait(wait)
            wait.timer_wait(50)
            wait.block()

    @property
    def connected(self) -> bool:
        return bool(self.sessions) and self.sessions[-1][1]

    def stop(self) -> None:
        self._ended.set()
        self.join()
        self.idl.close()


@pytest.fixture(params=["tcp", "ssl"])
def clusters(raft_cluster: MakeCluster, request: pytest.FixtureRequest) -> dict[str, RaftCluster]:
    return {database: raft_cluster(3, database, tls=request.param == "ssl") for database in DATABASES}


@pytest.fixture
def proxy(clusters: dict[str, RaftCluster], short_dir: pathlib.Path) -> t.Iterator[Proxy]:
    made = Proxy(clusters, short_dir / "proxy")
    yield made
    made.daemon.kill()


@pytest.fixture
def client(proxy: Proxy) -> t.Iterator[Client]:
    made = Client(proxy.remote("northbound"), proxy.files)
    made.start()
    until(lambda: made.connected, "the client to be connected")
    yield made
    made.stop()


def test_a_client_is_back_as_soon_as_there_is_a_leader(
    clusters: dict[str, RaftCluster], proxy: Proxy, client: Client
) -> None:
    northbound = clusters["northbound"]
    leader = northbound.leader
    leader.kill()
    until(lambda: not client.connected, "the client to notice")
    other = next(member for member in northbound.members if member is not leader)
    until(lambda: any(member.is_leader for member in northbound.members if member.running), "an election")
    elected = time.monotonic()
    until(lambda: client.connected, "the client to come back")
    # Without the proxy it tries after 0, 1, 3, 7 and 15 s, each time another member. Generous: this is no measurement.
    assert client.sessions[-1][0] - elected < within(1.0)
    assert other.running


def test_a_leader_that_no_longer_answers_is_left_when_another_one_is_elected(
    clusters: dict[str, RaftCluster], client: Client
) -> None:
    """As after a loss of power: nothing closes the connection of the client, and python-ovs would not notice."""
    northbound = clusters["northbound"]
    frozen = northbound.leader
    before = len(client.sessions)
    frozen.daemon.signal(signal.SIGSTOP)
    try:
        until(lambda: len(client.sessions) >= before + 2 and client.connected, "the client at another member")
    finally:
        frozen.daemon.signal(signal.SIGCONT)


def test_a_client_waits_for_a_leader_that_comes_late_and_for_the_next_one(
    clusters: dict[str, RaftCluster], client: Client
) -> None:
    """With TLS an attempt ends after a second (ovs/reconnect.py), and the one after it must not wait."""
    northbound = clusters["northbound"]
    for _number in range(2):
        leader = northbound.leader
        killed = [leader, next(member for member in northbound.members if member is not leader)]
        for member in killed:
            member.kill()
        until(lambda: not client.connected, "the client to notice")
        time.sleep(4)  # longer than the pauses of the client between its first attempts
        for member in killed:
            member.start(wait=False)
        until(lambda: any(member.is_leader for member in northbound.members if member.running), "an election")
        elected = time.monotonic()
        until(lambda: client.connected, "the client to come back")
        assert client.sessions[-1][0] - elected < within(2.0)


@pytest.mark.parametrize(
    "clusters", ["tcp"], indirect=True
)  # TLS is between the ends: the proxy has the same bytes to pass on
def test_a_client_that_does_not_read_for_a_while_is_not_cut_off(clusters: dict[str, RaftCluster], proxy: Proxy) -> None:
    """As one that is busy with what it has received. More than sockets hold, and less than the probe of the server takes."""
    schema = len(json.dumps(json.loads((SCHEMAS / "ovn-nb.ovsschema").read_text())))
    expected = _REQUESTS * schema // 2
    with contextlib.closing(proxy.connect("northbound")) as connection:
        for number in range(_REQUESTS):
            connection.sendall(b'{"id":%d,"method":"get_schema","params":["OVN_Northbound"]}' % number)
        time.sleep(4)  # the client is busy, and nobody reads
        connection.settimeout(10)
        received = 0
        while received < expected:
            part = connection.recv(1 << 20)
            assert part, f"cut off after {received} octets"
            received += len(part)


def test_a_handover_is_left_to_the_client(clusters: dict[str, RaftCluster], proxy: Proxy, client: Client) -> None:
    """It leaves a member that no longer leads by itself, and then comes again at once."""
    leader = clusters["northbound"].leader
    leader.stop()
    until(lambda: len(client.sessions) >= 3 and client.connected, "the client at the next leader")
    gone, back = client.sessions[-2][0], client.sessions[-1][0]
    assert back - gone < within(1.0)


def test_client_that_connects_without_a_leader_waits_for_one(clusters: dict[str, RaftCluster], proxy: Proxy) -> None:
    northbound = clusters["northbound"]
    first, second, third = northbound.members
    before = proxy.log.count("northbound: no member leads")  # an election may have written it
    for member in (first, second):
        member.kill()
    until(lambda: proxy.log.count("northbound: no member leads") > before, "the loss of the majority")
    with contextlib.closing(proxy.connect("northbound")) as waiting:
        waiting.sendall(b'{"id":1,"method":"echo","params":["still here"]}' if not proxy.files else b"")
        waiting.settimeout(0.5)
        with pytest.raises(TimeoutError):
            waiting.recv(1)
        first.start()
        until(lambda: "clients are led to" in proxy.log.rpartition("northbound: no member leads")[2], "a leader")
        if not proxy.files:
            waiting.settimeout(10)
            assert b"still here" in waiting.recv(4096)
    assert third.running


def test_the_southbound_takes_any_member_and_stays_with_it(clusters: dict[str, RaftCluster], proxy: Proxy) -> None:
    southbound = clusters["southbound"]
    chosen = next(
        member for member in southbound.members if f"southbound: clients are led to {member.endpoint}" in proxy.log
    )
    other = next(member for member in southbound.members if member is not chosen)
    with contextlib.closing(proxy.connect("southbound")) as connection:
        other.stop()
        until(lambda: any(member.is_leader for member in southbound.members if member.running), "a leader")
        connection.settimeout(1)
        with pytest.raises(TimeoutError):  # nobody closes it
            connection.recv(1)
        chosen.kill()
        connection.settimeout(10)
        assert connection.recv(1) == b""


def test_an_address_that_is_taken_is_named(
    clusters: dict[str, RaftCluster], proxy: Proxy, short_dir: pathlib.Path
) -> None:
    host, port = proxy.ports["northbound"]
    archive = short_dir / "proxy" / "c5c3-ovn.pyz"
    environment = [
        *(f"OVN_{name.upper()}={','.join(clusters[name].endpoints)}" for name in DATABASES),
        f"OVN_NORTHBOUND_LISTEN=tcp:{host}:{port}",
        f"OVN_SOUTHBOUND_LISTEN=tcp:{host}:{port + 10}",
    ]
    second = Daemon(["env", *environment, sys.executable, "-I", str(archive), "leader-proxy"], short_dir / "second.log")
    until(lambda: not second.running, "the second one to end")
    assert (
        f"northbound: cannot listen on tcp:{host}:{port}: address already in use. Use another address or port."
        in second.log.read_text()
    )


@pytest.mark.parametrize("clusters", ["tcp"], indirect=True)
def test_in_a_pod_it_listens_on_both_families_and_tells_that_it_is_alive(
    clusters: dict[str, RaftCluster], short_dir: pathlib.Path
) -> None:
    proxy = Proxy(clusters, short_dir / "pod", listen="[::]")
    try:
        until(proxy.alive_file.exists, "the file that says that it is alive")
        assert subprocess.run([*proxy.command, "--alive"], check=False).returncode == 0
        for host in ("127.0.0.1", "::1"):
            with socket.create_connection((host, proxy.ports["northbound"][1]), timeout=10) as connection:
                connection.sendall(json.dumps({"method": "list_dbs", "params": [], "id": 0}).encode())
                assert b"OVN_Northbound" in connection.recv(1000)
        proxy.daemon.signal(signal.SIGSTOP)
        os.utime(proxy.alive_file, (0, 0))
        assert subprocess.run([*proxy.command, "--alive"], check=False).returncode == 1
    finally:
        proxy.daemon.kill()
    proxy.alive_file.unlink()
    assert subprocess.run([*proxy.command, "--alive"], check=False).returncode == 1


@pytest.mark.parametrize("clusters", ["ssl"], indirect=True)  # whose code is imported by whoever connects
def test_in_a_pod_it_stays_as_it_is_when_the_archive_is_replaced(
    clusters: dict[str, RaftCluster], short_dir: pathlib.Path
) -> None:
    """On all nodes at about the same time: the next pod of each runs the other one."""
    proxy = Proxy(clusters, short_dir / "pod", listen="[::]")
    northbound = clusters["northbound"]
    try:
        proxy.replace_archive(b"of another version")
        with contextlib.closing(proxy.connect("southbound")) as held:
            held.settimeout(8)  # longer than the proxy of a machine takes to see it
            with pytest.raises(TimeoutError):
                held.recv(1)
        killed = northbound.leader
        killed.kill()
        until(lambda: proxy.log.count("northbound: clients are led to") > 1, "the next leader")
        killed.start()
        until(lambda: f"northbound on {killed.endpoint}: works again" in proxy.log, "the member to be back")
        assert "may not trust our certificate" not in proxy.log
        assert proxy.daemon.running
    finally:
        proxy.daemon.kill()


@pytest.mark.parametrize("clusters", ["tcp"], indirect=True)
def test_on_a_machine_it_goes_on_with_the_next_archive(clusters: dict[str, RaftCluster], proxy: Proxy) -> None:
    proxy.replace_archive(build_archive())
    for name in DATABASES:
        until(lambda name=name: proxy.log.count(f"{name}: clients are led to") > 1, f"the next process at {name}")
    assert proxy.daemon.running
