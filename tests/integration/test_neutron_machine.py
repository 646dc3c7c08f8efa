"""The role ovn_neutron on a machine, as check mode foresees it. What it does to services is tested on machines."""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib
import typing as t

import _playbooks
import pytest
from neutron_options import OPTIONS

from ansible_collections.c5c3.ovn.plugins.module_utils._base.databases import DATABASES
from ansible_collections.c5c3.ovn.plugins.module_utils._roles.neutron import desired_neutron
from ansible_collections.c5c3.ovn.plugins.module_utils._roles.neutron_proxy import service_files

if t.TYPE_CHECKING:
    from _pki import Pki
    from conftest import MakeCluster

INCLUDE = {"name": "c5c3.ovn.ovn_pki", "tasks_from": "client_certificates"}
ISSUE = {
    "hosts": "ovn_central",
    "gather_facts": False,
    "tasks": [{"ansible.builtin.include_role": INCLUDE, "vars": {"ovn_pki_certificate": "central"}}],
}

SYSTEMCTL = """#!/bin/sh
# Every unit but the leader proxy runs, and systemd knows no file of it.
while [ "$1" != -- ]; do shift; done
shift
for unit; do
    case $unit in
    c5c3-*) state='LoadState=not-found\\nActiveState=inactive' ;;
    *) state='LoadState=loaded\\nUnitFileState=disabled\\nActiveState=active' ;;
    esac
    printf "Id=%s\\n$state\\n\\n" "$unit"
done
"""


class Machine:
    """A host where Neutron runs, and a control node that issues its certificate with the CA of the databases."""

    def __init__(self, root: pathlib.Path, authority: Pki, endpoints: t.Mapping[str, list[str]]) -> None:
        self.root, self.clients, programs = root, root / "pki/clients", root / "bin"
        programs.mkdir()
        (programs / "systemctl").write_text(SYSTEMCTL)
        (programs / "systemctl").chmod(0o755)
        self.environment = _playbooks.environment(root / "scratch", PATH=f"{programs}:{os.environ['PATH']}")
        certificate, private_key = authority.as_texts()
        self.variables: dict[str, t.Any] = {
            "ovn_address": "127.0.0.1",
            "ovn_pki_ca": {"certificate": certificate, "private_key": private_key},
            "ovn_pki_ca_directory_is_kept": True,
            "ovn_pki_ca_directory": str(self.clients.parent),
            "ovn_central_config_directory": str(root / "central"),
            "ovn_northbound_endpoints": endpoints["northbound"],
            "ovn_neutron_southbound_endpoints": endpoints["southbound"],
            "ovn_neutron_leader_proxy": "none",
            "ovn_neutron_directory": str(root / "neutron/ovn"),
            "ovn_neutron_config_file": str(root / "neutron.conf"),
            "ovn_neutron_group": "root",
        }

    def run(self, playbook: str, *arguments: str, **variables: t.Any) -> tuple[int, str]:
        groups = {"ovn_central": {"hosts": {"central1": {}}}, "ovn_controllers": {"hosts": {"controller1": {}}}}
        inventory = _playbooks.write_inventory(self.root / "inventory.yml", groups, **{**self.variables, **variables})
        done = _playbooks.run(["-i", str(inventory), playbook, *arguments], self.environment)
        return done.returncode, done.stdout + done.stderr

    def changes(self, **variables: t.Any) -> list[str]:
        """The tasks that change something on the host, which check mode has foreseen."""
        lists = []
        for arguments in (["--check", "--diff"], []):
            code, output = self.run("c5c3.ovn.neutron", *arguments, **variables)
            assert code == 0, output
            lists.append(_playbooks.changed_tasks(output, "controller1"))
        predicted, real = lists
        assert predicted == real
        return real


def of_task(output: str, name: str) -> str:
    return output.partition(f"{name}] ***")[2].partition("\nTASK [")[0]


@pytest.mark.parametrize(
    ("tls", "outcome", "config"),
    [
        pytest.param("false", "ok: ", {}, id="without TLS, as a text"),
        pytest.param(
            "true", "changed: ", {"DEFAULT": {"transport_url": "rabbit://neutron:1234@192.0.2.9"}}, id="with a password"
        ),
    ],
)
def test_a_certificate_comes_with_tls_alone_and_no_password_is_found_by_trial(
    short_dir: pathlib.Path,
    pki: Pki,
    raft_cluster: MakeCluster,
    tls: str,
    outcome: str,
    config: dict[str, dict[str, str]],
) -> None:
    endpoints = {name: list(raft_cluster(1, name).endpoints) for name in DATABASES}
    machine = Machine(short_dir, pki, endpoints)
    machine.variables.update(ovn_neutron_services=["test-c5c3-neutron"], ovn_neutron_config=config)
    role = {"hosts": "ovn_controllers", "gather_facts": False, "roles": ["c5c3.ovn.ovn_neutron"]}
    playbook = short_dir / "play.yml"
    playbook.write_text(json.dumps([ISSUE, role] if tls == "true" else [role]))
    code, output = machine.run(str(playbook), "--check", "--diff", "-e", f"ovn_tls={tls}")
    assert code == 0, output
    assert f"\n{outcome}[controller1]" in of_task(output, "Replace the certificate of Neutron"), output
    assert not (short_dir / "neutron").exists()
    assert "1234" not in output
    options = dataclasses.replace(
        OPTIONS, tls=tls == "true", config=config, leader_proxy="none", directory=f"{short_dir}/neutron/ovn"
    )
    text = desired_neutron("controller1", options, endpoints).config
    assert ("1234" in text) is bool(config)
    (drop_in,) = service_files(["test-c5c3-neutron"], text, has_secret=bool(config))
    found = of_task(output, "Run Neutron with its settings")
    assert drop_in["path"] in found
    assert drop_in["content"].splitlines()[-1] in found


def test_check_mode_foresees_a_certificate_that_the_same_run_issues(
    short_dir: pathlib.Path, raft_cluster: MakeCluster, pki: Pki, make_pki: t.Callable[[str], Pki]
) -> None:
    if os.geteuid() != 0:
        pytest.skip("NOT TESTED: the playbook becomes root")
    databases = {name: raft_cluster(1, name, tls=True) for name in DATABASES}
    machine = Machine(short_dir, pki, {name: list(one.endpoints) for name, one in databases.items()})
    replaced = "Replace the certificate of Neutron"
    assert machine.changes() == [replaced, "Run Neutron with its settings"]

    (machine.clients / "neutron-key.pem").chmod(0o644)
    assert machine.changes() == [], "the control node repairs its own file, with the same contents"
    before = (short_dir / "neutron/ovn/current/cert.pem").read_text()
    assert machine.changes(ovn_pki_renew_before_days=370, ovn_pki_validity_days=400) == [replaced]
    assert (short_dir / "neutron/ovn/current/cert.pem").read_text() != before

    other, _key = make_pki("other").as_texts()
    assert machine.changes(ovn_pki_ca={**machine.variables["ovn_pki_ca"], "bundle_extra": other}) == [replaced]
    assert other.strip() in (short_dir / "neutron/ovn/current/ca.pem").read_text()

    (machine.clients / "neutron-cert.pem").unlink()
    for arguments in (["--check"], []):
        code, output = machine.run("c5c3.ovn.neutron", *arguments, ovn_pki_clients=[])
        assert code != 0, output
        assert "neutron-cert.pem is not on the control node. Give ovn_pki_clients the entry neutron" in output
