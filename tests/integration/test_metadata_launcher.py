"""The script of the metadata agent's container, with a real ovsdb-server of Open vSwitch. A program that only listens stands in for the agent: the real one
runs where a real Neutron does."""

from __future__ import annotations

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import typing as t

import pytest
from _vswitch import SCHEMA, require_vswitch
from conftest import Daemon, listens, run, until

from ansible_collections.c5c3.ovn.plugins.module_utils._daemons.metadata_agent_launcher import SCRIPT
from ansible_collections.c5c3.ovn.plugins.module_utils._manifests.image_contract import CONTRACT

# It is given the files of its configuration, and listens at the socket in the folder of the last one.
AGENT = """#!{python}
import os, pathlib, signal, socket, sys
files = sys.argv[2::2]
assert sys.argv[1::2] == ["--config-file"] * len(files)
state = pathlib.Path(files[-1]).parent
(state / "seen").write_text("".join(pathlib.Path(name).read_text() for name in files))
with socket.socket(socket.AF_UNIX) as server:
    server.bind(str(state / "metadata_proxy"))
    server.listen()
    signal.pause()
"""


class Container:
    """`start()` starts the container, `sh(verb)` is a probe in it. Its search path has what the image contract says, and nothing else."""

    def __init__(self, directory: pathlib.Path) -> None:
        self.directory, self.bin = directory, directory / "bin"
        self.sockets, self.state, self.secret = (directory / name for name in ("run", "state", "secret"))
        for folder in (self.bin, self.sockets, self.state):
            folder.mkdir()
        self.script, self.settings, self.log = (directory / name for name in ("launcher", "agent.ini", "log"))
        self.script.write_text(SCRIPT)
        self.settings.write_text("[DEFAULT]\nstate_path = x\n")
        self.secret.write_text("s3cret\n")
        for program in self.contract():
            real = sys.executable if program == "python3" else shutil.which(program)
            if real is not None:
                (self.bin / program).symlink_to(real)
        self.program = ""
        self.install("neutron-ovn-metadata-agent")
        self.tls: dict[str, pathlib.Path] = {}
        self.launcher: Daemon | None = None
        self.database: Daemon | None = None

    def install(self, program: str) -> None:
        """Make it the agent, and the only one in the image."""
        if self.program:
            (self.bin / self.program).unlink()
        agent = self.bin / program
        agent.write_text(AGENT.format(python=sys.executable))
        agent.chmod(0o755)
        self.program = program

    @staticmethod
    def contract() -> set[str]:
        ours = {"haproxy", "privsep-helper"}
        needed = [one for one in CONTRACT if one.container == "ovn-metadata-agent" and not one.optional]
        return {program for one in needed for program in one.programs} - ours

    def command(self, verb: str) -> list[str]:
        environment = {
            "PATH": self.bin,
            "OVN_METADATA_PROGRAM": self.program,
            "OVN_METADATA_SETTINGS": self.settings,
            "OVN_METADATA_SECRET": self.secret,
            "OVN_METADATA_STATE": self.state,
            "OVS_RUNDIR": self.sockets,
            **self.tls,
        }
        words = [f"{key}={value}" for key, value in environment.items()]
        return ["/usr/bin/env", "-i", *words, str(self.bin / "sh"), str(self.script), verb]

    def start(self) -> Daemon:
        self.launcher = Daemon(self.command("run"), self.log)
        return self.launcher

    def sh(self, verb: str) -> int:
        return subprocess.run(self.command(verb), check=False, timeout=30, capture_output=True).returncode

    def start_database(self) -> None:
        file, socket = self.directory / "conf.db", f"unix:{self.sockets}/db.sock"
        if not file.exists():
            run("ovsdb-tool", "create", str(file), SCHEMA)
        control = f"--unixctl={self.directory}/ovsdb-server.ctl"
        words = ["ovsdb-server", str(file), f"--remote=p{socket}", control, "--no-chdir", "-vconsole:off"]
        self.database = Daemon(words, self.directory / "database.log")
        until(lambda: listens(self.sockets / "db.sock"), "the database")
        self.vsctl("init")

    def vsctl(self, *words: str) -> str:
        return run("ovs-vsctl", "--no-wait", f"--db=unix:{self.sockets}/db.sock", "--timeout=20", *words)

    def seen(self) -> str:
        return (self.state / "seen").read_text()

    def until_ready(self) -> None:
        until(lambda: self.sh("ready") == 0, f"the agent: {self.log.read_text()}", 20)

    def end(self) -> None:
        for daemon in (self.launcher, self.database):
            if daemon is not None and daemon.running:
                daemon.signal(signal.SIGTERM)
                daemon.wait(10)


@pytest.fixture
def container(short_dir: pathlib.Path) -> t.Iterator[Container]:
    require_vswitch()
    made = Container(short_dir)
    try:
        yield made
    finally:
        made.end()


def test_it_waits_for_what_the_node_has_and_then_stays_its_parent(container: Container) -> None:
    key, certificate, authority = (container.directory / name for name in ("tls.key", "tls.crt", "ca.crt"))
    container.tls = {"OVN_PRIVATE_KEY": key, "OVN_CERTIFICATE": certificate, "OVN_CA_CERTIFICATE": authority}
    authority.write_text("CA")
    launcher = container.start()
    until(lambda: f"waiting: {key} is not there yet" in container.log.read_text(), "it to wait for the key")
    assert (container.sh("alive"), container.sh("ready")) == (0, 1)
    for file in (certificate, key):  # in one look
        file.write_text("PEM")
    until(lambda: "waiting: Open vSwitch of this node" in container.log.read_text(), "it to wait for Open vSwitch")
    container.start_database()
    assert container.sh("ready") == 1
    assert not (container.state / "seen").exists(), "the agent ends at once where the chassis has no name"
    container.vsctl("set", "Open_vSwitch", ".", "external_ids:system-id=worker-1")
    container.until_ready()
    assert container.sh("alive") == 0
    assert container.log.read_text().count("waiting:") == 2, "it says it once"
    launcher.signal(signal.SIGTERM)
    assert launcher.wait(10) == 128 + signal.SIGTERM
    # It left its socket: nobody listens there any more.
    assert (container.sh("alive"), container.sh("ready")) == (1, 1)


def test_waiting_launcher_ends_on_sigterm(container: Container) -> None:
    launcher = container.start()
    until(lambda: "waiting:" in container.log.read_text(), "it to wait")
    launcher.signal(signal.SIGTERM)
    assert launcher.wait(10) == 0


@pytest.mark.parametrize(
    ("secret", "written"),
    [("s3cret\n", "s3cret"), ("s3cret", "s3cret"), ("a$b$$c$\n", "a$$b$$$$c$$"), ("a%b#c\n", "a%b#c")],
)
def test_the_secret_reaches_the_agent_alone(container: Container, secret: str, written: str) -> None:
    container.secret.write_text(secret)
    container.start_database()
    container.vsctl("set", "Open_vSwitch", ".", "external_ids:system-id=worker-1")
    launcher = container.start()
    container.until_ready()
    expected = f"[DEFAULT]\nstate_path = x\n[DEFAULT]\nmetadata_proxy_shared_secret = {written}\n"
    assert container.seen() == expected
    copy = container.state / "shared-secret.conf"
    assert copy.stat().st_mode & 0o777 == 0o600
    assert "s3cret" not in container.log.read_text()
    commands = pathlib.Path(f"/proc/{launcher.pid}/task/{launcher.pid}/children").read_text().split()
    for pid in (str(launcher.pid), *commands):
        for kind in ("cmdline", "environ"):
            assert secret.strip().encode() not in pathlib.Path("/proc", pid, kind).read_bytes()


@pytest.mark.parametrize("program", ["neutron-ovn-metadata-agent", "neutron-ovn-agent"])
def test_an_agent_that_ends_ends_the_container(container: Container, program: str) -> None:
    container.install(program)
    container.start_database()
    container.vsctl("set", "Open_vSwitch", ".", "external_ids:system-id=worker-1")
    launcher = container.start()
    container.until_ready()
    (child,) = pathlib.Path(f"/proc/{launcher.pid}/task/{launcher.pid}/children").read_text().split()
    os.kill(int(child), signal.SIGKILL)
    assert launcher.wait(10) == 128 + signal.SIGKILL
    assert f"{program} ended with exit code 137" in container.log.read_text()
    # The next start goes over what is left.
    container.start()
    container.until_ready()


def test_an_empty_secret(container: Container) -> None:
    container.secret.write_text("")
    container.start_database()
    container.vsctl("set", "Open_vSwitch", ".", "external_ids:system-id=worker-1")
    assert container.start().wait(20) == 1
    assert "is empty" in container.log.read_text()


def test_a_pod_of_an_older_release_does_not_name_the_program(container: Container) -> None:
    """Its container restarts with the script of now: the ConfigMap has another one, and the DaemonSet has not come to this pod yet."""
    command = [word for word in container.command("ready") if not word.startswith("OVN_METADATA_PROGRAM=")]
    done = subprocess.run(command, check=False, timeout=30, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout == "neutron-ovn-metadata-agent does not listen yet, see its log\n"
