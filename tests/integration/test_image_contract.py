"""What an image must contain is enough for the launchers, and no more than they use: they run with nothing else in their search path."""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib
import shutil
import subprocess
import typing as t

import _launcher_cases
from _launcher_lib import Cluster, until
from _vswitch import require_vswitch
from conftest import run
from test_ovs_launcher import Node

from ansible_collections.c5c3.ovn.plugins.module_utils._control_plane.examine_pod import EXAMINE, LAUNCHER
from ansible_collections.c5c3.ovn.plugins.module_utils._control_plane.pod_source import contents_command
from ansible_collections.c5c3.ovn.plugins.module_utils._daemons.relay_command import (
    LISTENERS,
    RelaySettings,
    listener_settings,
    relay_command,
    relay_control_socket,
    relay_database_socket,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._daemons.relay_command import SCHEMA as RELAY_SCHEMA
from ansible_collections.c5c3.ovn.plugins.module_utils._daemons.relay_command import SCRIPT as RELAY_SCRIPT
from ansible_collections.c5c3.ovn.plugins.module_utils._manifests.image_contract import CONTRACT
from ansible_collections.c5c3.ovn.plugins.module_utils._ovsdb.tls_files import NO_TLS
from ansible_collections.c5c3.ovn.plugins.module_utils._precheck.finding import Kind

cluster = _launcher_cases.cluster  # fixture


class SearchPath:
    """A folder with what the contract says of one container, where each program writes down that it was used."""

    def __init__(self, directory: pathlib.Path, kind: Kind, container: str) -> None:
        self.directory = directory / f"bin-{container}"
        self.directory.mkdir()
        self.log = directory / f"used-{container}"
        self.programs = {
            program
            for one in CONTRACT
            if (one.kind, one.container, one.optional) == (kind, container, False)
            for program in one.programs
        }
        for program in self.programs:
            wrapper = self.directory / program
            real = shutil.which(program)
            wrapper.write_text(f'#!/bin/sh\necho {program} >>{self.log}\nexec {real} "$@"\n')
            wrapper.chmod(0o755)

    @property
    def unused(self) -> set[str]:
        return self.programs - set(self.log.read_text().split())


def test_a_relay(daemons: None, short_dir: pathlib.Path) -> None:
    """It creates the database of its listeners, is asked by its probes, and ends when its pod does."""
    path = SearchPath(short_dir, "cluster", "relay")
    settings = RelaySettings(
        run_directory=str(short_dir),
        listeners_file=str(short_dir / "listeners.db"),
        sources=["tcp:127.0.0.1:1"],
        target="ptcp:0:127.0.0.1",
        inactivity_probe=5000,
        tls=NO_TLS,
    )
    launcher = short_dir / "ovn-relay-launcher"
    launcher.write_text(RELAY_SCRIPT)
    followed = short_dir / "settings"
    followed.write_text(listener_settings(settings))
    environment = {
        "PATH": str(path.directory),
        "OVN_RELAY_LISTENERS_FILE": settings.listeners_file,
        "OVN_RELAY_SCHEMA": json.dumps(RELAY_SCHEMA),
        "OVN_RELAY_SETTINGS": str(followed),
        "OVN_RELAY_CONTROL_SOCKET": relay_control_socket(str(short_dir)),
        "OVN_RELAY_SOCKET": relay_database_socket(str(short_dir)),
    }

    def call(verb: str) -> subprocess.CompletedProcess[str]:
        words = [str(path.directory / "sh"), str(launcher), verb]
        return subprocess.run(words, env=environment, capture_output=True, text=True, check=False, timeout=20)

    def shown() -> list[tuple[str, int]]:
        """Role and probe of each listener."""
        query = (
            f'["{LISTENERS}",{{"op":"select","table":"Connection","where":[],"columns":["role","inactivity_probe"]}}]'
        )
        command = ["ovsdb-client", "-t", "5", "query", f"unix:{environment['OVN_RELAY_SOCKET']}", query]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return [(row["role"], row["inactivity_probe"]) for row in json.loads(done.stdout or '[{"rows":[]}]')[0]["rows"]]

    words = [str(path.directory / "sh"), str(launcher), "run", *relay_command(settings)]
    assert call("alive").returncode != 0
    with (short_dir / "output").open("w") as output:
        process = subprocess.Popen(words, env=environment, stdout=output, stderr=output)
    try:
        until(lambda: call("alive").returncode == 0, "the relay")
        answer = call("ready")
        assert answer.returncode == 1
        assert "connected to no member" in answer.stderr or "does not listen" in answer.stderr
        # Another probe and another role, in a server that runs.
        for probe, role in ((7000, "ovn-controller"), (7000, ""), (8000, "ovn-controller")):
            followed.write_text(listener_settings(dataclasses.replace(settings, inactivity_probe=probe, role=role)))
            until(lambda probe=probe, role=role: shown() == [(role, probe)], "a relay that follows", 15)
        until(lambda: "connected to no member" in call("ready").stderr, "a port that is bound", 10)
    finally:
        process.terminate()
    assert process.wait(timeout=20) == 0
    assert "not found" not in (short_dir / "output").read_text()
    assert path.unused == set()


def test_a_member_of_a_database(cluster: Cluster) -> None:
    """It creates, joins, is examined, stops, starts again from its file, and one moves a file aside that is no database."""
    path = SearchPath(cluster.root, "cluster", "database")
    for member in cluster.members:
        member.env.update(PATH=str(path.directory), OVN_WITNESS_SECONDS="1", OVN_CONSOLE="1")
    first, second, third = cluster.members
    outputs = []

    def command(words: t.Sequence[str]) -> str:
        given = [first.launcher[0] if word == LAUNCHER else word for word in words]
        done = subprocess.run(
            [str(path.directory / given[0]), *given[1:]],
            env=os.environ | first.env,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        outputs.append(done.stderr)
        assert done.returncode == 0, done.stderr
        return done.stdout

    cluster.found()
    second.up()
    cluster.declare(second, "confirmed", second.sid)
    for verb in ("alive", "ready", "state"):
        command(["sh", LAUNCHER, verb])
    assert "@end 0" in command(EXAMINE)
    assert "@index" in command(contents_command(10))
    command(["sh", LAUNCHER, "stop"])
    until(lambda: first.state() == "stopped", "the end of the launcher")
    command(["sh", LAUNCHER, "state"])
    assert "@end 0" in command(EXAMINE)  # of the file
    first.kill()
    first.up()
    third.file.write_bytes(b"no database")
    cluster.declare(third, "expected", "11111111-1111-4111-8111-111111111111")  # so that file is given up
    third.up()

    outputs += [member.messages() for member in cluster.members]
    assert [line for text in outputs for line in text.splitlines() if "not found" in line] == []
    # For a peer that objects to the creation of a cluster.
    assert path.unused == {"head"}


def test_the_daemons_of_a_hypervisor(short_dir: pathlib.Path) -> None:
    require_vswitch()
    containers = {"database": "ovsdb-server", "vswitchd": "ovs-vswitchd", "controller": "ovn-controller"}
    paths = {role: SearchPath(short_dir, "hypervisors", name) for role, name in containers.items()}

    class Containers(Node):
        def command(self, *arguments: str) -> list[str]:
            *words, shell, script = super().command()
            return [*words, f"PATH={paths[arguments[-1]].directory}", shell, script, *arguments]

    node = Containers(short_dir)
    try:
        node.start("database")
        query = '["Open_vSwitch",{"op":"select","table":"Open_vSwitch","where":[],"columns":["_uuid"]}]'
        node.until_ready("database")
        row = ["ovsdb-client", "-t", "5", "query", f"unix:{node.sockets}/db.sock", query]
        until(lambda: '"uuid"' in run(*row), "the row that the launcher makes")
        node.start("vswitchd")
        node.until_ready("vswitchd")
        node.vsctl("add-br", "br-int", "--", "set", "bridge", "br-int", "datapath_type=netdev")
        node.start("controller")
        until(lambda: "waiting for the settings" in node.log("controller"), "the controller to wait")
        (node.run / "settled").touch()
        until(
            lambda: node.sh("alive", "controller") == 0 and (node.run / "ovn-controller.pid").exists(), "ovn-controller"
        )
        node.sh("ready", "controller")
        for role in ("controller", "vswitchd", "database"):
            assert node.stop(role) == 0, node.log(role)
        node.start("database")  # from the file that is there
        node.until_ready("database")
        assert node.stop("database") == 0
    finally:
        node.end()
    for role, path in paths.items():
        assert "not found" not in node.log(role)
        # A copy is made before the conversion of an older database.
        assert path.unused == ({"cp"} if role == "database" else set()), role
