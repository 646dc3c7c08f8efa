"""What the role ovn_metadata_agent says of a Southbound before it gives its endpoints to the agent, on a real one."""

from __future__ import annotations

import json
import pathlib
import shutil
import typing as t

import _playbooks
import pytest
from conftest import MakeCluster, Pki, RaftCluster, run


class Node:
    """This machine as a compute node: `ask` runs the tasks that ask the Southbound, with a certificate of this CA."""

    def __init__(self, root: pathlib.Path, southbound: RaftCluster) -> None:
        self.root, self.southbound = root, southbound
        self.playbook = root / "play.yml"
        include = {"name": "c5c3.ovn.ovn_metadata_agent", "tasks_from": "southbound"}
        task = {"name": "Ask", "ansible.builtin.include_role": include}
        self.playbook.write_text(json.dumps([{"hosts": "all", "gather_facts": False, "tasks": [task]}]))

    def ask(self, pki: Pki, **variables: t.Any) -> tuple[int, str]:
        files = pki.issue("compute1")
        shutil.copy(files.private_key, self.root / "chassis-key.pem")
        shutil.copy(files.certificate, self.root / "chassis-cert.pem")
        shutil.copy(files.ca_certificate, self.root / "ca.pem")
        host = {
            "ovn_metadata_agent_directory": str(self.root),
            "ovn_metadata_agent_nova_host": "192.0.2.30",
            "ovn_metadata_agent_shared_secret": "secret",
            "ovn_metadata_agent_southbound_endpoints": self.southbound.endpoints,
            "ovn_metadata_agent_timeout": 5,
            **variables,
        }
        groups = {"ovn_hypervisors": {"hosts": {"compute1": host}}}
        inventory = _playbooks.write_inventory(self.root / "inventory.yml", groups)
        done = _playbooks.run(["-i", str(inventory), str(self.playbook)], _playbooks.environment(self.root / "scratch"))
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

    code, output = node.ask(make_pki("other"))
    assert code != 0
    assert "compute1 gets no new settings for its metadata agent: the Southbound database does not answer." in output
    assert "certificate" in output
    assert "The settings of the agent were not changed." in output

    node.southbound.kill_all()
    code, output = node.ask(pki)
    assert code != 0
    assert f"{node.southbound.endpoints[0]} is not reachable" in output
    assert "Run c5c3.ovn.status, or correct ovn_metadata_agent_southbound_endpoints, then run again." in output
