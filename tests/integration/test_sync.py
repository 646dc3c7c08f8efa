"""ovn_sync and ovn_central_info against real databases, northd and ovn-controllers."""

from __future__ import annotations

import concurrent.futures
import contextlib
import dataclasses
import pathlib
import signal
import subprocess
import time
import typing as t

import pytest
from _vswitch import Vswitch, require_vswitch
from conftest import Daemon, MakeCluster, Pki, RaftCluster, RunModule, run, until, within


@dataclasses.dataclass
class Installation:
    """A whole OVN on loopback: both databases, northd and chassis."""

    northbound: RaftCluster
    southbound: RaftCluster
    directory: pathlib.Path
    northds: list[Daemon] = dataclasses.field(default_factory=list)
    chassis: dict[str, Vswitch] = dataclasses.field(default_factory=dict)

    def northd_socket(self, index: int = 0) -> str:
        return str(self.directory / f"northd{index}.ctl")

    def start_northd(self) -> Daemon:
        index = len(self.northds)
        self.northds.append(
            Daemon(
                [
                    "ovn-northd",
                    "-vconsole:off",
                    "--no-chdir",
                    f"--ovnnb-db={','.join(self.northbound.sockets)}",
                    f"--ovnsb-db={','.join(self.southbound.sockets)}",
                    f"--unixctl={self.northd_socket(index)}",
                ],
                self.directory / f"northd{index}.out",
            )
        )
        until(pathlib.Path(self.northd_socket(index)).exists, "northd's control socket")
        return self.northds[-1]

    def northd(self, command: str, index: int = 0) -> str:
        return run("ovn-appctl", "-T", "10", "-t", self.northd_socket(index), command).strip()

    def start_chassis(self, name: str, ip: str, **external_ids: str) -> Vswitch:
        chassis = Vswitch(self.directory, name)
        self.chassis[name] = chassis
        chassis.start()
        chassis.start_vswitchd()
        settings = {
            "system-id": name,
            "hostname": f"{name}.example.com",
            "ovn-remote": f'"{",".join(self.southbound.sockets)}"',
            "ovn-encap-type": "geneve",
            "ovn-encap-ip": ip,
            "ovn-bridge-datapath-type": "netdev",
            **external_ids,
        }
        chassis.vsctl("set", "open", ".", *(f"external_ids:{key}={value}" for key, value in settings.items()))
        chassis.start_controller()
        return chassis

    @property
    def options(self) -> dict[str, t.Any]:
        return {"northbound": self.northbound.sockets, "southbound": self.southbound.sockets, "timeout": 20}


@pytest.fixture
def installation(raft_cluster: MakeCluster, short_dir: pathlib.Path) -> t.Iterator[Installation]:
    built = Installation(raft_cluster(3, "northbound"), raft_cluster(3, "southbound"), short_dir)
    with contextlib.ExitStack() as stack:
        stack.callback(lambda: [chassis.stop() for chassis in built.chassis.values()])
        stack.callback(lambda: [northd.kill() for northd in built.northds])
        built.start_northd()
        until(lambda: built.northd("status") == "Status: active", "northd to be active")
        servers = ",".join(built.options["northbound"])
        until(lambda: run("ovn-nbctl", f"--db={servers}", "--bare", "list", "NB_Global"), "northd to have worked once")
        yield built


def registered(installation: Installation, run_module: RunModule, count: int) -> None:
    def all_there() -> bool:
        return len(run_module("ovn_sync", installation.options, check=True)["chassis"]) == count

    until(all_there, f"{count} chassis", timeout=40)


def test_a_round_trip_without_chassis(installation: Installation, run_module: RunModule) -> None:
    first = run_module("ovn_sync", installation.options)
    second = run_module("ovn_sync", installation.options)
    assert second["nb_cfg"] == first["nb_cfg"] + 1
    assert not second["changed"]
    assert second["northd_alive"]
    assert second["probed"]
    assert 0 <= second["sb_ms"] <= second["hv_ms"] < 10000
    assert (second["chassis"], second["late"], second["alive_count"]) == ([], [], 0)
    assert second["northd_version"].startswith("2")
    assert set(second["schema_versions"]) == {"northbound", "southbound"}


def test_check_mode_and_none_send_nothing(installation: Installation, run_module: RunModule) -> None:
    before = run_module("ovn_sync", installation.options)["nb_cfg"]
    assert run_module("ovn_sync", installation.options, check=True)["nb_cfg"] == before
    looked = run_module("ovn_sync", {**installation.options, "wait_for": "none"})
    assert looked["nb_cfg"] == before
    assert looked["northd_alive"]
    assert not looked["probed"]
    assert looked["sb_ms"] is None


def test_heartbeats_at_the_same_time(installation: Installation, run_module: RunModule) -> None:
    before = run_module("ovn_sync", installation.options)["nb_cfg"]
    with concurrent.futures.ThreadPoolExecutor() as pool:
        runs = [pool.submit(run_module, "ovn_sync", installation.options) for _run in range(3)]
        numbers = sorted(run.result()["nb_cfg"] for run in runs)
    assert numbers == [before + 1, before + 2, before + 3]


def test_a_follower_is_good_enough(installation: Installation, run_module: RunModule) -> None:
    follower = installation.northbound.followers[0]
    endpoints = ["unix:/nowhere/db.sock", follower.socket]
    assert run_module("ovn_sync", {**installation.options, "northbound": endpoints})["northd_alive"]


def test_a_paused_northd_is_reported(installation: Installation, run_module: RunModule) -> None:
    installation.northd("pause")
    ran = run_module("ovn_sync", {**installation.options, "timeout": 3})
    assert not ran["northd_alive"]
    assert not ran["probed"]
    assert "has not answered heartbeat" in ran["reason"]
    info = {"run_directory": str(installation.directory), "northd_control_socket": installation.northd_socket()}
    assert run_module("ovn_central_info", info)["northd"]["state"] == "paused"
    installation.northd("resume")
    assert run_module("ovn_sync", installation.options)["northd_alive"]


def test_a_northd_that_lost_its_database_is_awaited(installation: Installation, run_module: RunModule) -> None:
    info = {"run_directory": str(installation.directory), "northd_control_socket": installation.northd_socket()}
    installation.northbound.kill_all()
    until(lambda: installation.northd("nb-connection-status") == "not connected", "northd to notice the loss")
    assert run_module("ovn_central_info", info)["northd"]["northbound_connected"] is False
    with concurrent.futures.ThreadPoolExecutor() as pool:
        waiting = pool.submit(run_module, "ovn_central_info", {**info, "wait_timeout": 30})
        for member in installation.northbound.members:
            member.start(wait=False)
        assert waiting.result()["northd"]["northbound_connected"]


def test_living_frozen_and_dead_chassis(installation: Installation, run_module: RunModule) -> None:
    require_vswitch()
    installation.start_chassis(
        "one",
        "198.51.100.11",
        **{"ovn-bridge-mappings": '"physnet1:br-ex,physnet2:br-vlan"', "ovn-cms-options": "enable-chassis-as-gw"},
    )
    two = installation.start_chassis("two", "198.51.100.12")
    registered(installation, run_module, 2)
    ran = run_module("ovn_sync", installation.options)
    assert ran["late"] == []
    assert ran["alive_count"] == 2
    assert ran["hv_ms"] is not None
    one = ran["chassis"][0]
    assert (one["name"], one["hostname"], one["alive"], one["gateway"]) == ("one", "one.example.com", True, True)
    assert one["encapsulations"] == [{"type": "geneve", "ip": "198.51.100.11"}]
    assert one["bridge_mappings"] == [
        {"physical_network": "physnet1", "bridge": "br-ex"},
        {"physical_network": "physnet2", "bridge": "br-vlan"},
    ]
    assert one["nb_cfg"] == ran["nb_cfg"]
    assert abs(one["nb_cfg_timestamp"] / 1000 - time.time()) < 60

    two.daemons["ovn-controller"].signal(signal.SIGSTOP)
    frozen = run_module("ovn_sync", {**installation.options, "timeout": 4})
    assert frozen["late"] == ["two"]
    assert frozen["hv_ms"] is None
    assert frozen["alive_count"] == 1
    assert run_module("ovn_sync", {**installation.options, "wait_for": "none"})["late"] == ["two"]
    two.daemons["ovn-controller"].signal(signal.SIGCONT)
    assert run_module("ovn_sync", installation.options)["late"] == []

    two.daemons["ovn-controller"].kill()
    assert run_module("ovn_sync", {**installation.options, "timeout": 4})["late"] == ["two"]


def test_without_quorum_the_write_is_not_confirmed(installation: Installation, run_module: RunModule) -> None:
    leader = installation.northbound.leader
    for member in installation.northbound.members:
        if member is not leader:
            member.kill()
    ran = run_module("ovn_sync", {**installation.options, "timeout": 4}, may_fail=True)
    assert ran.failed
    assert ran.seconds < within(10)


def test_nobody_there(run_module: RunModule) -> None:
    ran = run_module("ovn_sync", {"northbound": ["unix:/nowhere/db.sock"], "timeout": 3}, may_fail=True)
    assert ran.failed
    assert "/nowhere/db.sock is not reachable" in ran["msg"]


def test_a_fresh_database_is_reported(raft_cluster: MakeCluster, run_module: RunModule) -> None:
    northbound, southbound = raft_cluster(1, "northbound"), raft_cluster(1, "southbound")
    endpoints = {"northbound": northbound.sockets, "southbound": southbound.sockets}
    ran = run_module("ovn_sync", {**endpoints, "timeout": 5}, may_fail=True)
    assert "has no row in NB_Global" in ran["msg"]


def test_tls(raft_cluster: MakeCluster, pki: Pki, run_module: RunModule) -> None:
    northbound = raft_cluster(1, "northbound", tls=True)
    southbound = raft_cluster(1, "southbound", tls=True)
    subprocess.run(["ovn-nbctl", f"--db={northbound.sockets[0]}", "init"], check=True)
    subprocess.run(["ovn-sbctl", f"--db={southbound.sockets[0]}", "init"], check=True)
    client = pki.issue("client", days=20.5).options()
    endpoints = {"northbound": northbound.endpoints, "southbound": southbound.endpoints}
    ran = run_module("ovn_sync", {**endpoints, **client, "wait_for": "sb", "timeout": 2})
    assert not ran["northd_alive"]


def test_certificates_that_are_served(raft_cluster: MakeCluster, pki: Pki, run_module: RunModule) -> None:
    northbound = raft_cluster(1, "northbound", tls=True)
    member = northbound.members[0]
    client = pki.issue("client").options()
    endpoints = [member.endpoint, "ssl:127.0.0.99:1"]
    ran = run_module("ovn_central_info", {"run_directory": "/nowhere", "endpoints": endpoints, **client})
    served, closed = ran["certificates"]
    assert (served["subject"], served["days_left"], served["problem"]) == ("m1-nb0", 29, "")
    assert "Connection refused" in closed["problem"]
    assert ran["northd"]["state"] == "unreachable"
    assert "/nowhere/ovn-northd.ctl" in ran["northd"]["reason"]


def test_a_port_whose_server_hangs_is_no_good_port(raft_cluster: MakeCluster, run_module: RunModule) -> None:
    """The kernel still accepts connections for it."""
    (member,) = raft_cluster(1, "northbound").members
    member.freeze()
    arguments = {"run_directory": "/nowhere", "endpoints": [member.endpoint], "timeout": 1}
    (port,) = run_module("ovn_central_info", arguments)["certificates"]
    assert "did not answer within 1 s" in port["problem"]


def test_what_a_central_host_tells(installation: Installation, run_module: RunModule) -> None:
    for service, cluster in (("ovnnb_db", installation.northbound), ("ovnsb_db", installation.southbound)):
        for kind in ("ctl", "sock"):
            (installation.directory / f"{service}.{kind}").symlink_to(cluster.members[0].directory / f"db.{kind}")
    installation.start_northd()
    states = []
    for index in range(2):
        arguments = {
            "run_directory": str(installation.directory),
            "northd_control_socket": installation.northd_socket(index),
        }
        ran = run_module("ovn_central_info", arguments)
        assert ran["northd"]["southbound_connected"]
        assert ran["northd"]["version"].startswith("2")
        states.append(ran["northd"]["state"])
    assert states == ["active", "standby"]
    assert set(ran["databases"]) == {"northbound", "southbound"}
    for database in ran["databases"].values():
        assert database["version"]
        assert database["schema_version"]
        assert database["reason"] == ""
