"""The rows of a machine that is dead go from a real Southbound database, where that runs; the role does it on a host and in pods."""

from __future__ import annotations

import json
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time
import typing as t

import pytest
from _chassis import module_on
from _installation import Installation, running
from _vswitch import Vswitch, require_vswitch
from conftest import MakeCluster, RaftCluster, RunModule, RunPlaybook, run, until, within

from ansible_collections.c5c3.ovn.plugins.module_utils._base.databases import Database
from ansible_collections.c5c3.ovn.plugins.module_utils._base.deadline import Deadline
from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import Refused, Unreachable
from ansible_collections.c5c3.ovn.plugins.module_utils._chassis.registration import LocalChassis
from ansible_collections.c5c3.ovn.plugins.module_utils._chassis.southbound_removal import (
    ListeningMembers,
    comes_back,
    delete_rows,
    refuse_living,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._control_plane.database_pods import DatabasePods
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.client import Cluster
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.command import ExecResult
from ansible_collections.c5c3.ovn.plugins.module_utils._ovsdb.endpoint import parse_endpoint
from ansible_collections.c5c3.ovn.plugins.module_utils._ovsdb.rows import Caller
from ansible_collections.c5c3.ovn.plugins.module_utils._ovsdb.tls_files import TlsFiles
from ansible_collections.c5c3.ovn.plugins.module_utils._report.installation import Installation as Declared
from ansible_collections.c5c3.ovn.plugins.module_utils._report.report import build_report
from ansible_collections.c5c3.ovn.plugins.modules.ovn_chassis_rows import execute

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
            until(lambda: "c1" not in self.names(), "the row to be deleted", seconds)
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


@pytest.fixture
def installation(raft_cluster: MakeCluster, short_dir: pathlib.Path) -> t.Iterator[Installation]:
    """A whole OVN with the chassis `c1`, which is the gateway of a router port and of a group."""
    require_vswitch()
    with running(raft_cluster, short_dir) as built:
        built.start_chassis("c1", "192.0.2.1", hostname="host1")
        nbctl = ["ovn-nbctl", "--wait=sb", "--no-leader-only", f"--db={','.join(built.northbound.sockets)}"]
        run(*nbctl, "lr-add", "r1", "--", "lrp-add", "r1", "lrp-a", "02:00:00:00:00:01", "198.51.100.1/24")
        run(*nbctl, "lrp-set-gateway-chassis", "lrp-a", "c1", "10", "--", "ha-chassis-group-add", "group-b")
        run(*nbctl, "ha-chassis-group-add-chassis", "group-b", "c1", "10")
        run(*nbctl, "lrp-add", "r1", "lrp-b", "02:00:00:00:00:02", "203.0.113.1/24")
        group = run(*nbctl, "--bare", "--columns=_uuid", "find", "HA_Chassis_Group", "name=group-b").strip()
        run(*nbctl, "set", "Logical_Router_Port", "lrp-b", f"ha_chassis_group={group}")
        until(lambda: run_sbctl(built, "--columns=name", "list", "Chassis").strip() == "c1", "the chassis c1")
        yield built


def run_sbctl(installation: Installation, *arguments: str) -> str:
    servers = ",".join(installation.southbound.sockets)
    return run("ovn-sbctl", "--no-leader-only", f"--db={servers}", "--bare", *arguments)


def test_living_machine_is_refused_before_anything_is_deleted(
    installation: Installation, run_module: RunModule
) -> None:
    dead = {**DEAD, "northbound": installation.northbound.sockets, "southbound": installation.southbound.sockets}
    rows = ("--columns=_uuid,name,encaps", "list", "Chassis")
    before = run_sbctl(installation, *rows)
    refused = run_module(MODULE, {**dead, "watch": 15}, may_fail=True)
    assert 'Chassis "c1" is alive: it has just answered heartbeat' in refused["msg"]
    assert "Nothing was changed" in refused["msg"]
    assert run_sbctl(installation, *rows) == before
    installation.chassis["c1"].daemons["ovn-controller"].kill()
    done = run_module(MODULE, dead)
    assert done["deleted_rows"] == ALL_ROWS
    assert not done["came_back"]
    # Its rows in the Northbound database stay, and the removal and the report name them.
    assert done["gateways"] == ["group-b", "lrp-a"]
    warning = 'Chassis "c1" is not registered, but is still a gateway of group-b, lrp-a.'
    assert warning in str(done["warnings"])
    answer = run_module("ovn_sync", installation.options)
    assert answer["lost_gateways"] == {"c1": ["group-b", "lrp-a"]}
    found = build_report(Declared(central={}, chassis={}, heartbeat=answer.result))["findings"]
    assert warning in next(one["message"] for one in found if one["code"] == "gateway_chassis_missing")


def test_copy_of_a_living_machine_keeps_the_rows_of_the_original(
    installation: Installation, run_module: RunModule, short_dir: pathlib.Path
) -> None:
    """The disk of host1 was copied: the settings name its chassis and its address, which the other host does not have."""
    run_module("ovn_sync", installation.options)
    with Vswitch(short_dir, "ch1") as copy:
        chassis = module_on(copy, run_module, on_loopback=True)
        chassis({"system_id": "c1", "hostname": "host1", "encapsulation": {"type": ["geneve"], "ip": ["192.0.2.1"]}})
        absent = {"state": "absent", "southbound": installation.southbound.sockets}
        before = (run_sbctl(installation, "--columns=_uuid,name", "list", "Chassis"), copy.dump())
        original = installation.chassis["c1"].daemons["ovn-controller"]
        for check in (True, False):
            original.signal(
                signal.SIGSTOP if check else signal.SIGCONT
            )  # its answer to the latest heartbeat is on its way
            run_module("ovn_sync", {**installation.options, "wait_for": "sb" if check else "hv"})
            refused = chassis(absent, check=check, may_fail=True)
            assert 'Chassis "c1" answers heartbeats, and its tunnel address 192.0.2.1 is not' in refused["msg"]
            assert "copy" in refused["msg"]
        assert (run_sbctl(installation, "--columns=_uuid,name", "list", "Chassis"), copy.dump()) == before
        confirmed = chassis({**absent, "allow_takeover": True})
        assert confirmed["deleted_rows"] == ALL_ROWS
        assert "still a gateway of group-b, lrp-a" in str(confirmed["warnings"])


class AskedMembers:
    """Members of a database; `before` runs before each question."""

    def __init__(self, cluster: RaftCluster, before: t.Callable[[], None] = lambda: None) -> None:
        self.members = ListeningMembers([parse_endpoint(socket) for socket in cluster.sockets], TlsFiles())
        self.before = before

    def ask(self, question: t.Callable[[Caller], t.Any], deadline: Deadline) -> t.Any:
        self.before()
        return self.members.ask(question, deadline)


def test_living_chassis_is_noticed_with_a_northd_that_is_busy(installation: Installation) -> None:
    """It passes the heartbeat on later than a chassis may take to answer."""
    seconds = within(2)
    end = time.monotonic() + seconds + 2

    def resume() -> None:
        if time.monotonic() > end:
            installation.northd("resume")

    installation.northd("pause")
    southbound, northbound = AskedMembers(installation.southbound, resume), AskedMembers(installation.northbound)
    with pytest.raises(Refused, match="is alive: it has just answered heartbeat"):
        refuse_living("c1", southbound, lambda: northbound, seconds, within(30))


def test_failure_after_the_deletion_says_what_was_deleted(southbound: Southbound) -> None:
    def fail() -> None:
        if southbound.names() != ["c1", "c2"]:
            raise Unreachable("No member answers.")

    params = {**DEAD, "cluster": None, "northbound": ["unix:/nowhere"], "timeout": 30, "watch": 0}
    with pytest.raises(Unreachable) as failure:
        execute(params, AskedMembers(southbound.cluster, fail), check_mode=False)
    assert failure.value.details["deleted_rows"] == ALL_ROWS


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
        words = [self.sockets[pod] if word.startswith("unix:/run/ovn/") else word for word in command]
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
    cluster.await_same_log()
    assert southbound.names() == ["c2"]
    assert not comes_back("c1", members, 0, 30)
    southbound.register("c1", "host1", "192.0.2.1")
    cluster.await_same_log()
    assert comes_back("c1", members, 0, 30)


def test_living_chassis_is_noticed_from_pods(installation: Installation) -> None:
    databases: dict[Database, RaftCluster] = {
        "northbound": installation.northbound,
        "southbound": installation.southbound,
    }
    northbound, southbound = (DatabasePods(Pods(cluster), "x", "ovn", name) for name, cluster in databases.items())
    with pytest.raises(Refused, match="is alive: it has just answered heartbeat"):
        refuse_living("c1", southbound, lambda: northbound, 15, 30)
    installation.chassis["c1"].daemons["ovn-controller"].kill()
    refuse_living("c1", southbound, lambda: northbound, 1, 30)


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
