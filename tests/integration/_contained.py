"""Members in containers of a real Docker: servers with a root directory, sockets and a volume of their own, which the engine starts again.

The engine is one of the tests' own, without packet filters; systemd is what `_foreign.py` makes of it.
"""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import subprocess
import tarfile
import tempfile
import typing as t
from pathlib import Path

from _apiserver import testbed_cache
from _foreign import ForeignBackend, ForeignHost
from _launcher_lib import SCHEMA, tool, until
from _loopback import CLIENT_PORTS, RunKilled
from _waits import within

from ansible_collections.c5c3.ovn.plugins.module_utils._base.databases import DATABASE_NAMES
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.record import Record
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.step import Step

_TESTBED = Path(__file__).parent.parent / "testbed"
IMAGE = "ovn:test"
_PROGRAMS = ("/usr/sbin/ovsdb-server", "/usr/bin/ovn-northd")
_LIBRARY = re.compile(r"(/\S+) \(0x")
_SYS_RESOURCE = 24  # the bit of a capability without which runc has to be told so


class Engine:
    """A Docker engine that ends with the test. `environment` is that of its client."""

    def __init__(self) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="docker-"))
        self.environment = {"DOCKER_HOST": f"unix://{self.root}/socket"}
        self._process = t.cast("subprocess.Popen[bytes] | None", None)
        # With --bridge=none an engine deletes docker0, which is that of the host's engine (moby, removeDefaultBridgeInterface).
        self._bridge = self.root.name
        self._options = ["--iptables=false", "--ip6tables=false", f"--bridge={self._bridge}", "--storage-driver=vfs"]
        if not _has_capability(_SYS_RESOURCE):
            subprocess.run(
                [_TESTBED / "node-image/build", "runc-wrapper"], check=True, capture_output=True, timeout=within(300)
            )
            self._options += [
                f"--add-runtime=own={testbed_cache()}/bin/runc-without-sys-resource",
                "--default-runtime=own",
            ]

    def start(self) -> None:
        subprocess.run(
            ["ip", "link", "add", self._bridge, "type", "bridge"], check=False, capture_output=True, timeout=10
        )
        paths = {"data-root": "data", "exec-root": "exec", "pidfile": "pid"}
        options = [*self._options, *(f"--{option}={self.root}/{path}" for option, path in paths.items())]
        with (self.root / "log").open("ab") as log:
            command = [
                "setpriv",
                "--pdeathsig",
                "TERM",
                "dockerd",
                *options,
                f"--host={self.environment['DOCKER_HOST']}",
            ]
            self._process = subprocess.Popen(command, stdout=log, stderr=log)
        until(lambda: self.run("info").returncode == 0, f"dockerd, see {self.root}/log", 60)
        if self.run("image", "inspect", IMAGE).returncode != 0:
            made = subprocess.run(
                ["docker", "import", "-", IMAGE],
                input=_image(),
                env=os.environ | self.environment,
                check=False,
                capture_output=True,
                timeout=within(120),
            )
            assert made.returncode == 0, made.stderr

    def stop(self) -> None:
        """The engine ends, and its containers with it: its host is switched off."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait(timeout=within(60))
            self._process = None

    def close(self) -> None:
        if self._process is not None:
            names = self.run("ps", "--all", "--quiet").stdout.split()
            if names:
                self.run("rm", "--force", "--volumes", *names)
        self.stop()
        subprocess.run(["ip", "link", "delete", self._bridge], check=False, capture_output=True, timeout=10)
        shutil.rmtree(self.root, ignore_errors=True)

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["docker", *command],
            env=os.environ | self.environment,
            check=False,
            capture_output=True,
            text=True,
            timeout=within(120),
        )

    def output(self, *command: str) -> str:
        done = self.run(*command)
        assert done.returncode == 0, (command, done.stderr)
        return done.stdout.strip()


def _has_capability(bit: int) -> bool:
    text = Path("/proc/self/status").read_text()
    bounding = next(line.split()[1] for line in text.splitlines() if line.startswith("CapBnd:"))
    return bool(int(bounding, 16) >> bit & 1)


def _image() -> bytes:
    """The root directory of an image with the programs of this machine, where /var/run is a link as in those of distributions."""
    files = dict.fromkeys(str(Path(program)) for program in _PROGRAMS)
    for program in _PROGRAMS:
        listed = subprocess.run(["ldd", program], check=True, capture_output=True, text=True, timeout=within(30)).stdout
        files |= dict.fromkeys(_LIBRARY.findall(listed))
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", dereference=True) as tar:
        for path in files:
            tar.add(path, path)
        for path in ("tmp", "run/ovn", "var/lib", "etc"):
            folder = tarfile.TarInfo(path)
            folder.type, folder.mode = tarfile.DIRTYPE, 0o755
            tar.addfile(folder)
        link = tarfile.TarInfo("var/run")
        link.type, link.linkname = tarfile.SYMTYPE, "/run"
        tar.addfile(link)
    return made.getvalue()


class ContainedHost(ForeignHost):
    """A central host as Kolla sets it up: its server is in a container whose file has another name in a volume."""

    engine: t.ClassVar[Engine]

    def __init__(self, root: Path, number: int, database: str, host: str, **options: t.Any) -> None:
        super().__init__(root, number, database, host, **options)
        self.name, self.folder = f"ovn_nb_db_{number}", f"/var/lib/openvswitch/ovn-nb-{host}"
        self.foreign_unit = ""  # no unit of systemd runs it
        self.member.inside = f"{self.folder}/ovnnb.db"
        self.unit_words = "/usr/sbin/sshd -D"  # of a unit that has nothing to do with it
        self.fails_after = False  # at the verb `fails_at` of the engine: after it instead of before

    @property
    def source(self) -> Path:
        """The database file of the container."""
        place = self.engine.output("volume", "inspect", "--format={{.Mountpoint}}", self.name)
        return Path(place) / "ovnnb.db"

    def create(self, first: ForeignHost) -> None:
        self.engine.output("volume", "create", self.name)
        if first is self:
            tool("create-cluster", self.source, SCHEMA, self.address)
        else:
            tool("join-cluster", self.source, DATABASE_NAMES[self.database], self.address, first.address)

    def start_foreign(self, *group: str) -> None:
        """As `ovn-ctl run_nb_ovsdb` in Kolla's container does."""
        del group
        name = DATABASE_NAMES[self.database]
        self.engine.output(
            *("run", "--detach", f"--name={self.name}", "--network=host", "--restart=unless-stopped"),
            *(f"--volume={self.name}:{self.folder}", IMAGE, "/usr/sbin/ovsdb-server"),
            *("--remote=punix:/var/run/ovn/ovnnb_db.sock", "--unixctl=/var/run/ovn/ovnnb_db.ctl"),
            f"--remote=db:{name},NB_Global,connections",
            f"--remote=ptcp:{CLIENT_PORTS[self.database]}:{self.host}",
            f"{self.folder}/ovnnb.db",
        )

    def inspect(self) -> dict[str, t.Any]:
        return t.cast("dict[str, t.Any]", json.loads(self.engine.output("inspect", self.name))[0])

    @property
    def is_contained(self) -> bool:
        return bool(self.inspect()["State"]["Running"])

    @property
    def restart_policy(self) -> str:
        return str(self.inspect()["HostConfig"]["RestartPolicy"]["Name"])

    @property
    def is_foreign_active(self) -> bool:
        return self.is_contained

    def start_container(self) -> None:
        """Somebody, or a tool, starts it again."""
        self.engine.output("start", self.name)
        until(self.member._find_contained, f"{self.name} runs")

    def _run(self, command: list[str], environment: dict[str, str]) -> tuple[int, str, str]:
        if command[0] == "systemctl" and command[1] in ("list-unit-files", "list-units"):
            return 0, "one.service enabled enabled\n", ""
        if command[0] == "systemctl" and "--" in command:
            text = f"Id=one.service\nActiveState=active\nUnitFileState=enabled\nMainPID=7\nExecStart={{ argv[]={self.unit_words} ; ignore_errors=no }}\n"
            return 0, text, ""
        if command[0] != "timeout":
            return super()._run(command, environment)
        dies = command[4] == self.fails_at
        if dies and not self.fails_after:
            raise KeyboardInterrupt
        answer = super()._run(command, environment | self.engine.environment)
        if dies:
            raise KeyboardInterrupt
        return answer


class ContainedBackend(ForeignBackend):
    """Three hosts, all of them with containers at first."""

    hosts: list[ContainedHost]

    def __init__(self, engine: Engine) -> None:
        ContainedHost.engine, self._dies_after = engine, ""
        super().__init__(host_class=ContainedHost)

    def close(self, *, keep_files: bool = False) -> None:
        for host in self.hosts:
            host.engine.run("rm", "--force", host.name)
            host.engine.run("volume", "rm", "--force", host.name)
        super().close(keep_files=keep_files)

    def run_until(self, moment: str) -> None:
        """A run that dies right after its first step of this kind, or with `expected` after it has recorded that a new member may join."""
        self._dies_after = moment
        self.run()
        self._dies_after = ""

    def write_record(self, record: Record, step: Step | None) -> None:
        super().write_record(record, step)
        if self._dies_after == "expected" and any(member.state == "expected" for member in record.members.values()):
            raise RunKilled

    def execute(self, step: Step, record: Record) -> None:
        super().execute(step, record)
        if step.action == self._dies_after:
            raise RunKilled
