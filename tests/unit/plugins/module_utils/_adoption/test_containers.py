"""What an engine tells of a container, and whether its database file outlives it."""

from __future__ import annotations

import json
import typing as t
from pathlib import Path

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._adoption.containers import (
    Container,
    examine_container,
    find_place,
    forbid_command,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._errors import OvnError
from ansible_collections.c5c3.ovn.plugins.module_utils._processes.supervisor import Supervisor

INSIDE = "/var/lib/openvswitch/ovn-nb/ovnnb.db"
DOCKER = Supervisor("container", "0123456789ab", "docker")
PODMAN = Supervisor("container", "0123456789ab", "podman")


def mount(
    source: str = "/v/_data", destination: str = "/var/lib/openvswitch/ovn-nb", **facts: t.Any
) -> dict[str, t.Any]:
    return {"Type": "volume", "Name": "ovn_nb_db", "Source": source, "Destination": destination, **facts}


@pytest.mark.parametrize(
    ("mounts", "place"),
    [
        pytest.param([mount()], "/v/_data/ovnnb.db", id="a volume"),
        pytest.param([mount(destination="/var/lib/openvswitch/ovn-nb/")], "/v/_data/ovnnb.db", id="a slash at the end"),
        pytest.param([mount("/outer", "/var/lib"), mount()], "/v/_data/ovnnb.db", id="the innermost one counts"),
        pytest.param([mount("/srv", Type="bind")], "/srv/ovnnb.db", id="a folder of the host"),
        pytest.param([mount("/", "/host", Type="bind"), mount("/", "/", Type="bind")], INSIDE, id="the whole host"),
    ],
)
def test_the_file_has_a_place_on_the_host(mounts: list[dict[str, t.Any]], place: str) -> None:
    assert find_place(Container("x", "no", False, tuple(mounts)), INSIDE) == place


@pytest.mark.parametrize(
    ("mounts", "removed", "reason"),
    [
        pytest.param([mount(destination="/var/lib/openvswitch/ovn-nb2")], False, "in no volume", id="another folder"),
        pytest.param([mount(Type="tmpfs")], False, "tmpfs mount", id="memory"),
        pytest.param([mount(Name="a" * 64)], True, "removes with the container", id="a volume that goes with it"),
    ],
)
def test_a_file_that_ends_with_its_container_is_refused(
    mounts: list[dict[str, t.Any]], removed: bool, reason: str
) -> None:
    with pytest.raises(OvnError, match=reason):
        find_place(Container("x", "no", removed, tuple(mounts)), INSIDE)


class Engine:
    """Answers the commands that ask for a container. `words` is what a unit executes."""

    def __init__(
        self, mounts: list[dict[str, t.Any]], policy: str = "unless-stopped", words: str = "/bin/true"
    ) -> None:
        self.words, self.version, self.states = (
            words,
            "podman version 4.3.1",
            "ActiveState=active\nUnitFileState=enabled",
        )
        host = {"RestartPolicy": {"Name": policy}, "AutoRemove": False}
        self.inspect = json.dumps([{"Name": "/ovn_nb_db", "HostConfig": host, "Mounts": mounts}])

    def __call__(self, *command: str) -> str:
        if command[1] == "inspect":
            return self.inspect
        if command[1] == "list-unit-files":
            return "one.service enabled enabled\n"
        if command[1] == "show":
            return f"Id=one.service\n{self.states}\nExecStart={{ path=x ; argv[]={self.words} ; ignore_errors=no }}\n"
        return self.version


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "volume").mkdir()
    inside = tmp_path / "root" / "var/lib/openvswitch"
    inside.mkdir(parents=True)
    (inside / "ovn-nb").symlink_to(tmp_path / "volume")
    (tmp_path / "volume" / "ovnnb.db").touch()
    return tmp_path


def examine(folder: Path, engine: Engine, supervisor: Supervisor = DOCKER) -> dict[str, t.Any]:
    return examine_container(engine, supervisor, INSIDE, str(folder / "root"))


def test_a_container_is_examined(folder: Path) -> None:
    engine = Engine([mount(str(folder / "volume"))])
    facts = examine(folder, engine)
    assert facts == {
        "name": "ovn_nb_db",
        "units": [],
        "policy": "unless-stopped",
        "host_file": str(folder / "volume/ovnnb.db"),
        "problem": "",
    }
    assert forbid_command("docker", facts) == ["docker", "update", "--restart=no", "ovn_nb_db"]
    assert forbid_command("docker", {**facts, "policy": "no"}) == []


@pytest.mark.parametrize(
    ("words", "states", "units"),
    [
        ("/usr/bin/docker start -a ovn_nb_db", "ActiveState=active\nUnitFileState=disabled", ["one.service"]),
        ("/usr/bin/docker start -a ovn_nb_db", "ActiveState=inactive\nUnitFileState=enabled", ["one.service"]),
        ("/usr/bin/docker run --name=ovn_nb_db image", "ActiveState=active\nUnitFileState=enabled", ["one.service"]),
        ("/usr/bin/docker start -a ovn_nb_db", "ActiveState=inactive\nUnitFileState=disabled", []),
        ("/usr/bin/docker start -a ovn_nb_db2", "ActiveState=active\nUnitFileState=enabled", []),
        ("/usr/bin/podman start -a ovn_nb_db", "ActiveState=active\nUnitFileState=enabled", []),
    ],
)
def test_units_that_start_it_are_found(folder: Path, words: str, states: str, units: list[str]) -> None:
    engine = Engine([mount(str(folder / "volume"))], words=words)
    engine.states = states
    assert examine(folder, engine)["units"] == units


def test_what_is_not_safe_is_a_problem(folder: Path) -> None:
    engine, there = Engine([mount("/elsewhere")]), mount(str(folder / "volume"))
    assert "not found at /elsewhere/ovnnb.db" in examine(folder, engine)["problem"]
    assert "no command" in examine(folder, engine, Supervisor("container", "0123"))["problem"]
    assert "no command" in examine_container(engine, Supervisor("container", "0123"))["problem"]
    engine = Engine([there])
    assert "podman cannot change" in examine(folder, engine, PODMAN)["problem"]
    engine.version = "podman version 5.1.0"
    assert examine(folder, engine, PODMAN)["problem"] == ""
    assert examine(folder, Engine([there], policy=""), PODMAN)["problem"] == ""
    engine.inspect = ""
    assert "does not describe it" in examine(folder, engine)["problem"]


def test_units_that_cannot_be_read_are_a_problem(folder: Path) -> None:
    engine = Engine([mount(str(folder / "volume"))])
    facts = examine_container(lambda *command: engine(*command) if command[0] == "docker" else "", DOCKER)
    assert "units of systemd cannot be read" in facts["problem"]
