"""The rows of a machine that is dead go from a real Southbound database, where that runs; the role does it on a host and in pods."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys
import tempfile
import threading
import time
import typing as t

import pytest
from conftest import MakeCluster, RaftCluster, RunModule, RunPlaybook, run

from ansible_collections.c5c3.ovn.plugins.module_utils._chassis.registration import LocalChassis
from ansible_collections.c5c3.ovn.plugins.module_utils._chassis.southbound_removal import comes_back, delete_rows
from ansible_collections.c5c3.ovn.plugins.module_utils._control_plane.database_pods import DatabasePods
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.client import Cluster
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.command import ExecResult

DEAD: dict[str, t.Any] = {"system_id": "c1", "hostname": "host1", "addresses": ["192.0.2.1"]}
ALL_ROWS = {"Chassis": ["c1"], "Chassis_Private": ["c1"], "Encap": ["geneve 192.0.2.1"]}
MODULE = "ovn_chassis_rows"


class Southbound:
    """A database with the chassis `c1` of host1 and `c2` of host2."""

    def __init__(self, cluster: RaftCluster) -> None:
        self.cluster = cluster
        self.sbctl("init")
        self.register("c1", "host1", "192.0.2.1")
        self.register("c2", "host2", "192.0.2.2")

    def sbctl(self, *arguments: str) -> str:
        return run("ovn-sbctl", f"--db={','.join(self.cluster.sockets)}", "--no-leader-only", *arguments)

    def register(self, name: str, hostname: str, ip: str) -> None:
        """As ovn-controller does."""
        self.sbctl(
            *("chassis-add", name, "geneve", ip, "--", "set", "Chassis", name, f"hostname={hostname}"),
            *("--", "--id=@p", "create", "Chassis_Private", f"name={name}"),
        )

    def names(self, table: str = "Chassis") -> list[str]:
        return sorted(self.sbctl("--bare", "--columns=name", "list", table).split())

    def registers_again(self, seconds: float = 20) -> threading.Thread:
        """A controller that lives writes its row as soon as that is missing."""

        def watch() -> None:
            end = time.monotonic() + seconds
            while "c1" in self.names() and time.monotonic() < end:
                time.sleep(0.1)
            self.register("c1", "host1", "192.0.2.1")

        controller = threading.Thread(target=watch)
        controller.start()
        return controller


@pytest.fixture
def southbound(raft_cluster: MakeCluster) -> Southbound:
    return Southbound(raft_cluster(1, "southbound"))


def test_the_rows_go_and_a_second_run_finds_none(southbound: Southbound, run_module: RunModule) -> None:
    dead = {**DEAD, "southbound": southbound.cluster.sockets}
    predicted = run_module(MODULE, dead, check=True)
    assert southbound.names() == ["c1", "c2"]
    done = run_module(MODULE, dead)
    for ran in (predicted, done):
        assert ran["changed"]
        assert ran["deleted_rows"] == ran["diff"]["before"]["southbound"] == ALL_ROWS
        assert not ran["came_back"]
    assert southbound.names() == southbound.names("Chassis_Private") == ["c2"]
    for check in (True, False):
        again = run_module(MODULE, dead, check=check)
        assert not again["changed"]
        assert again["deleted_rows"] == {}


def test_an_orphaned_private_row_goes_too(southbound: Southbound, run_module: RunModule) -> None:
    southbound.sbctl("destroy", "Chassis", "c1")
    ran = run_module(MODULE, {**DEAD, "southbound": southbound.cluster.sockets})
    assert ran["deleted_rows"] == {"Chassis_Private": ["c1"]}
    assert southbound.names("Chassis_Private") == ["c2"]


def test_a_machine_that_lives_is_noticed(southbound: Southbound, run_module: RunModule) -> None:
    controller = southbound.registers_again()
    ran = run_module(MODULE, {**DEAD, "southbound": southbound.cluster.sockets, "watch": 15})
    controller.join()
    assert ran["changed"]
    assert ran["came_back"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        pytest.param({"hostname": "host9", "addresses": ["192.0.2.9"]}, "belongs to host host1", id="another host"),
        pytest.param({"system_id": "node"}, 'belongs to Kubernetes cluster "rack7"', id="a node of a cluster"),
    ],
)
@pytest.mark.parametrize("check", [True, False], ids=["check mode", "run"])
def test_a_row_of_somebody_else_stays(
    southbound: Southbound, run_module: RunModule, change: dict[str, t.Any], words: str, check: bool
) -> None:
    southbound.register("node", "host1", "192.0.2.3")
    southbound.sbctl("set", "Chassis", "node", 'other_config:ovn-cms-options="c5c3-ovn-owner=rack7"')
    dead = {**DEAD, "southbound": southbound.cluster.sockets, **change}
    refused = run_module(MODULE, dead, check=check, may_fail=True)
    assert refused.failed
    assert words in refused["msg"]
    assert "Nothing was changed" in refused["msg"]
    assert southbound.names() == ["c1", "c2", "node"]


@pytest.mark.parametrize(
    "change",
    [{"hostname": "other"}, {"addresses": []}, {"addresses": ["compute1.example.com"]}],
    ids=["by its address", "by its name", "the inventory has a name instead of an address"],
)
def test_one_sign_is_enough(southbound: Southbound, run_module: RunModule, change: dict[str, t.Any]) -> None:
    ran = run_module(MODULE, {**DEAD, "southbound": southbound.cluster.sockets, "watch": 0, **change})
    assert ran["deleted_rows"] == ALL_ROWS


class Pods(Cluster):
    """Pods whose commands run here, on the sockets of the members; `down` do not answer."""

    def __init__(self, cluster: RaftCluster, down: t.Container[str] = ()) -> None:
        """Without a connection."""
        self.sockets = {member.name: member.socket for member in cluster.members}
        self.down = down

    def list(self, *_arguments: t.Any, **_options: t.Any) -> t.Any:
        state = {"containerStatuses": [{"name": "database", "state": {"running": {}}}]}
        return [{"metadata": {"name": name}, "status": state} for name in self.sockets]

    def exec(self, _namespace: str, pod: str, _container: str, command: t.Any, **_options: t.Any) -> ExecResult:
        if pod in self.down:
            return ExecResult(1, "", "no answer")
        words = [self.sockets[pod] if word == "unix:/run/ovn/ovnsb_db.sock" else word for word in command]
        ended = subprocess.run(words, capture_output=True, text=True, timeout=30, check=False)
        return ExecResult(ended.returncode, ended.stdout, ended.stderr)


def test_in_pods_any_member_does(raft_cluster: MakeCluster) -> None:
    """Also a follower, and also if the first one does not answer."""
    cluster = raft_cluster(3, "southbound")
    southbound = Southbound(cluster)
    first, second, last = sorted(cluster.members, key=lambda member: (not member.is_leader, member.name))
    members = DatabasePods(Pods(cluster, {first.name, second.name}), "x", "ovn", "southbound")
    assert last is not cluster.leader
    dead = LocalChassis("c1", "host1", frozenset())
    assert delete_rows(dead, members, 30, module=MODULE, check_mode=True) == ALL_ROWS
    assert southbound.names() == ["c1", "c2"]
    assert delete_rows(dead, members, 30, module=MODULE, check_mode=False) == ALL_ROWS
    assert southbound.names() == ["c2"]
    assert not comes_back("c1", members, 0, 30)
    southbound.register("c1", "host1", "192.0.2.1")
    assert comes_back("c1", members, 0, 30)


@pytest.fixture
def run_directory(southbound: Southbound) -> t.Iterator[str]:
    """Where the central host has its sockets, which is not where Debian has them."""
    with tempfile.TemporaryDirectory(prefix="c5c3-ovn-test-", dir="/run") as name:
        member = southbound.cluster.sockets[0].removeprefix("unix:")
        pathlib.Path(name, "ovnsb_db.sock").symlink_to(member)
        yield name


def test_the_role(
    southbound: Southbound, run_playbook: RunPlaybook, short_dir: pathlib.Path, run_directory: str
) -> None:
    """The dead machine is not contacted, nor is anybody but the central host."""
    local = {
        "ansible_connection": "local",
        "ansible_python_interpreter": sys.executable,
        "ovn_central_distribution": {"run_directory": run_directory},
    }
    dead = {"ansible_host": "192.0.2.1", "ovn_system_id": "c1"}
    groups = {"ovn_central": {"hosts": {"db1": local}}, "ovn_hypervisors": {"hosts": {"compute1": dead}}}
    inventory = short_dir / "hosts.yml"
    inventory.write_text(json.dumps({"all": {"children": groups}}))
    play: dict[str, t.Any] = {"hosts": "ovn_hypervisors", "gather_facts": False}
    play["tasks"] = [
        {
            "ansible.builtin.include_role": {"name": "c5c3.ovn.ovn_hypervisor"},
            "vars": {"ovn_hypervisor_state": "gone"},
        }
    ]
    for arguments, changed, names in (
        (["--check"], 1, ["c1", "c2"]),
        ([], 1, ["c2"]),
        (["--check"], 0, ["c2"]),
        ([], 0, ["c2"]),
    ):
        assert f"changed={changed} " in run_playbook([play], *arguments, inventory=str(inventory))
        assert southbound.names() == names

    southbound.register("c1", "host1", "192.0.2.1")
    controller = southbound.registers_again(60)
    with pytest.raises(pytest.fail.Exception, match="compute1 is alive: its chassis c1 came back at once"):
        run_playbook([play], inventory=str(inventory))
    controller.join()
