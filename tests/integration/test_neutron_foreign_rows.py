"""The role ovn_neutron on a machine beside other owners of the Northbound: what a repair of Neutron would delete is refused before anything changes."""

from __future__ import annotations

import json
import os
import pathlib
import typing as t

import _owners
import _playbooks
from conftest import MakeCluster, Pki

SYSTEMCTL = """#!/bin/sh
while [ "$1" != -- ]; do shift; done
shift
for unit; do printf 'Id=%s\\nLoadState=not-found\\nActiveState=inactive\\n\\n' "$unit"; done
"""


def test_repair_is_refused_beside_rows_of_others(short_dir: pathlib.Path, raft_cluster: MakeCluster, pki: Pki) -> None:
    clusters = {database: raft_cluster(1, database, tls=True) for database in ("northbound", "southbound")}
    programs, clients = short_dir / "bin", short_dir / "clients"
    for folder in (programs, clients):
        folder.mkdir()
    (programs / "systemctl").write_text(SYSTEMCTL)
    (programs / "systemctl").chmod(0o755)
    files = pki.issue("neutron")
    for name, path in zip(
        ("neutron-key.pem", "neutron-cert.pem", "ca.pem"), (files.private_key, files.certificate, files.ca_certificate)
    ):
        (clients / name).write_bytes(pathlib.Path(path).read_bytes())
    config, directory = short_dir / "neutron.conf", short_dir / "neutron"
    host = {
        "ovn_northbound_endpoints": clusters["northbound"].endpoints,
        "ovn_neutron_southbound_endpoints": clusters["southbound"].endpoints,
        "ovn_pki_ca_directory": str(clients.parent),
        "ovn_neutron_directory": str(directory / "ovn"),
        "ovn_neutron_config_file": str(config),
        "ovn_neutron_group": "root",
        "ovn_neutron_leader_proxy": "none",
    }
    playbook = short_dir / "play.yml"
    playbook.write_text(
        json.dumps([{"hosts": "ovn_controllers", "gather_facts": False, "roles": ["c5c3.ovn.ovn_neutron"]}])
    )
    env = _playbooks.environment(short_dir / "scratch", PATH=f"{programs}:{os.environ['PATH']}")

    def run(*arguments: str, **variables: t.Any) -> tuple[int, str]:
        groups = {"ovn_controllers": {"hosts": {"controller1": {**host, **variables}}}}
        inventory = _playbooks.write_inventory(short_dir / "inventory.yml", groups)
        done = _playbooks.run(["-i", str(inventory), str(playbook), *arguments], env)
        return done.returncode, " ".join((done.stdout + done.stderr).split())

    def settings() -> tuple[str, list[str]]:
        return config.read_text(), sorted(path.name for path in directory.rglob("*"))

    repair = {"ovn_neutron_sync_mode": "repair"}
    code, output = run("--check", **repair)
    assert code == 0, output
    code, output = run(**repair)
    assert code == 0, output
    assert "neutron_sync_mode = repair\n" in config.read_text()
    code, output = run()
    assert code == 0, output

    before = settings()
    _owners.fill(clusters["northbound"].members[0].socket)
    for arguments in ([], ["--check"]):
        code, output = run(*arguments, **repair)
        assert code != 0, output
        assert "Neutron of controller1 does not get ovn_neutron_sync_mode repair, with which Neutron deletes" in output
        assert "kube-ovn 30" in output
        assert "setting ovn_neutron_permit to delete_foreign_rows lets Neutron delete them" in output
        assert settings() == before
    # Neutron deletes nothing when it starts with these.
    for mode in ("migrate", "off"):
        code, output = run("--check", ovn_neutron_sync_mode=mode)
        assert code == 0, output
    code, output = run(**repair, ovn_neutron_permit="delete_foreign_rows")
    assert code == 0, output
    assert "neutron_sync_mode = repair\n" in config.read_text()
