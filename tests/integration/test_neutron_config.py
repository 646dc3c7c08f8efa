"""Files that Neutron's services are started with, and that count more than that of the role."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
import typing as t

import _playbooks
import pytest

if t.TYPE_CHECKING:
    from collections.abc import Iterator

    from conftest import RunModule

OURS = "[ovn]\novn_nb_connection = ssl:192.0.2.1:6641\nneutron_sync_mode = log\n"
OTHER = "[ovn]\novn_nb_connection = tcp:192.0.2.9:6641\n"


class Machine:
    """A host whose systemd knows the services that a test names, all of them loaded and running."""

    def __init__(self, root: pathlib.Path) -> None:
        self.root, self.programs = root, root / "bin"
        self.programs.mkdir()
        self.plugin, self.directory = root / "ml2_conf.ini", root / "neutron.conf.d"
        self.directory.mkdir()
        self.config = self.directory / "50-c5c3-ovn.conf"

    def has(self, **commands: str) -> None:
        """`ExecStart` by service; a service with a number runs, as the process of this id."""
        lines = ["#!/bin/sh", 'while [ $# -gt 0 ] && [ "$1" != -- ]; do shift; done', "for unit; do case $unit in"]
        for name, command in commands.items():
            arguments, _at, process = command.partition("@")
            shown = f"{{ path=/x ; argv[]=/x {arguments} ; ignore_errors=no ; start_time=[n/a] }}"
            properties = ["LoadState=loaded", "ActiveState=active", f"MainPID={process or 0}", f"ExecStart={shown}"]
            lines.append(f"{name}.service) printf '%s\\n' 'Id={name}.service' {' '.join(map(repr, properties))} '';;")
        lines += ["*) printf '%s\\n' \"Id=$unit\" LoadState=not-found '';;", "esac; done"]
        (self.programs / "systemctl").write_text("\n".join(lines))
        (self.programs / "systemctl").chmod(0o755)

    @property
    def path(self) -> str:
        return f"{self.programs}:{os.environ['PATH']}"


@pytest.fixture
def machine(short_dir: pathlib.Path) -> Machine:
    return Machine(short_dir)


@pytest.fixture
def server(machine: Machine) -> Iterator[int]:
    """A process that was started with a file, by a script that its unit names."""
    code = "import signal; signal.pause()"
    process = subprocess.Popen([sys.executable, "-c", code, "--config-file", str(machine.plugin)])
    yield process.pid
    process.kill()
    process.wait()


def test_what_is_read_after_ours_is_told(run_module: RunModule, machine: Machine, server: int) -> None:
    def read(**commands: str) -> dict[str, t.Any]:
        machine.has(**commands)
        services = [f"{name}.service" for name in (*commands, "missing")]
        options = {"services": services, "config_file": str(machine.config), "config": OURS}
        done = run_module("ovn_host_info", {"neutron": options}, prefix=("env", f"PATH={machine.path}"))
        return t.cast("dict[str, t.Any]", done["neutron"])

    directory, plugin = f"--config-dir {machine.directory}", f"--config-file {machine.plugin}"
    machine.plugin.write_text(OTHER)
    for_good = read(api=f"{plugin} {directory}")
    assert for_good["problem"] == ""
    assert "none, without ovn-router" in " ".join(for_good["warnings"])

    overridden = (
        f"would read {machine.plugin} after {machine.config}, and the last value counts: ovn_nb_connection in [ovn] is"
    )
    assert read(api=f"{directory} {plugin}")["problem"].startswith(
        f"api.service {overridden} tcp:192.0.2.9:6641 there and"
    )
    of_script = read(api=f"{directory} {plugin}", rpc=f"systemd-start@{server}")["problem"]
    assert of_script.startswith(f"rpc.service does not read {machine.config}: it is started with other files.")

    (machine.directory / "90-site.conf").write_text(
        f"{OTHER}neutron_sync_mode = off\n[DEFAULT]\nservice_plugins = ovn-router\n"
    )
    site = read(api=directory)
    assert str(machine.directory / "90-site.conf") in site["problem"]
    (warning,) = site["warnings"]
    assert "neutron_sync_mode in [ovn]" in warning

    elsewhere = read(api=f"--config-dir {machine.root}")
    assert elsewhere["problem"].startswith(
        f"api.service does not read {machine.config}: it is started with --config-dir"
    )
    assert read(api="systemd-start") == {"problem": "", "warnings": []}, "it does not say what it reads"


def refused(machine: Machine, *arguments: str, **variables: t.Any) -> str:
    """What a run of the role says that fails before it has changed anything; `variables` are those of the host."""
    play = {"hosts": "ovn_controllers", "gather_facts": False, "roles": ["c5c3.ovn.ovn_neutron"]}
    (machine.root / "play.yml").write_text(json.dumps([play]))
    host = {
        "ovn_tls": False,
        "ovn_northbound_endpoints": ["tcp:127.0.0.1:9"],
        "ovn_neutron_southbound_endpoints": ["tcp:127.0.0.1:9"],
        "_ovn_neutron_wait_timeout": 1,
        "ovn_neutron_leader_proxy": "none",
        "ovn_neutron_config_file": str(machine.config),
        "ovn_neutron_group": "root",
        **variables,
    }
    inventory = _playbooks.write_inventory(
        machine.root / "inventory.yml", {"ovn_controllers": {"hosts": {"controller1": host}}}
    )
    env = _playbooks.environment(machine.root / "scratch", PATH=machine.path)
    done = _playbooks.run(["-i", str(inventory), str(machine.root / "play.yml"), *arguments], env)
    assert done.returncode != 0, done.stdout
    assert " changed=0 " in done.stdout, done.stdout
    assert not machine.config.exists()
    return " ".join(done.stdout.split())


def test_the_role_changes_nothing_before_its_settings_count(machine: Machine) -> None:
    machine.has(**{"neutron-api": f"--config-dir {machine.directory} --config-file {machine.plugin}"})
    machine.plugin.write_text(OTHER)
    for arguments in (["--check"], []):
        told = refused(machine, *arguments, ovn_neutron_services=["neutron-api"])
        assert "is tcp:192.0.2.9:6641 there and tcp:127.0.0.1:9 in ours. Nothing was changed." in told


def test_the_role_takes_no_proxy_away_from_a_neutron_that_nobody_restarts(machine: Machine) -> None:
    unit = machine.root / "proxy.service"
    unit.write_text("[Service]\nEnvironment=OVN_NORTHBOUND_LISTEN=tcp:127.0.0.1:26641\n")
    by_extra = ["-e", f"_ovn_neutron_proxy_unit_file={unit}"]
    for arguments in (["--check"], []):
        told = refused(machine, *by_extra, *arguments)
        assert "by its leader proxy at 127.0.0.1:26641. This run ends it and restarts nothing of Neutron" in told


def test_the_role_says_whose_databases_do_not_answer(machine: Machine) -> None:
    for arguments in (["--check"], []):
        told = refused(machine, *arguments)
        assert "The databases did not answer this host with the certificate for Neutron of controller1: " in told
        assert "c5c3.ovn.status says how the databases are. Nothing was changed on this host." in told
