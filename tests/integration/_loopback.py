"""Real database servers as central hosts have them: launcher, settings file, copy of the record, and a supervisor in systemd's place.

The observations and the acts are the product's (`HostMember`), so is the planner; only systemctl and SSH are replaced.
"""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import typing as t
from pathlib import Path

from _launcher_lib import SCRIPT, delete_folder, free_network, until
from _waits import within

from ansible_collections.c5c3.ovn.plugins.module_utils._base.databases import DATABASE_NAMES, STEMS
from ansible_collections.c5c3.ovn.plugins.module_utils._base.deadline import Deadline
from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import Changed, OvnError, Unreachable
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.host import HostMember
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.observation import Observation
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.record import Record, render_files
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.record_dir import write_files
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.rounds import RoundProgress, converge, next_round
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.step import Round, Run, Step

CLIENT_PORTS = {"northbound": 6641, "southbound": 6642}
RAFT_PORTS = {"northbound": 6643, "southbound": 6644}
_RESTART_SECONDS = 1.0  # RestartSec of the unit
_NOT_RESTARTED = (0, 10, 11, 12)  # RestartPreventExitStatus of the unit, and success


class Tls(t.NamedTuple):
    """PEM files of one member."""

    private_key: str
    certificate: str
    ca_certificate: str


class RunKilled(Exception):
    """This run was told to die here."""


class LoopbackHost:
    """One central host with the member of one database. `enter` is the command that starts a process in the host's network."""

    def __init__(
        self, root: Path, number: int, database: str, host: str, *, enter: t.Sequence[str] = (), tls: Tls | None = None
    ) -> None:
        self.id, self.database, self.enter, self.tls = f"central{number}", database, list(enter), tls
        self.root, self.host = root / self.id, host
        scheme = "ssl" if tls else "tcp"
        self.address = f"{scheme}:{host}:{RAFT_PORTS[database]}"
        self.endpoint = f"{scheme}:{host}:{CLIENT_PORTS[database]}"
        self.record, self.data, self.run_dir = self.root / "etc" / database, self.root / "data", self.root / "run"
        self.file, self.log = self.data / f"{STEMS[database]}.db", self.root / "server.log"
        for directory in (self.record.parent, self.data):
            directory.mkdir(parents=True)
        self.environment_file = self.root / "etc" / f"{database}.env"
        self.launcher = str(root / "ovn-raft-launcher")
        self.is_on = True
        self.process: subprocess.Popen[bytes] | None = None
        self._ended: float | None = None  # when the unit failed; it is started again a second later
        self._unit_lock = threading.RLock()
        self.member = HostMember(
            database=database,
            member=self.id,
            record=str(self.record),
            environment_file=str(self.environment_file),
            launcher=self.launcher,
            unit=f"c5c3-ovn-{database}.service",
            run=self._run,
        )

    def configure(self, peers: t.Sequence[LoopbackHost], **settings: str) -> None:
        """Write the launcher's settings."""
        scheme, listen = ("pssl" if self.tls else "ptcp"), CLIENT_PORTS[self.database]
        environment = {
            "OVN_DATABASE": self.database,
            "OVN_MEMBER": self.id,
            "OVN_RECORD_DIR": str(self.record),
            "OVN_DB_FILE": str(self.file),
            "OVN_RUN_DIR": str(self.run_dir),
            "OVN_STATE_DIR": str(self.root / "state"),
            "OVN_LOG_FILE": str(self.log),
            "OVN_LOCAL_ADDRESS": self.address,
            "OVN_CLIENT_ENDPOINTS": ",".join(peer.endpoint for peer in peers if peer is not self),
            "OVN_EXTRA_OPTIONS": f"--remote={scheme}:{listen}:{self.host}",
            "OVN_REVISION": "1",
        }
        if self.tls:
            names = ("OVN_PRIVATE_KEY", "OVN_CERTIFICATE", "OVN_CA_CERTIFICATE")
            environment.update(zip(names, self.tls))
        lines = [f"{key}={value}\n" for key, value in (environment | settings).items()]
        self.environment_file.write_text("".join(lines))

    # In systemd's place --------------------------------------------------------------------------------------------
    def _run(self, command: list[str], environment: dict[str, str]) -> tuple[int, str, str]:
        if not self.is_on:
            raise Unreachable(f"{self.id} is not reachable: it is switched off.")
        if command[0] == "systemctl":
            return self._systemctl(command[1]), "", ""
        done = subprocess.run(
            [*self.enter, *command],
            env=os.environ | environment,
            check=False,
            capture_output=True,
            text=True,
            timeout=within(60),
        )
        return done.returncode, done.stdout, done.stderr

    def _systemctl(self, verb: str) -> int:
        if verb == "is-active":
            return 0 if self.process is not None and self.process.poll() is None else 3
        if verb in ("stop", "restart"):
            self.stop()
        if verb in ("start", "restart"):
            self.start()
        return 0

    def start(self) -> None:
        """As the unit: skipped without an error if the launcher does not allow a start."""
        with self._unit_lock:
            if not self.is_on or (self.process is not None and self.process.poll() is None):
                return
            environment, self._ended = os.environ | self.member.environment(), None
            with (self.root / "launcher.log").open("ab") as log:
                check = subprocess.run(
                    [*self.enter, self.launcher, "check"],
                    env=environment,
                    check=False,
                    timeout=within(60),
                    stderr=log,
                    stdout=log,
                )
                if check.returncode == 0:
                    command = [*self.enter, "setpriv", "--pdeathsig", "KILL", self.launcher, "run"]
                    self.process = subprocess.Popen(
                        command, env=environment, stdout=log, stderr=log, start_new_session=True
                    )

    def stop(self) -> None:
        """As the unit: the server hands over and ends, then the launcher; SIGKILL after a minute."""
        with self._unit_lock:
            self._ended = None
            process, self.process = self.process, None
        if process is None:
            return
        with contextlib.suppress(subprocess.TimeoutExpired):
            subprocess.run(
                [self.launcher, "stop"],
                env=os.environ | self.member.environment(),
                check=False,
                capture_output=True,
                timeout=within(60),
            )
        process.terminate()
        try:
            process.wait(timeout=within(10))
        except subprocess.TimeoutExpired:
            self._kill(process)

    def supervise(self) -> None:
        """Start the unit again if it failed a second ago."""
        with self._unit_lock:
            if not self.is_on or self.process is None or self.process.poll() is None:
                return
            if self.process.returncode in _NOT_RESTARTED:
                self.process = None
            elif self._ended is None:
                self._ended = time.monotonic()
            elif time.monotonic() - self._ended >= _RESTART_SECONDS:
                self.process = None
                self.start()

    # What happens to hosts -----------------------------------------------------------------------------------------
    def power_off(self) -> None:
        """No process of this host does anything any more; the disk keeps what it has."""
        with self._unit_lock:
            self.is_on = False
            process, self.process = self.process, None
        self._kill(process)

    def power_on(self) -> None:
        self.is_on = True
        self.start()

    def _kill(self, process: subprocess.Popen[bytes] | None) -> None:
        if process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(
                    process.pid, signal.SIGKILL
                )  # and what it runs in the background, which might still write a witness
            process.wait(timeout=within(10))
        pid = self.server_pid()
        if pid is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            until(lambda: self.server_pid() is None, f"the server of {self.id} killed")

    def signal_server(self, number: signal.Signals) -> bool:
        """Whether there was a server to signal."""
        pid = self.server_pid()
        with contextlib.suppress(ProcessLookupError):
            if pid is not None:
                os.kill(pid, number)
                return True
        return False

    def lose_disk(self) -> None:
        """An empty file system instead of the old one; only while the host is off."""
        shutil.rmtree(self.data)
        self.data.mkdir()

    def server_pid(self) -> int | None:
        try:
            pid = int((self.run_dir / f"{STEMS[self.database]}.pid").read_text())
            arguments = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        except (OSError, ValueError):
            return None
        return pid if os.fsencode(self.file) in arguments else None

    @property
    def socket(self) -> str:
        return f"unix:{self.run_dir / STEMS[self.database]}.sock"

    @property
    def control_socket(self) -> str:
        return str(self.run_dir / f"{STEMS[self.database]}.ctl")

    @property
    def connected(self) -> bool:
        server = self.member.ask(2).server
        return bool(server and server.connected)

    @property
    def leads(self) -> bool:
        server = self.member.ask(2).server
        return bool(server and server.leader and server.connected)


class LoopbackBackend:
    """The hosts of one database, their supervisor and the product's loop over them."""

    def __init__(
        self,
        database: str = "northbound",
        size: int = 3,
        *,
        election_timer: int = 1000,
        directory: Path | None = None,
        hosts: t.Sequence[str] = (),
        enter: t.Sequence[t.Sequence[str]] = (),
        tls: t.Callable[[str], Tls] | None = None,
        host_class: type[LoopbackHost] | None = None,
    ) -> None:
        # Not pytest's directory: the path of a unix socket has to stay below 108 bytes.
        self.root = Path(tempfile.mkdtemp(prefix="ovn-loopback-", dir=directory))
        self.database, self.election_timer, self.step_seconds = database, election_timer, 30.0
        self.steps: list[str] = []
        self.acts: list[Step] = []  # of the last run, without waits
        self._acquired, self._acts_left = False, t.cast("int | None", None)
        launcher = self.root / "ovn-raft-launcher"
        launcher.write_text(SCRIPT)
        launcher.chmod(0o755)
        network = free_network() if not hosts else ""
        addresses = hosts or [f"{network}.{number}" for number in range(1, size + 1)]
        self.hosts = [
            (host_class or LoopbackHost)(
                self.root,
                number,
                database,
                address,
                enter=enter[number - 1] if enter else (),
                tls=tls(address) if tls else None,
            )
            for number, address in enumerate(addresses, 1)
        ]
        for host in self.hosts:
            host.configure(self.hosts)
        self._closing = threading.Event()
        self._supervisor = threading.Thread(target=self._supervise, daemon=True)
        self._supervisor.start()

    def __enter__(self) -> LoopbackBackend:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self, *, keep_files: bool = False) -> None:
        self._closing.set()
        self._supervisor.join()
        for host in self.hosts:
            host.power_off()
        if not keep_files:
            delete_folder(self.root)

    def _supervise(self) -> None:
        while not self._closing.wait(0.2):
            for host in self.hosts:
                host.supervise()

    # One run -------------------------------------------------------------------------------------------------------
    def run(self, *, dies_before: int | None = None, **options: t.Any) -> list[str]:
        """One run of the product's loop; return the reasons of its steps. Refused or timed out: `OvnError`.

        `dies_before`: the run is killed before its so many-th act (lock, record, step); the rest is for the next run.
        """
        self.steps, self.acts, self._acquired, self._acts_left = [], [], False, dies_before
        with contextlib.suppress(RunKilled):
            converge(self, self._description(**options))
        return self.steps

    def _description(self, **options: t.Any) -> Run:
        return Run(
            database=self.database,
            declared={host.id: host.address for host in self.hosts},
            name=f"run {random.randrange(1_000_000)}",
            time=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            **{"wait_timeout": 40.0, **options},
        )

    def _act(self) -> None:
        if self._acts_left is not None:
            if not self._acts_left:
                raise RunKilled
            self._acts_left -= 1

    # The product's protocol `RaftBackend` --------------------------------------------------------------------------
    def observe(self) -> dict[str, Observation]:
        """What the reachable hosts say; a host that cannot be examined is missing."""
        observations = dict[str, Observation]()
        for host in self.hosts:
            with contextlib.suppress(OvnError):
                if host.is_on:
                    observations[host.id] = host.member.observe()
        return observations

    def acquire(self, decided: Round) -> bool:
        self._act()
        first, self._acquired = not self._acquired, True
        return first

    def able_to_start(self) -> t.Collection[str]:
        return [host.id for host in self.hosts]

    def write_record(self, record: Record, step: Step | None) -> None:
        self._act()
        for host in self.hosts:
            if host.is_on:
                write_files(str(host.record), render_files(record, self.election_timer), record.revision)

    def execute(self, step: Step, record: Record) -> None:
        self._act()
        hosts = [host for host in self.hosts if host.id in step.members]
        for host in hosts:
            if not host.is_on:
                raise Unreachable(f"{host.id} is not reachable: it is switched off.")
            expected = step.expects.get(host.id)
            if expected is not None and host.member.observe().target() != expected:
                raise Changed(f"{host.id} has changed since it was observed.")
        for host in hosts:
            if step.action == "wait":
                host.member.wait_for_change(2.0)
            elif step.action == "kick":
                host.member.kick(step.sid or "", Deadline(self.step_seconds))
            else:
                host.member.systemctl(step.action)
        for host in hosts:
            if step.action in ("start", "restart"):
                host.member.wait_connected(Deadline(self.step_seconds))

    def report(self, decided: Round) -> None:
        self.steps.append(decided.title)
        if decided.step and decided.step.action != "wait":
            self.acts.append(decided.step)

    # Facts ---------------------------------------------------------------------------------------------------------
    @property
    def name(self) -> str:
        return DATABASE_NAMES[self.database]

    @property
    def leader(self) -> LoopbackHost | None:
        return next((host for host in self.hosts if host.is_on and host.leads), None)

    def problem(self) -> str:
        """Why the cluster is not healthy: empty if all members are connected and nothing is left to do."""
        observations = self.observe()
        absent = [host.id for host in self.hosts if host.id not in observations or not observations[host.id].connected]
        if absent:
            return f"not connected: {', '.join(absent)}"
        try:
            decided, _progress = next_round(self._description(), observations, RoundProgress(), time.monotonic())
        except OvnError as e:
            return str(e)
        return decided.step.reason if decided.step else ""
