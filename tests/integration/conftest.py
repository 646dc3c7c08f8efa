"""Fixtures for tests against real daemons on loopback: Raft clusters, a small PKI, and modules run as Ansible runs them.

Every cluster gets loopback addresses of its own (127.A.B.N from the process id), so test runs never meet, and all daemons
end with the test: each one is a child of the test process and is also killed when that process dies.
"""

from __future__ import annotations

import contextlib
import dataclasses
import ipaddress
import itertools
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import typing as t
import zlib

import _playbooks
import pytest
from _pki import Pki, TlsPaths
from _processor_time import ProcessorTime
from _waits import until, within

if t.TYPE_CHECKING:
    from _apiserver import ApiServer
    from _apt_world import AptWorld, Play
    from _hypervisors import Hypervisors

SCHEMAS = {"northbound": "ovn-nb.ovsschema", "southbound": "ovn-sb.ovsschema"}
DATABASES = {"northbound": "OVN_Northbound", "southbound": "OVN_Southbound"}
MODULES = "ansible_collections.c5c3.ovn.plugins.modules"
PORTS = {"northbound": (6641, 6643), "southbound": (6642, 6644)}

_FIRST_ADDRESS = ipaddress.IPv4Address("127.1.0.0")
_ADDRESSES_OF_A_RUN = 1000
_numbers = itertools.count(1)


def next_address() -> str:
    """A loopback address that no other test run uses."""
    number = next(_numbers)
    assert number < _ADDRESSES_OF_A_RUN, "more addresses than a run has"
    return str(_FIRST_ADDRESS + os.getpid() % 16_000 * _ADDRESSES_OF_A_RUN + number)


# Files whose tests take minutes each. They begin first, or a run would end with one worker that still works on them.
_LONGEST = ["sandbox", "mixed", "ping_role", "machines", "adoption_machines", "pki", "tags"]


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(ProcessorTime())
    config.addinivalue_line(
        "markers", "api_server: needs kube-apiserver and etcd (set for each test that asks for the fixture)"
    )
    config.addinivalue_line("markers", "docker: starts a Docker engine of its own")
    config.addinivalue_line("markers", "own_machines: boots machines of its own, which takes minutes")
    config.addinivalue_line("markers", "rotations: replaces CAs again and again, for minutes of processor time")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--turn", type=int, choices=(0, 1), help="run about half of the files, chosen by their names: .ci/parts.py"
    )


@pytest.hookimpl(tryfirst=True)  # before -m selects
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    turn = config.getoption("--turn")
    if turn is not None:
        halves: tuple[list[pytest.Item], list[pytest.Item]] = ([], [])
        for item in items:
            halves[zlib.adler32(item.path.name.encode()) % 2].append(item)
        config.hook.pytest_deselected(items=halves[1 - turn])
        items[:] = halves[turn]
    items.sort(key=lambda item: item.path.stem.removeprefix("test_") not in _LONGEST)
    for item in items:
        if "api_server" in getattr(item, "fixturenames", ()):
            item.add_marker("api_server")


@pytest.fixture(scope="session")
def daemons() -> None:
    """Ask for this (or for a fixture that does) in every test that starts OVSDB daemons."""
    missing = [name for name in ("ovsdb-server", "ovsdb-tool", "ovsdb-client", "setpriv") if shutil.which(name) is None]
    missing += [path for path in (f"/usr/share/ovn/{name}" for name in SCHEMAS.values()) if not os.path.exists(path)]
    if missing:
        sys.__stderr__.write(
            f"\nNOT TESTED against real daemons: {', '.join(missing)} missing (Debian: apt-get install ovn-central)\n"
        )
        pytest.skip(f"NOT TESTED against real daemons: {', '.join(missing)} missing")


@pytest.fixture
def short_dir() -> t.Iterator[pathlib.Path]:
    """A folder whose name is short enough for unix sockets (108 characters with the file)."""
    with tempfile.TemporaryDirectory(prefix="c5c3-", dir="/tmp", ignore_cleanup_errors=True) as name:
        yield pathlib.Path(name)


# --- PKI --------------------------------------------------------------------------------------------------------------


@pytest.fixture
def make_pki(short_dir: pathlib.Path) -> t.Callable[[str], Pki]:
    """`make_pki("name")`: a certificate authority of its own."""
    return lambda name="ca": Pki(short_dir / f"pki-{name}", name)


@pytest.fixture
def pki(make_pki: t.Callable[[str], Pki]) -> Pki:
    return make_pki("ca")


# --- daemons ----------------------------------------------------------------------------------------------------------


class Daemon:
    """One child process that ends with the test, at the latest with the test process."""

    def __init__(self, arguments: t.Sequence[str], log: pathlib.Path) -> None:
        self.log = log
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", *arguments],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def running(self) -> bool:
        return self._process.poll() is None

    def signal(self, number: int) -> None:
        if self.running:
            self._process.send_signal(number)

    def kill(self) -> None:
        self.signal(signal.SIGCONT)
        self.signal(signal.SIGKILL)
        self._process.wait(10)

    def wait(self, timeout: float = 20) -> int:
        return self._process.wait(within(timeout))


def run(*command: str, timeout: float = 30) -> str:
    """The output of a command that has to succeed."""
    result = subprocess.run(command, capture_output=True, text=True, timeout=within(timeout), check=False)
    if result.returncode:
        pytest.fail(f"{' '.join(command)} returned {result.returncode}: {result.stdout}{result.stderr}")
    return result.stdout


def listens(path: pathlib.Path | str) -> bool:
    """Whether somebody takes connections at this Unix socket: its file is there a moment before."""
    with socket.socket(socket.AF_UNIX) as probe:
        return probe.connect_ex(str(path)) == 0


def start_tls_server(
    file: pathlib.Path, schema: str, tls: t.Sequence[str], address: str, port: int, *remotes: str
) -> Daemon:
    """Start an ovsdb-server and wait for its control socket; a database that is missing is created from the schema.

    `tls`: key, certificate, trusted CAs. `remotes`: where it listens besides.
    """
    if not file.exists():
        run("ovsdb-tool", "create", str(file), schema)
    control = file.with_suffix(".ctl")
    words = [word for pair in zip(("-p", "-c", "-C"), tls) for word in pair]
    command = ["ovsdb-server", "-vconsole:off", "--no-chdir", f"--unixctl={control}", *words]
    listening = [f"--remote={remote}" for remote in (f"pssl:{port}:{address}", *remotes)]
    daemon = Daemon([*command, *listening, str(file)], file.with_suffix(".log"))
    try:
        until(lambda: listens(control), f"the server {file.stem}")
    except BaseException:
        daemon.kill()
        raise
    return daemon


@dataclasses.dataclass
class Member:
    """One ovsdb-server of a cluster. `endpoint` is what clients use, `address` is the Raft address."""

    name: str
    database: str  # northbound | southbound
    directory: pathlib.Path
    address: str
    endpoint: str
    tls: TlsPaths | None = None
    schema: str | None = None  # another schema file than the database's own
    daemon: Daemon | None = None

    @property
    def schema_name(self) -> str:
        return DATABASES[self.database]

    @property
    def file(self) -> pathlib.Path:
        return self.directory / "db"

    @property
    def control_socket(self) -> str:
        return str(self.directory / "db.ctl")

    @property
    def socket(self) -> str:
        return f"unix:{self.directory / 'db.sock'}"

    @property
    def pid(self) -> int:
        assert self.daemon is not None, f"{self.name} was never started"
        return self.daemon.pid

    @property
    def server_id(self) -> str:
        return run("ovsdb-tool", "db-sid", str(self.file)).strip()

    @property
    def cluster_id(self) -> str:
        return run("ovsdb-tool", "db-cid", str(self.file)).strip()

    def create(self, election_timer: int = 1000) -> None:
        schema = self.schema or f"/usr/share/ovn/{SCHEMAS[self.database]}"
        run("ovsdb-tool", f"--election-timer={election_timer}", "create-cluster", str(self.file), schema, self.address)

    def join(self, remotes: t.Sequence[str], cluster_id: str | None = None, name: str | None = None) -> None:
        cid = [f"--cid={cluster_id}"] if cluster_id else []
        run("ovsdb-tool", *cid, "join-cluster", str(self.file), name or self.schema_name, self.address, *remotes)

    def start(self, wait: bool = True, options: t.Sequence[str] = ()) -> None:
        """Start the process; `wait`: until it is connected to its cluster."""
        for leftover in (pathlib.Path(self.control_socket), self.directory / "db.sock"):
            leftover.unlink(missing_ok=True)
        scheme, host, port = self.endpoint.split(":")
        tls = self.tls and ["-p", self.tls.private_key, "-c", self.tls.certificate, "-C", self.tls.ca_certificate]
        self.daemon = Daemon(
            [
                "ovsdb-server",
                "-vconsole:off",
                "-vfile:info",
                "--no-chdir",
                f"--log-file={self.directory / 'db.log'}",
                f"--unixctl={self.control_socket}",
                f"--remote=p{self.socket}",
                f"--remote=p{scheme}:{port}:{host}",
                *(tls or []),
                *options,
                str(self.file),
            ],
            self.directory / "db.out",
        )
        sockets = self.directory / "db.sock", self.control_socket
        until(lambda: not self.running or all(listens(path) for path in sockets), f"the sockets of {self.name}")
        if not self.running:
            pytest.fail(f"{self.name} did not start: {(self.directory / 'db.log').read_text()[-2000:]}")
        if wait:
            run("ovsdb-client", "-t", "30", "wait", self.socket, self.schema_name, "connected", timeout=40)

    @property
    def running(self) -> bool:
        return self.daemon is not None and self.daemon.running

    def appctl(self, *command: str) -> str:
        return run("ovs-appctl", "-T", "10", "-t", self.control_socket, *command)

    def status(self) -> str:
        """The text of cluster/status."""
        return self.appctl("cluster/status", self.schema_name)

    @property
    def log_next(self) -> int:
        """Index of the next Raft entry: it moves with every write, whoever made it."""
        found = re.search(r"^Log: \[\d+, (\d+)\]$", self.status(), re.MULTILINE)
        assert found is not None, self.status()
        return int(found[1])

    @property
    def has_applied_all(self) -> bool:
        """Whether everything in its log is committed, as far as it knows, and visible to its clients."""
        status = self.status()
        return all(f"Entries not yet {what}: 0\n" in status for what in ("committed", "applied"))

    @property
    def is_leader(self) -> bool:
        return self.running and "\nRole: leader\n" in self.status()

    def stop(self) -> None:
        """Orderly end: leadership moves away first."""
        if self.daemon is not None and self.running:
            self.appctl("exit")
            self.daemon.wait()

    def kill(self) -> None:
        if self.daemon is not None:
            self.daemon.kill()

    def freeze(self) -> None:
        """SIGSTOP: its sockets still accept, nobody answers."""
        assert self.daemon is not None
        self.daemon.signal(signal.SIGSTOP)

    def thaw(self) -> None:
        assert self.daemon is not None
        self.daemon.signal(signal.SIGCONT)

    def wipe(self) -> None:
        """Lose the volume: the process is killed, the file is gone, the address stays."""
        self.kill()
        for path in self.directory.glob("db*"):
            if path.suffix != ".log":
                path.unlink()
        for lock in self.directory.glob(".db*"):
            lock.unlink()


@dataclasses.dataclass
class RaftCluster:
    """The members in the order in which they joined; `members[0]` created the cluster."""

    database: str
    directory: pathlib.Path
    pki: Pki | None
    scheme: str
    members: list[Member] = dataclasses.field(default_factory=list)

    def new_member(self, **changes: t.Any) -> Member:
        """One more member with its own folder and address, neither created nor joined nor started."""
        name = f"m{len(self.members) + 1}"
        host = next_address()
        client_port, raft_port = PORTS[self.database]
        directory = self.directory / name
        directory.mkdir(parents=True)
        tls = self.pki.issue(f"{name}-{self.directory.name}", addresses=[host]) if self.pki else None
        defaults = {"address": f"{self.scheme}:{host}:{raft_port}", "endpoint": f"{self.scheme}:{host}:{client_port}"}
        member = Member(name, self.database, directory, tls=tls, **{**defaults, **changes})
        self.members.append(member)
        return member

    def add(self, wait: bool = True, **changes: t.Any) -> Member:
        """One more member that joins through all others."""
        remotes = [member.address for member in self.members]
        member = self.new_member(**changes)
        member.join(remotes, self.members[0].cluster_id)
        member.start(wait)
        return member

    @property
    def schema_name(self) -> str:
        return DATABASES[self.database]

    @property
    def cluster_id(self) -> str:
        return self.members[0].cluster_id

    @property
    def control_sockets(self) -> list[str]:
        return [member.control_socket for member in self.members]

    @property
    def sockets(self) -> list[str]:
        """unix: endpoints."""
        return [member.socket for member in self.members]

    @property
    def endpoints(self) -> list[str]:
        return [member.endpoint for member in self.members]

    @property
    def leader(self) -> Member:
        return t.cast(Member, until(lambda: next((m for m in self.members if m.is_leader), None), "a leader"))

    @property
    def followers(self) -> list[Member]:
        leader = self.leader
        return [member for member in self.members if member is not leader]

    def await_same_log(self) -> None:
        """Wait until all members that run have the same log and have applied it: a follower may lag behind a write that was acknowledged."""
        running = [member for member in self.members if member.running]
        until(
            lambda: len({member.log_next for member in running}) == 1 and all(m.has_applied_all for m in running),
            f"{', '.join(member.name for member in running)} to have applied the same log",
        )

    def kill_all(self) -> None:
        for member in self.members:
            member.kill()


class MakeCluster(t.Protocol):
    def __call__(
        self, n: int = 3, database: str = "northbound", *, tls: Pki | bool = False, election_timer: int = 1000
    ) -> RaftCluster: ...


@pytest.fixture
def raft_cluster(daemons: None, short_dir: pathlib.Path, request: pytest.FixtureRequest) -> t.Iterator[MakeCluster]:
    """`raft_cluster(3, "southbound", tls=True)`: a running cluster; `n=0` makes none of its members yet.

    `tls=True` uses the fixture `pki`, or give a `Pki`. Several clusters in one test are fine.
    """
    clusters: list[RaftCluster] = []

    def make(
        n: int = 3, database: str = "northbound", *, tls: Pki | bool = False, election_timer: int = 1000
    ) -> RaftCluster:
        authority = request.getfixturevalue("pki") if tls is True else tls or None
        directory = short_dir / f"{'nb' if database == 'northbound' else 'sb'}{len(clusters)}"
        cluster = RaftCluster(database, directory, authority, "ssl" if authority else "tcp")
        clusters.append(cluster)
        for index in range(n):
            if index:
                cluster.add()
            else:
                first = cluster.new_member()
                first.create(election_timer)
                first.start()
        return cluster

    with contextlib.ExitStack() as stack:
        stack.callback(lambda: [cluster.kill_all() for cluster in clusters])
        yield make


# --- modules and playbooks --------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def collection_path() -> t.Iterator[str]:
    """A folder with `ansible_collections/c5c3/ovn` = this checkout, wherever it lies."""
    root = pathlib.Path(__file__).resolve().parents[2]
    with tempfile.TemporaryDirectory(prefix="c5c3-collections-") as name:
        parent = pathlib.Path(name, "ansible_collections", "c5c3")
        parent.mkdir(parents=True)
        (parent / "ovn").symlink_to(root)
        yield name


@dataclasses.dataclass(frozen=True)
class Ran:
    """A module's JSON result with the time that the process took."""

    result: dict[str, t.Any]
    seconds: float
    stderr: str

    def __getitem__(self, key: str) -> t.Any:
        return self.result[key]

    def get(self, key: str, default: t.Any = None) -> t.Any:
        return self.result.get(key, default)

    @property
    def failed(self) -> bool:
        return bool(self.result.get("failed", False))

    @property
    def warnings(self) -> list[str]:
        """From ansible-core 2.19 on they are objects. Those of earlier calls in this process are among them."""
        return [one if isinstance(one, str) else one["event"]["msg"] for one in self.get("warnings", [])]


class RunModule(t.Protocol):
    def __call__(
        self,
        name: str,
        args: dict[str, t.Any],
        check: bool = False,
        diff: bool = False,
        *,
        timeout: float = 60,
        may_fail: bool = False,
        prefix: t.Sequence[str] = (),
    ) -> Ran: ...


@pytest.fixture
def run_module(collection_path: str) -> RunModule:
    """`run_module("ovn_raft_status", {...})`: the module in a process of its own with its arguments on standard input.

    The test fails when the module fails, unless `may_fail`; a traceback or anything else than one JSON result fails it always.
    `prefix` is a command that starts it, for example in a network namespace.
    """

    def execute(
        name: str,
        args: dict[str, t.Any],
        check: bool = False,
        diff: bool = False,
        *,
        timeout: float = 60,
        may_fail: bool = False,
        prefix: t.Sequence[str] = (),
    ) -> Ran:
        arguments = {
            **args,
            "_ansible_check_mode": check,
            "_ansible_diff": diff,
            "_ansible_remote_tmp": tempfile.gettempdir(),
        }
        started = time.monotonic()
        process = subprocess.run(
            [*prefix, sys.executable, "-m", f"{MODULES}.{name}"],
            input=json.dumps({"ANSIBLE_MODULE_ARGS": arguments}),
            capture_output=True,
            text=True,
            timeout=within(timeout),
            check=False,
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join([collection_path, *filter(None, [os.environ.get("PYTHONPATH")])]),
            },
        )
        seconds = time.monotonic() - started
        try:
            result = json.loads(process.stdout)
        except ValueError:
            pytest.fail(f"{name} printed no JSON result: {process.stdout[-3000:]}{process.stderr[-3000:]}")
        ran = Ran(result, seconds, process.stderr)
        if "Traceback" in process.stderr or "exception" in result:
            pytest.fail(f"{name} had a traceback: {result.get('exception')}{process.stderr[-3000:]}")
        if result.get("deprecations"):  # users would see them in every run
            pytest.fail(f"{name} uses what Ansible will remove: {result['deprecations']}")
        if ran.failed and not may_fail:
            pytest.fail(f"{name} failed: {result.get('msg')}")
        return ran

    return execute


class RunPlaybook(t.Protocol):
    def __call__(
        self, plays: list[dict[str, t.Any]], *arguments: str, inventory: str = "localhost,", timeout: float = 180
    ) -> str: ...


@pytest.fixture
def run_playbook(collection_path: str, short_dir: pathlib.Path) -> RunPlaybook:
    """`run_playbook([{hosts: ..., tasks: [...]}], "--check")`: what ansible-playbook prints; the test fails when it fails."""

    def execute(
        plays: list[dict[str, t.Any]], *arguments: str, inventory: str = "localhost,", timeout: float = 180
    ) -> str:
        playbook = short_dir / "playbook.yml"
        playbook.write_text(json.dumps(plays))
        scratch = short_dir / "tmp"
        env = _playbooks.environment(scratch, collection_path, ANSIBLE_REMOTE_TEMP=str(scratch))
        process = _playbooks.run(["-i", inventory, *arguments, str(playbook)], env, timeout=timeout)
        if process.returncode:
            pytest.fail(f"ansible-playbook returned {process.returncode}:\n{process.stdout}{process.stderr}")
        return process.stdout

    return execute


# --- Kubernetes -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def api_server() -> t.Iterator[ApiServer]:
    """A real API server for all tests of a run: each takes a namespace of its own. Who freezes it thaws it."""
    from _apiserver import running_server

    with running_server() as server:
        yield server


_last_namespace = itertools.count(1)


@pytest.fixture
def namespace(api_server: ApiServer) -> str:
    """A namespace of the API server that no other test uses."""
    return api_server.new_namespace(f"test-{os.getpid()}-{next(_last_namespace)}")


@pytest.fixture
def hypervisors(api_server: ApiServer, namespace: str, run_module: RunModule) -> t.Iterator[Hypervisors]:
    """A cluster whose nodes nobody runs, and ovn_hypervisors for it."""
    from _hypervisors import hypervisor_cluster

    with hypervisor_cluster(api_server, namespace, run_module) as made:
        yield made


# --- packages ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def world(short_dir: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> AptWorld:
    """A world of its own for dpkg and apt, in which the modules of the test run."""
    from _apt_world import AptWorld

    missing = [name for name in ("apt-get", "apt-cache", "dpkg-deb", "dpkg-query", "gpg") if shutil.which(name) is None]
    if missing or os.geteuid() != 0:
        reason = f"packages need root and {', '.join(missing) or 'apt'}"
        sys.__stderr__.write(f"\nNOT TESTED with real packages: {reason}\n")
        pytest.skip(f"NOT TESTED with real packages: {reason}")
    world = AptWorld(short_dir / "world")
    for name, value in world.environment.items():
        monkeypatch.setenv(name, value)
    return world


@pytest.fixture
def play(world: AptWorld, collection_path: str) -> Play:
    """`play("--check", ovn_packages_hold=True)`: the role ovn_packages in that world."""
    from _apt_world import Play

    return Play(world, collection_path)
