"""Modules that roles and playbooks call in tasks of their own, with a kubeconfig in a vault; steps of roles are in test_role_action.py."""

from __future__ import annotations

import json
import pathlib
import typing as t

import _playbooks
import pytest

CONTENT = {
    "kind": "Config",
    "current-context": "a",
    "clusters": [{"name": "a", "cluster": {"server": "http://127.0.0.1:9"}}],
    "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}],
    "users": [],
}


@pytest.mark.parametrize(
    ("module", "options"),
    [
        pytest.param("ovn_cluster_info", {}, id="ovn_cluster_info"),
        pytest.param(
            "ovn_database_info",
            {"cluster": "ovn", "database": "southbound", "tables": ["Chassis"]},
            id="ovn_database_info",
        ),
    ],
)
def test_kubeconfig_in_a_vault_is_read(
    module: str, options: dict[str, t.Any], tmp_path: pathlib.Path, collection_path: str
) -> None:
    """Nothing listens at the address in it, and without the password nobody knows the address."""
    password, kubeconfig, playbook = (tmp_path / name for name in ("password", "kubeconfig", "play.yml"))
    password.write_text("secret")
    kubeconfig.write_text(json.dumps(CONTENT))
    env = _playbooks.environment(tmp_path / "tmp", collection_path, ANSIBLE_REMOTE_TEMP=str(tmp_path / "tmp"))
    vault = ["--vault-password-file", str(password)]
    done = _playbooks.run(["encrypt", *vault, str(kubeconfig)], env, program="ansible-vault")
    assert done.returncode == 0, done.stderr
    task = {f"c5c3.ovn.{module}": {"kubeconfig": str(kubeconfig), **options}}
    playbook.write_text(json.dumps([{"hosts": "all", "gather_facts": False, "tasks": [task]}]))
    inventory = _playbooks.write_inventory(tmp_path / "hosts.yml", {"ovn_central": {"hosts": {"cluster": {}}}})
    done = _playbooks.run(["-i", str(inventory), *vault, str(playbook)], env)
    assert done.returncode == 2, done.stdout + done.stderr
    assert "port=9" in done.stdout or "127.0.0.1:9" in done.stdout, done.stdout + done.stderr
    assert "the collection kubernetes.core" not in done.stdout
