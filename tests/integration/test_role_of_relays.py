"""The role ovn_central in Kubernetes, before relays give chassis a role: the names in certificates of machines, by a real API server and real files."""

from __future__ import annotations

import pathlib
import re

import _playbooks
import pytest

pytest.importorskip("cryptography", reason="NOT TESTED: the Python library cryptography is missing")

from _apiserver import ApiServer
from _pki import Pki

PLAYBOOK = """
- hosts: plane
  gather_facts: false
  tasks:
    - ansible.builtin.include_role:
        name: c5c3.ovn.ovn_central
        tasks_from: kubernetes
"""
SUDO = """#!/bin/sh
shift 2
exec "$@"
"""
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


class NamedChassis:
    """A control plane that is an OVNCluster alone, the machine h1, and one that nobody reaches."""

    def __init__(self, root: pathlib.Path, server: ApiServer, namespace: str, pki: Pki) -> None:
        self.root, self.server, self.namespace, self.pki = root, server, namespace, pki
        self.path = f"/apis/ovn.c5c3.io/v1alpha1/namespaces/{namespace}/ovnclusters"
        (root / "sudo").write_text(SUDO)
        (root / "sudo").chmod(0o755)
        (root / "playbook.yml").write_text(PLAYBOOK)

    def declare(self, *, rbac: bool) -> None:
        self.server.define()
        resource = {"apiVersion": "ovn.c5c3.io/v1alpha1", "kind": "OVNCluster", "metadata": {"name": "ovn"}}
        self.server.request("POST", self.path, {**resource, "spec": {"relay": {"rbac": rbac}}})

    def remove(self) -> None:
        self.server.request("DELETE", f"{self.path}/ovn")

    def run(self, name: str) -> tuple[int, str]:
        """Run the tasks with a certificate of that name on h1."""
        files = self.pki.issue(name)
        plane = {
            "ovn_backend": "kubernetes",
            "ovn_kubeconfig": self.server.kubeconfig,
            "ovn_namespace": self.namespace,
        }
        machine = {
            "ovn_hypervisor_private_key": files.private_key,
            "ovn_hypervisor_certificate": files.certificate,
            "ovn_hypervisor_ca_certificate": files.ca_certificate,
            "ansible_become_exe": str(self.root / "sudo"),
            "ansible_become_flags": "",
        }
        away = {"ansible_connection": "ssh", "ansible_host": "127.0.0.1", "ansible_port": 1}
        groups: _playbooks.Groups = {
            "ovn_central": {"hosts": {"plane": plane}},
            "ovn_hypervisors": {"hosts": {"h1": machine, "h2": away}},
        }
        _playbooks.write_inventory(self.root / "hosts.yml", groups, ansible_remote_tmp=str(self.root / "remote"))
        env = _playbooks.environment(self.root / "local", ANSIBLE_BECOME_ALLOW_SAME_USER="1")
        done = _playbooks.run(["-i", "hosts.yml", "--check", "playbook.yml"], env, cwd=self.root)
        output = done.stdout + done.stderr
        assert "Traceback" not in output
        return done.returncode, re.sub(r"\s+", " ", output)


@pytest.fixture
def chassis(api_server: ApiServer, namespace: str, short_dir: pathlib.Path, pki: Pki) -> NamedChassis:
    return NamedChassis(short_dir, api_server, namespace, pki)


def test_a_certificate_with_another_name_keeps_chassis_from_a_role(chassis: NamedChassis) -> None:
    assert chassis.run("other")[0] == 0, "there is no control plane yet"
    rollout = "TASK [c5c3.ovn.ovn_central : Roll out the control plane]"
    chassis.declare(rbac=False)
    code, output = chassis.run("other")
    assert code != 0
    assert "The certificate of h1 has the name other, and its chassis is h1" in output
    output = chassis.run("h1")[1]
    assert rollout in output
    assert "The certificate of" not in output
    chassis.remove()
    chassis.declare(rbac=True)
    output = chassis.run("other")[1]
    assert rollout in output
    assert "The certificate of" not in output, "chassis have a role already, so nobody is asked"
