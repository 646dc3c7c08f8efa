"""What the role ovn_metadata_agent says of a Southbound before it gives its endpoints to the agent, on a real one."""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import subprocess
import typing as t

import _playbooks
import pytest
from conftest import MakeCluster, Pki, RaftCluster, TlsPaths, run, within

from ansible_collections.c5c3.ovn.plugins.module_utils._pki.issued import FILE_NAME, parse_list

pytest.importorskip("cryptography", reason="NOT TESTED: the Python library cryptography is missing")

from cryptography import x509
from cryptography.x509.oid import NameOID

# Every unit is there, and nothing runs.
LOADED = """#!/bin/sh
while [ "$1" != -- ]; do shift; done
shift
for unit; do printf 'Id=%s\\nLoadState=loaded\\nActiveState=inactive\\nMainPID=0\\n\\n' "$unit"; done
"""


def install(folder: pathlib.Path, certificate: TlsPaths) -> None:
    folder.mkdir(exist_ok=True)
    shutil.copy(certificate.private_key, folder / "chassis-key.pem")
    shutil.copy(certificate.certificate, folder / "chassis-cert.pem")
    shutil.copy(certificate.ca_certificate, folder / "ca.pem")


class Node:
    """This machine as a compute node: `ask` runs a step that asks the Southbound, with a certificate of this CA."""

    def __init__(self, root: pathlib.Path, southbound: RaftCluster) -> None:
        self.root, self.southbound = root, southbound
        self.playbook = root / "play.yml"
        (root / "bin").mkdir()
        (root / "bin" / "systemctl").write_text(LOADED)
        (root / "bin" / "systemctl").chmod(0o755)

    def ask(self, pki: Pki, step: str = "plan", **variables: t.Any) -> tuple[int, str]:
        install(self.root / "ovn-metadata-agent", pki.issue("compute1"))
        task = {"name": "Ask", f"c5c3.ovn.metadata_agent_{step}": {}}
        self.playbook.write_text(json.dumps([{"hosts": "all", "gather_facts": False, "tasks": [task]}]))
        host = {
            "ovn_metadata_agent_config_file": str(self.root / "agent.ini"),
            "ovn_metadata_agent_nova_host": "192.0.2.30",
            "ovn_metadata_agent_shared_secret": "secret",
            "ovn_southbound_endpoints": self.southbound.endpoints,
            "ovn_pki_declared": {"due": False, "pairs": []},
            **variables,
        }
        groups = {"ovn_hypervisors": {"hosts": {"compute1": host}}}
        inventory = _playbooks.write_inventory(self.root / "inventory.yml", groups)
        environment = _playbooks.environment(self.root / "scratch", PATH=f"{self.root / 'bin'}:{os.environ['PATH']}")
        done = _playbooks.run(["-i", str(inventory), str(self.playbook)], environment)
        return done.returncode, " ".join((done.stdout + done.stderr).split())


@pytest.fixture
def node(raft_cluster: MakeCluster, short_dir: pathlib.Path, pki: Pki) -> Node:
    southbound = raft_cluster(1, "southbound", tls=True)
    folder = short_dir / "node"
    folder.mkdir()
    return Node(folder, southbound)


def test_an_agent_gets_a_southbound_that_knows_its_chassis(
    node: Node, pki: Pki, make_pki: t.Callable[[str], Pki]
) -> None:
    code, output = node.ask(pki)
    assert code != 0
    assert (
        "the Southbound database has no chassis compute1, whose row the agent needs. Run c5c3.ovn.hypervisors" in output
    )

    sbctl = ("ovn-sbctl", f"--db={node.southbound.sockets[0]}", "--no-leader-only")
    run(*sbctl, "--", "--id=@p", "create", "Chassis_Private", "name=compute1")
    code, output = node.ask(pki)
    assert code == 0, output
    code, output = node.ask(pki, ovn_system_id="other")
    assert code != 0
    assert "has no chassis other" in output

    due = {"ovn_metadata_agent_plan": {"certificate_due": True, "files": []}, "ovn_pki_state": {"needed": True}}
    code, output = node.ask(make_pki("other"), "apply", **due)
    assert code != 0
    assert "compute1 gets no new settings for its metadata agent: the Southbound database does not answer." in output
    assert "certificate" in output
    assert "Its certificate was replaced. The settings of the agent were not changed." in output

    node.southbound.kill_all()
    code, output = node.ask(pki)
    assert code != 0
    assert f"{node.southbound.endpoints[0]} is not reachable" in output
    assert "Run c5c3.ovn.status, or correct ovn_southbound_endpoints, then run again." in output


SYSTEMCTL = """#!/bin/sh
folder=/etc/systemd/system
state={state}
show() {{
    [ -e $folder/$1 ] && load=loaded || load=not-found
    [ -e $state/$1 ] && active=active || active=inactive
    printf 'Id=%s\\nLoadState=%s\\nUnitFileState=enabled\\nActiveState=%s\\nMainPID=0\\n\\n' "$1" $load $active
}}
case $1 in
show)
    while [ "$1" != -- ]; do shift; done
    shift
    for unit; do show "$unit"; done ;;
*) echo "$*" >> $state/verbs ;;
esac
case $1 in
start) touch $state/$2 ;;
stop) rm -f $state/$2 ;;
esac
"""
# The folder of units is one of the test for the processes of a run.
WITH_UNITS = ("unshare", "--mount", "sh", "-c", 'mount --bind "$0" /etc/systemd/system && exec "$@"')


class Machine:
    """A compute node where the whole role runs, systemd is a stand-in, and the role ovn_pki signs with the CA of the Southbound."""

    def __init__(self, root: pathlib.Path, southbound: RaftCluster, authority: Pki) -> None:
        self.root, self.southbound = root, southbound
        self.tls, self.config = root / "ovn-metadata-agent", root / "agent.ini"
        self.units, self.state, programs = root / "units", root / "state", root / "bin"
        for folder in (self.tls, self.units, self.state, programs):
            folder.mkdir(parents=True)
        (programs / "systemctl").write_text(SYSTEMCTL.format(state=self.state))
        (programs / "systemctl").chmod(0o755)
        self.environment = _playbooks.environment(root / "scratch", PATH=f"{programs}:{os.environ['PATH']}")
        certificate, private_key = authority.as_texts()
        self.variables: dict[str, t.Any] = {
            "ovn_address": "127.0.0.1",
            "ovn_pki_ca": {"certificate": certificate, "private_key": private_key},
            "ovn_metadata_agent_config_file": str(self.config),
            "ovn_neutron_group": "root",
            "ovn_metadata_agent_nova_host": "192.0.2.30",
            "ovn_metadata_agent_shared_secret": "secret",
            "ovn_southbound_endpoints": southbound.endpoints,
            "ovn_system_id": "node7",
        }
        record = {"name": "c5c3.ovn.ovn_pki", "tasks_from": "issued"}
        kind = {"ovn_pki_certificate": "chassis", "ovn_pki_issued_kind": "metadata-agent"}
        plays = [
            {"roles": ["c5c3.ovn.ovn_metadata_agent"]},
            {"tasks": [{"ansible.builtin.include_role": record, "vars": kind}]},  # as c5c3.ovn.neutron
        ]
        play = {"hosts": "ovn_hypervisors", "gather_facts": False}
        (root / "play.yml").write_text(json.dumps([{**play, **more} for more in plays]))
        self.central = root / "central"

    def register(self) -> None:
        sbctl = ("ovn-sbctl", f"--db={self.southbound.sockets[0]}", "--no-leader-only")
        run(*sbctl, "--", "--id=@p", "create", "Chassis_Private", "name=node7")

    def play(self, *arguments: str, groups: t.Mapping[str, t.Any] | None = None, **variables: t.Any) -> tuple[int, str]:
        central = {"central1": {"ovn_central_config_directory": str(self.central), "ansible_become": False}}
        hypervisors = {"compute1": {**self.variables, **variables}}
        every = {"ovn_central": {"hosts": central}, "ovn_hypervisors": {"hosts": hypervisors}, **(groups or {})}
        inventory = _playbooks.write_inventory(self.root / "inventory.yml", every)
        playbook = str(self.root / "play.yml")
        command = [*WITH_UNITS, str(self.units), *_playbooks.command("-i", str(inventory), playbook, *arguments)]
        done = subprocess.run(
            command, env=self.environment, capture_output=True, text=True, timeout=within(180), check=False
        )
        return done.returncode, " ".join((done.stdout + done.stderr).split())

    def listed(self) -> dict[str, str]:
        """When the certificates end that observers know of, by kind and holder."""
        found = parse_list((self.central / FILE_NAME).read_text())
        assert found is not None
        return {f"{one.kind} {one.holder}": one.not_after for one in found}

    def verbs(self) -> list[str]:
        """What systemd was told since the last call."""
        file = self.state / "verbs"
        told = file.read_text().splitlines() if file.exists() else []
        file.unlink(missing_ok=True)
        return [verb for verb in told if verb != "daemon-reload"]


@pytest.fixture
def machine(raft_cluster: MakeCluster, short_dir: pathlib.Path, pki: Pki) -> Machine:
    if os.geteuid() != 0:
        pytest.skip("NOT TESTED: the units of a machine are in a mount namespace, that needs root")
    return Machine(short_dir / "machine", raft_cluster(1, "southbound", tls=True), pki)


FIRST, SECOND = "neutron-ovn-metadata-agent.service", "neutron-ovn-agent.service"


def test_a_run_replaces_an_expired_certificate_and_the_other_program(machine: Machine, pki: Pki) -> None:
    machine.register()
    install(machine.tls, pki.issue("node7", days=-1))
    expired = (machine.tls / "chassis-cert.pem").read_bytes()
    for unit in (FIRST, SECOND):
        (machine.units / unit).write_text("[Service]\n")
    ours, others = (machine.units / f"{unit}.d" / "50-c5c3-ovn.conf" for unit in (FIRST, SECOND))
    others.parent.mkdir()
    others.write_text("[Service]\n")
    (machine.state / SECOND).touch()

    code, output = machine.play()
    assert code == 0, output
    issued = (machine.tls / "chassis-cert.pem").read_bytes()
    assert issued != expired
    (name,) = x509.load_pem_x509_certificate(issued).subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    assert name.value == "node7", "Southbound RBAC compares it with the name of the chassis"
    assert f"ovn_sb_connection = {machine.southbound.endpoints[0]}\n" in machine.config.read_text()
    assert machine.verbs() == [f"disable {SECOND}", f"stop {SECOND}", f"start {FIRST}"]
    assert "OVN_SETTINGS=" in ours.read_text()
    assert not others.exists()
    end = x509.load_pem_x509_certificate(issued).not_valid_after_utc
    assert machine.listed() == {"metadata-agent node7": f"{end:%Y-%m-%dT%H:%M:%SZ}"}, "observers warn before it ends"

    before = machine.config.read_bytes()
    for arguments in (["--check"], []):
        code, output = machine.play(*arguments, ovn_southbound_endpoints=["ssl:127.0.0.1:9"])
        assert code != 0, output
        assert "the Southbound database does not answer." in output
        assert "replaced" not in output
    assert (machine.tls / "chassis-cert.pem").read_bytes() == issued

    (machine.central / FILE_NAME).unlink()
    assert machine.play()[0] == 0
    machine.verbs()
    assert list(machine.listed()) == ["metadata-agent node7"], "found, after a run that was killed"

    (machine.units / SECOND).unlink()
    code, output = machine.play("--check", ovn_metadata_agent_program="neutron-ovn-agent")
    assert code != 0
    assert "compute1 gets no metadata agent: systemd cannot start its unit neutron-ovn-agent.service" in output
    assert (machine.config.read_bytes(), machine.verbs()) == (before, [])


def test_check_mode_refuses_all_but_a_control_plane_that_is_not_there_yet(short_dir: pathlib.Path) -> None:
    """With a control plane in Kubernetes. TLS is a text, as extra variables of the command line are."""
    options = {
        "ovn_tls": "false",
        "ovn_metadata_agent_nova_host": "192.0.2.30",
        "ovn_metadata_agent_shared_secret": "secret",
    }
    check = {"c5c3.ovn.metadata_agent_check": {}, "register": "check"}
    shown = {"ansible.builtin.debug": {"msg": "asks {{ check.asked_host }}, {{ check.tls }}"}}
    plan = {"c5c3.ovn.metadata_agent_plan": {}, "vars": {"ovn_central_answer": {"exists": False}}}
    rolled_out = {
        "ansible.builtin.set_fact": {"ovn_central_cluster": {"endpoints": {"southbound": ["tcp:192.0.2.1:6642"]}}}
    }
    playbook = short_dir / "play.yml"
    playbook.write_text(
        json.dumps(
            [
                {"hosts": "compute1", "gather_facts": False, "tasks": [check, shown, plan]},
                {"hosts": "cloud", "gather_facts": False, "tasks": [rolled_out]},
                {"hosts": "gateway1", "gather_facts": False, "roles": ["c5c3.ovn.ovn_metadata_agent"]},
            ]
        )
    )
    programs = short_dir / "bin"
    programs.mkdir()
    (programs / "systemctl").write_text(LOADED)
    (programs / "systemctl").chmod(0o755)
    groups: dict[str, t.Any] = {
        "ovn_central": {"hosts": {"cloud": {"ovn_backend": "kubernetes"}}},
        "ovn_hypervisors": {"hosts": {"compute1": {}, "gateway1": {}}},
        "ovn_gateways": {"hosts": {"gateway1": {}}},
    }
    inventory = _playbooks.write_inventory(short_dir / "inventory.yml", groups, **options)
    environment = _playbooks.environment(short_dir / "scratch", PATH=f"{programs}:{os.environ['PATH']}")
    done = _playbooks.run(["--check", "-i", str(inventory), str(playbook)], environment)
    output = " ".join((done.stdout + done.stderr).split())
    assert "asks cloud, False" in output, output
    assert "compute1 : ok=3 " in output, output
    assert "gateway1 is a gateway (group ovn_gateways) and gets no metadata agent" in output
