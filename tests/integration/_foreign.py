"""Members that something else runs: database servers as ovn-ctl starts them, in control groups named as systemd names those of units."""

from __future__ import annotations

import contextlib
import dataclasses
import subprocess
import tempfile
import typing as t
from pathlib import Path

from _launcher_lib import SCHEMA, tool, until
from _loopback import CLIENT_PORTS, LoopbackBackend, LoopbackHost, Tls
from _waits import within

from ansible_collections.c5c3.ovn.plugins.module_utils._base.databases import DATABASE_NAMES, STEMS
from ansible_collections.c5c3.ovn.plugins.module_utils._base.deadline import Deadline
from ansible_collections.c5c3.ovn.plugins.module_utils._host.foreign_processes import (
    ControlPlaneProcess,
    find_processes,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._host.member import DISTRIBUTION_UNITS, AdoptedMember
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.observation import Observation
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.plan import check_before_changes
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.record import Record
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.step import Run, Step

_TABLES = {"northbound": "NB_Global", "southbound": "SB_Global"}


def hierarchy() -> Path:
    """Where systemd keeps the groups of units: a hierarchy of its own, or the only one."""
    mounts = [line.split() for line in Path("/proc/mounts").read_text().splitlines()]
    named = [Path(words[1]) for words in mounts if words[2] == "cgroup" and "name=systemd" in words[3].split(",")]
    return next(iter([*named, *(Path(words[1]) for words in mounts if words[2] == "cgroup2")]))


class Groups:
    """Control groups of one test. They are empty directories again when their processes have ended."""

    def __init__(self) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="adopt-", dir=hierarchy()))

    def enter(self, *names: str) -> list[str]:
        """The command that starts another one in a group."""
        directory = self.root.joinpath(*names)
        directory.mkdir(parents=True, exist_ok=True)
        return ["sh", "-c", 'echo $$ >"$0/cgroup.procs" && exec "$@"', str(directory)]

    def close(self) -> None:
        def removed() -> bool:
            for directory in sorted((p for p in self.root.rglob("*") if p.is_dir()), reverse=True):
                with contextlib.suppress(OSError):
                    directory.rmdir()
            with contextlib.suppress(OSError):
                self.root.rmdir()
            return not self.root.exists()

        until(removed, f"{self.root} removed")


@dataclasses.dataclass
class ForeignMember(AdoptedMember):
    """All hosts of all tests are one machine: the container of this host is the one whose file has the path `inside`."""

    inside: str = ""

    def _find_contained(self) -> ControlPlaneProcess | None:
        found = [one for one in find_processes() if one.supervisor.kind == "container" and one.file == self.inside]
        return next(iter(found), None) if self.inside else None


class ForeignHost(LoopbackHost):
    """A central host whose server a unit of the distribution runs at first. `masked` and `enabled` are what systemd would know."""

    groups: t.ClassVar[Groups]

    def __init__(self, root: Path, number: int, database: str, host: str, **options: t.Any) -> None:
        own = f"c5c3-ovn-{database}.service"
        super().__init__(root, number, database, host, **options)
        self.enter = self.groups.enter(self.id, own)
        self.foreign: subprocess.Popen[bytes] | None = None
        self.foreign_unit = DISTRIBUTION_UNITS[database]
        self.masked, self.enabled = set[str](), set[str]()
        self.stopped_units: dict[str, str] = {}  # a unit that starts with its host and does not run, and its command
        self.fails_at = ""  # the run dies at this verb of systemctl
        self.member: ForeignMember = ForeignMember(
            database=database,
            member=self.id,
            record=str(self.record),
            environment_file=str(self.environment_file),
            launcher=self.launcher,
            unit=own,
            run=self._run,
            database_file=str(self.file),
        )

    def create(self, first: ForeignHost) -> None:
        """A database file as ovn-ctl makes it."""
        if first is self:
            tool("create-cluster", self.file, SCHEMA, self.address)
        else:
            tool("join-cluster", self.file, DATABASE_NAMES[self.database], self.address, first.address)

    def start_foreign(self, *group: str) -> None:
        """The server as `ovn-ctl run_nb_ovsdb` starts it, with a listener that only its command line has."""
        self.run_dir.mkdir(exist_ok=True)
        name, stem = DATABASE_NAMES[self.database], self.run_dir / STEMS[self.database]
        command = [
            *self.groups.enter(self.id, *(group or (self.foreign_unit,))),
            *("setpriv", "--pdeathsig", "KILL", "ovsdb-server", f"--log-file={self.root}/foreign.log"),
            *(f"--remote=punix:{stem}.sock", f"--pidfile={stem}.pid", f"--unixctl={stem}.ctl"),
            f"--remote=db:{name},{_TABLES[self.database]},connections",
            f"--private-key={self.tls.private_key if self.tls else f'db:{name},SSL,private_key'}",
            f"--certificate={self.tls.certificate if self.tls else f'db:{name},SSL,certificate'}",
            f"--ca-cert={self.tls.ca_certificate if self.tls else f'db:{name},SSL,ca_cert'}",
            f"--remote={'pssl' if self.tls else 'ptcp'}:{CLIENT_PORTS[self.database]}:{self.host}",
            str(self.file),
        ]
        self.foreign = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def stop_foreign(self) -> None:
        """As the unit: ExecStop ends whatever the pid file names."""
        if self.foreign is None:
            return
        if self.foreign.poll() is None:
            command = ["ovs-appctl", "-T", "5", "-t", self.control_socket, "exit"]
            subprocess.run(command, check=False, capture_output=True, timeout=within(20))
        self.foreign.wait(timeout=within(20))
        self.foreign = None

    @property
    def is_foreign_active(self) -> bool:
        return self.foreign is not None

    def _run(self, command: list[str], environment: dict[str, str]) -> tuple[int, str, str]:
        if command[0] != "systemctl":
            return super()._run(command, environment)
        verb, unit = command[1], command[-1]
        if verb == self.fails_at:
            raise KeyboardInterrupt
        if verb == "is-enabled":
            return (0 if unit in self.enabled else 1), "", ""
        if verb in ("mask", "enable"):
            (self.masked if verb == "mask" else self.enabled).add(unit)
        elif verb == "list-unit-files":
            return 0, "".join(f"{name} enabled enabled\n" for name in sorted(self.stopped_units)), ""
        elif verb == "show" and "--" in command:
            return 0, "\n".join(map(self._show_stopped, command[command.index("--") + 1 :])), ""
        elif verb == "show":
            masked, active = unit in self.masked, unit == self.foreign_unit and self.is_foreign_active
            state, shown = ("masked" if masked else "loaded"), ("active" if active else "inactive")
            return 0, f"Id={unit}\nLoadState={state}\nActiveState={shown}\n", ""
        elif unit == self.foreign_unit and verb == "stop":
            assert self.foreign is not None, "a unit that is inactive was stopped"
            self.stop_foreign()
        else:
            if unit == self.member.unit and verb in ("start", "restart"):
                assert not self.is_foreign_active, "two servers for one file"
            return super()._run(command, environment)
        return 0, "", ""

    def _show_stopped(self, unit: str) -> str:
        arguments = self.stopped_units[unit]
        return f"Id={unit}\nMainPID=0\nExecStart={{ path=x ; argv[]={arguments} ; ignore_errors=no ; pid=0 }}\n"


class ForeignBackend(LoopbackBackend):
    """Three hosts, all of them foreign at first; steps are executed as the module does it."""

    hosts: list[ForeignHost]  # type of the class that is given below

    def __init__(self, tls: t.Callable[[str], Tls] | None = None, host_class: type[ForeignHost] | None = None) -> None:
        ForeignHost.groups = Groups()
        super().__init__(host_class=host_class or ForeignHost, tls=tls)
        self.done: list[
            tuple[Step, bool]
        ] = []  # the steps of the last run, and whether a member of the step led when it was decided
        self._leaders: set[str] = set()  # at the last observation

    def close(self, *, keep_files: bool = False) -> None:
        for host in self.hosts:
            if host.foreign is not None:
                host.foreign.kill()
                host.foreign.wait()
        super().close(keep_files=keep_files)
        ForeignHost.groups.close()

    def begin(self) -> None:
        """Three members under foreign units, one of them leading for longer than the gates want."""
        for host in self.hosts:
            host.create(self.hosts[0])
            host.start_foreign()
            until(lambda host=host: host.connected, f"{host.id} connected", 30)

    def run(self, **options: t.Any) -> list[str]:
        """As the role does it: first what forbids the whole run."""
        self.done = []
        check_before_changes(
            self._description(**{k: v for k, v in options.items() if k != "dies_before"}), self.observe()
        )
        return super().run(**options)

    def _description(self, **options: t.Any) -> Run:
        return super()._description(**{"adopt": True, **options})

    def observe(self) -> dict[str, Observation]:
        observed = super().observe()
        self._leaders = {name for name, one in observed.items() if one.leader}
        return observed

    def execute(self, step: Step, record: Record) -> None:
        self._act()
        hosts = [host for host in self.hosts if host.id in step.members]
        for host in hosts:
            if step.action == "wait":
                host.member.wait_for_change(2.0)
                continue
            host.member.check_target(step.expects[host.id])
            if step.action == "kick":
                host.member.kick(step.sid or "", Deadline(self.step_seconds))
            else:
                getattr(host.member, step.action)()
        for host in hosts if step.action in ("start", "restart") else ():
            host.member.wait_connected(Deadline(self.step_seconds))
        if step.action != "wait":
            self.done.append((step, bool(self._leaders.intersection(step.members))))
