"""ovn_sync and ovn_central_info against real databases, northd and ovn-controllers."""

from __future__ import annotations

import concurrent.futures
import pathlib
import signal
import subprocess
import time
import typing as t

import pytest
from _hidden_library import hide
from _installation import Installation, running
from _vswitch import require_vswitch
from conftest import MakeCluster, Pki, RunModule, until, within
from report_page import differences

from ansible_collections.c5c3.ovn.plugins.module_utils._report.installation import Host
from ansible_collections.c5c3.ovn.plugins.module_utils._report.installation import Installation as Declared
from ansible_collections.c5c3.ovn.plugins.module_utils._report.report import build_report


@pytest.fixture
def installation(
    raft_cluster: MakeCluster, short_dir: pathlib.Path, request: pytest.FixtureRequest
) -> t.Iterator[Installation]:
    """The parameter is the election timer: a short one where a test waits for an election."""
    with running(raft_cluster, short_dir, election_timer=getattr(request, "param", 10_000)) as built:
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


def test_only_a_new_heartbeat_needs_ovsdbapp(
    installation: Installation, run_module: RunModule, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = run_module("ovn_sync", installation.options)["nb_cfg"]
    without = hide("ovsdbapp", tmp_path, monkeypatch)
    failed = run_module("ovn_sync", installation.options, may_fail=True, prefix=without)
    assert failed.failed
    assert "Install python3-ovsdbapp (Debian, Ubuntu)" in failed["msg"]
    looked = run_module("ovn_sync", {**installation.options, "wait_for": "none"}, prefix=without)
    assert looked["nb_cfg"] == before
    hide("ovs", tmp_path, monkeypatch)
    failed = run_module("ovn_sync", installation.options, check=True, may_fail=True, prefix=without)
    assert "Install python3-openvswitch (Debian, Ubuntu)" in failed["msg"]


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
    ran = run_module("ovn_sync", {**installation.options, "timeout": within(3)})
    assert not ran["northd_alive"]
    assert not ran["probed"]
    assert "has not answered heartbeat" in ran["reason"]
    info = {"run_directory": str(installation.directory), "northd_control_socket": installation.northd_socket()}
    assert run_module("ovn_central_info", info)["northd"]["state"] == "paused"
    installation.northd("resume")
    assert run_module("ovn_sync", installation.options)["northd_alive"]


@pytest.mark.parametrize("installation", [1000], indirect=True)
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
    two = installation.start_chassis("two", "198.51.100.12", **{"ovn-cms-options": "enable-chassis-as-gw"})
    registered(installation, run_module, 2)
    ran = run_module("ovn_sync", installation.options)
    assert ran["late"] == []
    found = build_report(Declared(central={}, chassis={"one": "one", "two": "two"}, heartbeat=ran.result))["findings"]
    (unmapped,) = [one["message"] for one in found if one["code"] == "gateway_without_mapping"]
    assert unmapped.startswith("Chassis two (two.example.com, 198.51.100.12) is a gateway")
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
    frozen = run_module("ovn_sync", {**installation.options, "timeout": within(4)})
    assert frozen["late"] == ["two"]
    assert frozen["hv_ms"] is None
    assert frozen["alive_count"] == 1
    assert run_module("ovn_sync", {**installation.options, "wait_for": "none"})["late"] == ["two"]
    two.daemons["ovn-controller"].signal(signal.SIGCONT)
    assert run_module("ovn_sync", installation.options)["late"] == []

    two.daemons["ovn-controller"].kill()
    assert run_module("ovn_sync", {**installation.options, "timeout": within(4)})["late"] == ["two"]


def test_answer_of_a_dead_chassis_to_a_former_northbound_database_is_late(
    installation: Installation, run_module: RunModule
) -> None:
    """A Northbound database that was created again counts from 0, and the rows of dead chassis keep their higher numbers."""
    require_vswitch()
    installation.start_chassis("alive", "198.51.100.11")
    installation.start_chassis("dead", "198.51.100.12")
    registered(installation, run_module, 2)
    northbound = ["ovn-nbctl", "--no-leader-only", f"--db={','.join(installation.northbound.sockets)}"]
    subprocess.run([*northbound, "set", "NB_Global", ".", "nb_cfg=900"], check=True)
    assert run_module("ovn_sync", installation.options)["late"] == []
    installation.chassis["dead"].daemons["ovn-controller"].kill()
    subprocess.run([*northbound, "set", "NB_Global", ".", "nb_cfg=0", "sb_cfg=0", "hv_cfg=0"], check=True)
    ran = run_module("ovn_sync", {**installation.options, "timeout": within(4)})
    assert (ran["nb_cfg"], ran["probed"], ran["late"], ran["alive_count"]) == (1, True, ["dead"], 1)
    (row,) = [one for one in ran["chassis"] if one["name"] == "dead"]
    assert row["nb_cfg"] == 901
    report = build_report(Declared(central={}, chassis={"alive": "alive", "dead": "dead"}, heartbeat=ran.result))
    (late,) = [one["message"] for one in report["findings"] if one["code"] == "chassis_late"]
    assert "has not answered heartbeat 1, its last answer was 901" in late
    assert "before the Northbound database was created again" in late
    looked = run_module("ovn_sync", {**installation.options, "wait_for": "none"})
    assert looked["late"] == ["dead"]


@pytest.mark.parametrize("installation", [1000], indirect=True)
def test_without_quorum_the_write_is_not_confirmed(installation: Installation, run_module: RunModule) -> None:
    leader = installation.northbound.leader
    for member in installation.northbound.members:
        if member is not leader:
            member.kill()
    ran = run_module("ovn_sync", {**installation.options, "timeout": within(4)}, may_fail=True, timeout=10)
    assert ran.failed


def test_unreachable_northbound_is_reported(run_module: RunModule) -> None:
    ran = run_module("ovn_sync", {"northbound": ["unix:/nowhere/db.sock"], "timeout": within(3)}, may_fail=True)
    assert ran.failed
    assert ran["msg"].startswith("unix:/nowhere/db.sock is not reachable")
    endpoints = ["unix:/nowhere/db.sock", "unix:/elsewhere/db.sock"]
    ran = run_module("ovn_sync", {"northbound": endpoints, "timeout": within(3)}, may_fail=True)
    assert "No server of the OVN_Northbound database can be used." in ran["msg"]
    assert all(f"{endpoint} is not reachable" in ran["msg"] for endpoint in endpoints)


def test_a_fresh_database_is_reported(raft_cluster: MakeCluster, run_module: RunModule) -> None:
    northbound, southbound = raft_cluster(1, "northbound"), raft_cluster(1, "southbound")
    endpoints = {"northbound": northbound.sockets, "southbound": southbound.sockets}
    ran = run_module("ovn_sync", {**endpoints, "timeout": within(5)}, may_fail=True)
    assert "has no row in NB_Global" in ran["msg"]


def test_tls(raft_cluster: MakeCluster, pki: Pki, run_module: RunModule) -> None:
    northbound = raft_cluster(1, "northbound", tls=True)
    southbound = raft_cluster(1, "southbound", tls=True)
    subprocess.run(["ovn-nbctl", f"--db={northbound.sockets[0]}", "init"], check=True)
    subprocess.run(["ovn-sbctl", f"--db={southbound.sockets[0]}", "init"], check=True)
    client = pki.issue("client", days=20.5).options()
    endpoints = {"northbound": northbound.endpoints, "southbound": southbound.endpoints}
    ran = run_module("ovn_sync", {**endpoints, **client, "wait_for": "sb", "timeout": within(2)})
    assert not ran["northd_alive"]


def test_tls_files_are_missing_behind_a_socket_that_answers(raft_cluster: MakeCluster, run_module: RunModule) -> None:
    northbound = raft_cluster(1, "northbound")
    files = {name: f"/nowhere/{name}.pem" for name in ("private_key", "certificate", "ca_certificate")}
    endpoints = {"northbound": [*northbound.sockets, "ssl:127.0.0.1:1"], "southbound": northbound.sockets}
    ran = run_module("ovn_sync", {**endpoints, **files, "timeout": within(5)}, may_fail=True)
    assert ran["msg"] == "private_key '/nowhere/private_key.pem' does not exist on this host."


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
    states = []
    for directory in installation.run_directories().values():
        ran = run_module("ovn_central_info", {"run_directory": str(directory), "wait_timeout": 10})
        assert ran["northd"]["southbound_connected"]
        assert ran["northd"]["version"].startswith("2")
        states.append(ran["northd"]["state"])
        assert set(ran["databases"]) == {"northbound", "southbound"}
        for database in ran["databases"].values():
            assert database["version"]
            assert database["schema_version"]
            assert database["reason"] == ""
        assert "raft" not in ran.result
    assert states == ["active", "standby", "standby"]


def test_a_report_on_real_daemons_has_the_documented_structure(
    installation: Installation, run_module: RunModule
) -> None:
    """docs/monitoring.md; the reports of _report/test_report.py are checked in the same way."""
    require_vswitch()
    installation.start_chassis("one", "198.51.100.11", **{"ovn-bridge-mappings": '"physnet1:br-ex"'})
    registered(installation, run_module, 1)
    directories = installation.run_directories()

    def report() -> dict[str, t.Any]:
        hosts = {}
        for name, directory in directories.items():
            raft = {"member": name, "expected_members": 3}
            info = run_module("ovn_central_info", {"run_directory": str(directory), "raft": raft}).result
            hosts[name] = Host.of(info)
        heartbeat = run_module("ovn_sync", {**installation.options, "timeout": within(4)}).result
        return build_report(Declared(central=hosts, chassis={"one": "one", "two": "two"}, heartbeat=heartbeat))

    whole = report()
    assert differences(whole) == []
    assert whole["northbound"]["healthy"]
    assert whole["chassis"]["alive"] == ["one"]
    assert "chassis_not_registered" in {finding["code"] for finding in whole["findings"]}

    installation.southbound.followers[0].kill()
    installation.chassis["one"].daemons["ovn-controller"].kill()
    broken = report()
    assert differences(broken) == []
    assert not broken["southbound"]["healthy"]
    assert broken["chassis"]["late"] == ["one"]
